"""The child of a fork may run ops, whatever other threads of the parent did meanwhile.

Each case is a process of its own, so that one that hangs ends at the timeout.
"""

import subprocess
import sys
import textwrap

START = """
    import os, signal, threading
    import pellucid as torch

    def while_running(background, count, in_child):
        '''The exit statuses of children that are forked while threads run.'''
        stops = threading.Event()
        def repeat():
            while not stops.is_set():
                background()
        threads = [threading.Thread(target=repeat) for _ in range(2)]
        for thread in threads:
            thread.start()
        statuses = set()
        for _ in range(count):
            child = os.fork()
            if not child:
                signal.alarm(30)
                in_child()
                os._exit(0)
            statuses.add(os.waitpid(child, 0)[1])
        stops.set()
        for thread in threads:
            thread.join()
        return statuses
"""


def assert_children_return(script):
    source = textwrap.dedent(START) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "{0}", (done.stdout, done.stderr[-2000:])


def test_a_child_draws_from_the_default_generator_that_a_thread_was_using():
    assert_children_return(
        """
        target = torch.empty(1 << 19)  # without the GIL, under the generator's lock
        print(while_running(target.uniform_, 10, lambda: torch.rand(3)))
        """
    )


def test_a_child_finds_plans_while_threads_add_some():
    assert_children_return(
        """
        import itertools

        x = torch.ones((1,) * 7)
        orders = itertools.permutations(range(7))  # each is a key of its own
        first_call = lambda: x.permute(next(orders))
        first_call()  # imports what traces: Python's locks of imports stay locked
        print(while_running(first_call, 20, first_call))
        """
    )


def test_a_child_uses_what_a_thread_was_using_for_the_first_time():
    # A process has one first use of each, so many processes fork at that moment.
    assert_children_return(
        """
        import time

        given = torch.ones(1 << 16)
        torch.fft.fft(given[:8])  # traces: Python's own locks stay as they were

        def transform():
            torch.fft.fft(given)

        def draw():
            torch.empty(1 << 19).uniform_()

        def status_of(work):
            child = os.fork()
            if not child:
                signal.alarm(30)
                work()
                os._exit(0)
            return os.waitpid(child, 0)[1]

        def fork_at_first_use(use, delay):
            thread = threading.Thread(target=use)
            thread.start()
            time.sleep(delay)
            status = status_of(use)
            thread.join()
            assert status == 0

        print({
            status_of(lambda: fork_at_first_use(use, attempt * 1e-4))
            for use in (transform, draw)
            for attempt in range(20)
        })
        """
    )


def test_parent_and_child_load_kernels_after_the_fork():
    """Both go on with memory for machine code of their own."""
    assert_children_return(
        """
        x = torch.tensor([0.5, 0.25])
        x.exp()
        child = os.fork()
        if not child:
            for _ in range(3):
                assert torch.allclose(x.sin().asin(), x)
                assert torch.allclose(x.exp().log(), x)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert torch.allclose(x.tan().atan(), x) and torch.allclose(x.exp().log(), x)
        print({status})
        """
    )
