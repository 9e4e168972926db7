"""Signal handlers that run in the middle of an op may do what any code may.

The runtime runs Python's handlers between blocks of work. Each case is a process of its
own, so that one that hangs ends at the timeout.
"""

import subprocess
import sys
import textwrap

START = """
    import os, resource, signal, threading, time, warnings
    import pellucid as torch

    def run_at_alarm(handler, long_op):
        ran = []
        def once(*_):
            ran.append(1)
            handler()
        signal.signal(signal.SIGALRM, once)
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        while not ran:
            result = long_op()
        return result

    def sum_of(count):
        return torch.ones(1).expand(count).sum().item()

    def long_sum():
        return sum_of(1 << 33)

    sum_of(1 << 17)   # what is made at the first use is there
"""


def assert_prints(script, expected):
    source = textwrap.dedent(START) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == expected, (done.returncode, done.stderr[-2000:])


def test_a_handler_may_change_the_number_of_threads():
    assert_prints(
        """
        torch.set_num_threads(3)
        print(run_at_alarm(lambda: torch.set_num_threads(2), long_sum) == 1 << 33)
        print(torch.get_num_threads(), long_sum() == 1 << 33)
        """,
        "True\n2 True",
    )


def test_a_handler_may_compute_with_gradients():
    assert_prints(
        """
        torch.set_num_threads(2)
        x = torch.ones(1 << 17, requires_grad=True)

        def handler():
            (x * 3).sum().backward()
            torch.rand(1 << 17)

        handler()   # imports nothing later
        run_at_alarm(handler, long_sum)
        assert x.grad.eq(6).all().item()
        run_at_alarm(handler, lambda: torch.rand(1 << 25))
        print(x.grad.eq(9).all().item())
        """,
        "True",
    )


def test_a_child_forked_by_a_handler_gets_an_error():
    assert_prints(
        """
        torch.set_num_threads(3)
        child = None

        def handler():
            global child
            child = os.fork()

        try:
            result = run_at_alarm(handler, long_sum)
        except RuntimeError as error:
            os._exit(7 if "forked" in str(error) and long_sum() == 1 << 33 else 1)
        if child == 0:
            os._exit(2)
        print(result == 1 << 33, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        "True 7",
    )


def test_threads_may_change_the_number_while_another_computes():
    assert_prints(
        """
        torch.set_num_threads(2)
        x = torch.ones(1 << 20, requires_grad=True)
        stop = time.monotonic() + 1

        def compute():
            while time.monotonic() < stop:
                (x * x).sum().backward()

        threads = [threading.Thread(target=compute) for _ in range(2)]
        [thread.start() for thread in threads]
        while time.monotonic() < stop:
            for count in (1, 2, 3):
                torch.set_num_threads(count)
        [thread.join() for thread in threads]
        print(torch.get_num_threads())
        """,
        "3",
    )


def test_work_goes_on_with_the_threads_that_the_system_gives():
    assert_prints(
        """
        x = torch.ones(1 << 20)
        torch.set_num_threads(64)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        limit = used + (48 << 20)   # a few stacks
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x.add_(1)
            x.add_(1)
        print(x.eq(3).all().item(), len(caught), "instead of 64" in str(caught[0]))
        """,
        "True 1 True",
    )
