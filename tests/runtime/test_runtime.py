"""The C++ tests of core, kernels and products."""

from tests.sanitizers.program import build_program, run_program

FOLDERS = (
    "runtime/threads",
    "runtime/timeline",
    "runtime/core",
    "runtime/kernels",
    "runtime/products",
    "tests/runtime",
)


def test_the_runtime() -> None:
    run_program(build_program("runtime", FOLDERS))
