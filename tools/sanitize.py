#!/usr/bin/env python3
"""Runs tests on a runtime that AddressSanitizer and UndefinedBehaviorSanitizer watch.

    python tools/sanitize.py [pytest arguments]

Without arguments: the parts of the suite that reach the runtime in the most ways, and
random calls (tests/native/fuzz.py). ``tools/build.py --sanitize`` has put the extension
module into ``build/sanitize``; here the rest of the package is linked beside it.
Called by ``make sanitize``. Kernels are checked otherwise: docs/checked-mode.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from build import MODES, PACKAGE, ROOT, BuildError, build_runtime, compiler

PARTS = ("tests/surface", "tests/autograd", "tests/overrides", "tests/runtime")
OWN_SANITIZERS = ("tests/runtime/test_runtime.py", "tests/autograd/test_native.py")
FUZZ_SEED, FUZZ_CALLS = "11", "1500"


def link_package(folder: Path) -> None:
    """All of the package but its extension module, beside the sanitized one."""
    for entry in PACKAGE.iterdir():
        link = folder / entry.name
        if entry.suffix == ".so" or entry.name == "__pycache__":
            continue
        if link.is_symlink() or link.exists():
            link.unlink()
        link.symlink_to(entry)


def runtime_library(name: str) -> str:
    """A library of the compiler that has to be loaded before Python's own."""
    driver = [word for word in compiler() if word != "ccache"]
    asked = [*driver, f"-print-file-name={name}"]
    found = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        raise BuildError(f"{driver[0]} has no {name}: install it or set CXX to a g++")
    return found


def environment(package: Path) -> dict[str, str]:
    libraries = [runtime_library(name) for name in ("libasan.so", "libstdc++.so.6")]
    return {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "LD_PRELOAD": " ".join(libraries),
        # CPython leaves memory to the system at exit; absurd sizes are to be refused.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def main() -> int:
    """Builds, links, runs; the exit status is the first one that is not 0."""
    try:
        package = build_runtime(MODES["sanitize"]).parent
        link_package(package)
        variables = environment(package)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    ignored = [f"--ignore={path}" for path in OWN_SANITIZERS]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if sys.argv[1:]:
        return subprocess.run(
            [*pytest, *sys.argv[1:]], cwd=ROOT, env=variables
        ).returncode
    fuzz = [sys.executable, "tests/native/fuzz.py", FUZZ_SEED, FUZZ_CALLS]
    for command in ([*pytest, *ignored, *PARTS], fuzz):
        quiet = subprocess.PIPE if command is fuzz else None  # the calls, one a line
        done = subprocess.run(command, cwd=ROOT, env=variables, stderr=quiet)
        if done.returncode:
            if done.stderr:
                sys.stderr.buffer.write(done.stderr[-6000:])
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
