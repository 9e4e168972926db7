"""A test that passes without having checked anything fails.

Generated tests loop over a registry; one that skips everything would pass. So checks
are counted while a test runs: ``assert`` statements,
``numpy.testing``, ``pellucid.testing``, ``pytest.raises`` and ``pytest.warns``. A test
that only checks that code completes without an error is marked ``completes``. A test
that registers a backend fails.

``--sample N`` runs a part of the generated tests, for ``make coverage``. Every pass of
the lowering is verified in the tests, and in the processes that they start.
"""

import contextlib
import functools
import gc
import importlib
import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from _pytest.assertion import rewrite

os.environ.setdefault("PELLUCID_VERIFY", "1")

# Helpers of tests check, too; by default pytest rewrites only the asserts of test
# modules.
FOLDERS = [path.parent.name for path in Path(__file__).parent.glob("*/__init__.py")]
pytest.register_assert_rewrite(*(f"tests.{name}" for name in FOLDERS))

VACUOUS = (
    "the test ended without having checked anything; compare something, or mark it "
    "with @pytest.mark.completes (if it has an assert, delete the __pycache__ folders "
    "under tests/, which were compiled without counting)"
)


REGISTERED = (
    "the test registered a backend, which stays the accelerator of all later tests of "
    "this process; run the program in its own: tests/devices/programs.py"
)


class Count:
    """How many checks the running test has made."""

    checks = 0


def count() -> bool:
    """Called after every assert that holds; False: pytest does nothing more."""
    Count.checks += 1
    return False


@contextlib.contextmanager
def one_case(*what):
    """One of the cases that a test loops over: it has to check something, too, and its
    error says ``what`` it is."""
    before = Count.checks
    try:
        yield
    except BaseException as error:
        error.add_note(f"the case: {', '.join(map(str, what))}")
        raise
    if Count.checks == before:
        pytest.fail(f"the case {', '.join(map(str, what))}: {VACUOUS}", pytrace=False)


def counted(function):
    """The function, which checks something whenever it is called."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        Count.checks += 1
        return function(*args, **kwargs)

    return call


def pytest_addoption(parser):
    parser.addoption(
        "--sample",
        type=int,
        default=1,
        metavar="N",
        help="run one in N cases of every parametrized test, the first among them",
    )


def pytest_collection_modifyitems(config, items):
    functions = defaultdict(list)
    for item in items:
        functions[item.path, getattr(item, "originalname", item.name)].append(item)
    step = config.getoption("--sample")
    chosen = {item for cases in functions.values() for item in cases[::step]}
    config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
    items[:] = [item for item in items if item in chosen]


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "completes: ends without an error, which is all that is asked"
    )
    if config.getini("enable_assertion_pass_hook"):
        # Rewritten asserts ask this function whether to report that they hold.
        assert rewrite._check_if_assertion_pass_impl() is False
        rewrite._check_if_assertion_pass_impl = count
        for name in vars(np.testing):
            if name.startswith("assert_"):
                setattr(np.testing, name, counted(getattr(np.testing, name)))
        pytest.raises, pytest.warns = counted(pytest.raises), counted(pytest.warns)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Writes coverage data: a worker has ten seconds to end after it has reported that
    it is done, then it is killed.
    """
    measured = sys.modules.get("coverage")
    current = measured and measured.Coverage.current()
    if current and hasattr(session.config, "workerinput"):
        current.stop()
        current.save()


def pytest_collection(session):
    """What is collected stays: the collector of cycles would visit it in vain."""
    gc.disable()


def pytest_collection_finish(session):
    """Tests may have imported comparison functions by name: their inside is counted.

    A whole suite's tests are millions of objects. They live to the end, so the
    collector need not visit them, nor what asks it for all objects.
    """
    if "pellucid" in sys.modules:
        comparison = importlib.import_module("pellucid.testing._comparison")
        comparison._compare_leaves = counted(comparison._compare_leaves)
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    Count.checks = 0
    result = yield
    if pyfuncitem.config.getini("enable_assertion_pass_hook"):
        completes = pyfuncitem.get_closest_marker("completes") is not None
        if not Count.checks and not completes:
            pytest.fail(VACUOUS, pytrace=False)
    devices = sys.modules.get("pellucid.devices")
    if devices is not None and devices._registered:
        pytest.fail(REGISTERED, pytrace=False)
    return result
