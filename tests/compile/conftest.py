"""Fixtures of tests of compiled callables."""

import sys

import pytest


@pytest.fixture
def untraced():
    """Without a tracing function, such as that of coverage, which prevents replays."""
    trace = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(trace)
