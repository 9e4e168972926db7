#!/usr/bin/env python3
"""Runs tests on a runtime built with sanitizers.

    python tools/sanitize.py [--threads] [pytest arguments]

AddressSanitizer and UndefinedBehaviorSanitizer: without arguments, over the C++ tests,
the parts of the suite that use the runtime in the most ways, random calls
(tests/native/fuzz.py), random layouts (layouts.py) and random programs of repeated
calls (programs.py). With
``--threads`` ThreadSanitizer, over tests/native/threads.py and such programs. The
extension module is built into ``build/sanitize`` or ``build/threads`` and the rest of
the package linked beside it. Called by ``make sanitize`` and ``make sanitize-threads``.
For checks of kernels see docs/checked-mode.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from build import (
    LIBRARIES,
    MODES,
    PACKAGE,
    ROOT,
    BuildError,
    build_runtime,
    compiler,
)

PARTS = (
    "tests/surface", "tests/autograd", "tests/overrides", "tests/runtime",
    "tests/catalogue/test_lapack.py", "tests/exec/test_image_layouts.py",
    "tests/exec/test_bounded_plans.py",
)  # fmt: skip
# Programs of C++ tests, which have the sanitizers in them.
PROGRAMS_IN_CPP = ("tests/runtime/test_runtime.py", "tests/autograd/test_native.py")
# Tests that inspect the shipped module; and forks while threads allocate:
# AddressSanitizer's own locks stay taken in the child.
LEFT_OUT = (
    "tests/runtime/test_forks.py",
    "tests/runtime/test_baseline.py",
    *PROGRAMS_IN_CPP,
)
FUZZ = ["tests/native/fuzz.py", "11", "1500"]
LAYOUTS = ["tests/native/layouts.py", "11", "800"]
PROGRAMS = ["tests/native/programs.py", "11", "150"]
PROGRAMS_OF_THREADS = ["tests/native/programs.py", "12", "60", "--threads"]
LIMITED = [sys.executable, "tools/limited.py", "1200"]  # seconds for each of these


def link_package(folder: Path) -> None:
    """Links all of the package except its extension modules beside the sanitized ones,
    and the engine beside the package.
    """
    engine = PACKAGE.parent / "pellucid_compiler"
    links = {folder.parent / engine.name: engine}
    with_modules = {PACKAGE, *((PACKAGE / name).parent for name in LIBRARIES)}
    for source in with_modules:
        for entry in source.iterdir():
            is_linked = entry.suffix != ".so" and entry.name != "__pycache__"
            if is_linked and entry not in with_modules:
                links[folder / entry.relative_to(PACKAGE)] = entry
    for link, target in links.items():
        if link.is_symlink() or link.exists():
            link.unlink()
        link.symlink_to(target)


def runtime_library(name: str) -> str:
    """A compiler library that must be loaded before Python's own libraries."""
    driver = [word for word in compiler() if word != "ccache"]
    asked = [*driver, f"-print-file-name={name}"]
    found = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        raise BuildError(f"{driver[0]} has no {name}: install it or set CXX to a g++")
    return found


def environment(mode: str, package: Path) -> dict[str, str]:
    library = "libtsan.so" if mode == "threads" else "libasan.so"
    libraries = [runtime_library(name) for name in (library, "libstdc++.so.6")]
    return {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "LD_PRELOAD": " ".join(libraries),
        # CPython leaves memory to the system at exit; absurd sizes must be refused.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": "exitcode=66:second_deadlock_stack=1",
    }


def programs(mode: str, arguments: list[str]) -> list[list[str]]:
    """The commands to run: the given tests, else the mode's defaults."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # A process that is killed is replaced; its report is not captured with the test.
    pytest += ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal"]
    pytest += ["--capture", "sys"]
    if arguments:
        return [[*pytest, *arguments]]
    if mode == "threads":
        scripts = [["tests/native/threads.py"], PROGRAMS_OF_THREADS]
        return [[*LIMITED, *script] for script in scripts]
    ignored = [f"--ignore={path}" for path in LEFT_OUT]
    random_runs = [[*LIMITED, *script] for script in (FUZZ, LAYOUTS, PROGRAMS)]
    return [[*pytest, *ignored, *PARTS], *random_runs]


def reported(output: bytes) -> bytes:
    """A sanitizer's report and the calls just before it, else the end."""
    words = (b"WARNING: ThreadSanitizer", b"ERROR: AddressSanitizer", b"runtime error:")
    starts = [place for word in words if (place := output.find(word)) >= 0]
    return output[max(min(starts) - 1000, 0) :] if starts else output[-2000:]


def main() -> int:
    """Builds, links, runs; the exit status is the first one that is not 0."""
    arguments = sys.argv[1:]
    mode = "threads" if arguments[:1] == ["--threads"] else "sanitize"
    try:
        package = build_runtime(MODES[mode]).parent
        link_package(package)
        variables = environment(mode, package)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if not arguments:
        command = [sys.executable, "-m", "pytest", "-q", *PROGRAMS_IN_CPP]
        given = {**os.environ, "PELLUCID_TESTED_MODE": mode}
        done = subprocess.run(command, cwd=ROOT, env=given)
        if done.returncode:
            return done.returncode
    for command in programs(mode, arguments[mode == "threads" :]):
        # Random runs print each step, one per line: the last ones are of interest.
        pipe = subprocess.PIPE
        done = subprocess.run(command, cwd=ROOT, env=variables, stderr=pipe)
        if done.returncode:
            sys.stderr.buffer.write(reported(done.stderr)[:20000])
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
