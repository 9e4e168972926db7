"""Fixtures of tests of compiled callables."""

import sys
import threading

import pytest


@pytest.fixture
def untraced():
    """Without a tracing function, such as that of coverage, which prevents replays."""
    trace, of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    yield
    sys.settrace(trace)
    threading.settrace(of_threads)
