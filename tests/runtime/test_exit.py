"""A process may end while other threads run ops."""

import subprocess
import sys
import textwrap


def test_threads_in_ops_do_not_abort_a_process_that_ends():
    script = """
        import sys, threading, time
        import pellucid as torch

        torch.set_num_threads(1)
        started = threading.Event()

        def work():
            x = torch.ones(1 << 16)  # runs without the interpreter lock
            while True:
                x.exp()
                started.set()

        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        started.wait()
        time.sleep(0.05)
        sys.exit(7)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (7, "")
