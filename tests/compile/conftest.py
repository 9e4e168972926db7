"""Fixtures of tests of compiled callables."""

import sys

import pytest


@pytest.fixture
def untraced():
    """Without a tracing function, as coverage has: calls are not replayed under one."""
    trace = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(trace)
