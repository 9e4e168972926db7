"""Builds and runs programs of C++ tests (``check.h``, ``main.cpp``) under sanitizers.

Objects are kept in ``build/`` for all programs, made again when a source or any header
is newer, and compiled on all cores. Used by ``tests/runtime`` and ``tests/autograd``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "tests-sanitized"
FLAGS = (
    *("-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-Wall", "-Wextra"),
    *("-march=x86-64-v3", "-pthread", "-Iruntime", "-Itests/sanitizers"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
)


def _compiled(compiler: str, source: Path, newest_header: float) -> Path:
    target = BUILD / source.relative_to(ROOT).with_suffix(".o")
    needed = max(source.stat().st_mtime, newest_header)
    if not target.exists() or target.stat().st_mtime < needed:
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [compiler, *FLAGS, "-c", str(source), "-o", str(target)]
        subprocess.run(command, cwd=ROOT, check=True)
    return target


def build_program(name: str, folders: Iterable[str]) -> Path:
    """The program of the sources in ``folders``, relative to the project's root."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or "clang++"
    headers = [p for top in ("runtime", "tests") for p in (ROOT / top).rglob("*.h")]
    newest = max(path.stat().st_mtime for path in headers)
    sources = [
        path
        for folder in (*folders, "tests/sanitizers")
        for path in sorted((ROOT / folder).glob("*.cpp"))
        if not path.name.startswith("benchmark")
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda s: _compiled(compiler, s, newest), sources))
    program = BUILD / f"{name}-tests"
    command = [compiler, *FLAGS, *map(str, objects), "-o", str(program)]
    subprocess.run(command, check=True)
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
