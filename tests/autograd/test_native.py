"""The C++ tests of the autograd engine, under the sanitizers.

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


def test_engine_under_sanitizers() -> None:
    run_program(build_program("autograd", FOLDERS))
