"""Builds and runs programs of C++ tests (``check.h``, ``main.cpp``).

``make test`` links them with the objects of the package, ``make sanitize`` with its
own, by ``PELLUCID_TESTED_MODE=sanitize``: ``tools/build.py`` compiles what changed.
Used by ``tests/runtime`` and ``tests/autograd``.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load_build() -> ModuleType:
    """tools/build.py as a module of its own; the folder build/ has its name."""
    tools = ROOT / "tools"
    if str(tools) not in sys.path:
        sys.path.append(str(tools))
    spec = importlib.util.spec_from_file_location("tools_build", tools / "build.py")
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_program(name: str, folders: Iterable[str]) -> Path:
    """The program of the sources in ``folders``, relative to the project's root."""
    build = load_build()
    mode = build.MODES[os.environ.get("PELLUCID_TESTED_MODE", "release")]
    sources = [
        path
        for folder in (*folders, "tests/sanitizers")
        for path in sorted((ROOT / folder).glob("*.cpp"))
        if not path.name.startswith("benchmark")
    ]
    program = ROOT / "build" / f"{name}-tests-{mode.name}"
    program.parent.mkdir(exist_ok=True)
    # Processes of tests that run at the same time compile one after the other.
    with (program.parent / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        objects = list(build.compile_sources(mode, sources))
    command = [*build.compiler(), *mode.link_flags, *map(str, objects)]
    subprocess.run([*command, *build.SYSTEM_LIBRARIES, "-o", str(program)], check=True)
    return program


def run_program(program: Path) -> None:
    """Fails with what the program wrote unless all its tests pass."""
    options = "detect_leaks=1:allocator_may_return_null=1"
    done = subprocess.run(
        [str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "ASAN_OPTIONS": options},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
