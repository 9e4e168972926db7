"""The C++ tests of the autograd engine.

They use a few toy ops (``native/toy_ops.cpp``) instead of the catalogue.
"""

from tests.sanitizers.program import build_program, run_program

FOLDERS = (
    "runtime/threads",
    "runtime/timeline",
    "runtime/core",
    "runtime/autograd",
    "tests/autograd/native",
)


def test_the_engine() -> None:
    run_program(build_program("autograd", FOLDERS))
