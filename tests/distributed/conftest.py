"""No test here can hang. After LIMIT seconds the stacks of all threads are printed and
the test fails; if the main thread cannot be interrupted, pytest's process ends.
"""

import faulthandler
import signal
import sys
import threading

import pytest

from tests.distributed.ranks import LIMIT, has_gloo

LATE = LIMIT + 30  # after the limit of the processes that the test starts


def _fail(*_):
    faulthandler.dump_traceback(sys.__stderr__)
    pytest.fail(f"the test did not end within {LATE} s; its threads are shown above")


@pytest.fixture(autouse=True)
def bounded(request):
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are delivered to the main thread
        return
    before = signal.signal(signal.SIGALRM, _fail)
    signal.alarm(LATE)
    faulthandler.dump_traceback_later(LATE + 30, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=["shared memory", "tcp", "gloo"])
def transport(request):
    """Each of them, as a value of PELLUCID_DISTRIBUTED_TRANSPORT."""
    if request.param == "gloo" and not has_gloo():
        pytest.skip("no system Gloo: apt-get install libgloo-dev")
    return request.param
