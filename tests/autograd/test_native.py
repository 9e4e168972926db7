"""Builds and runs the C++ tests of the autograd engine under the sanitizers.

They use a few toy ops (``native/toy_ops.cpp``) instead of the catalogue. Objects are
kept in ``build/`` and made again only when a source is newer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "tests-autograd"
FLAGS = [
    *("-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-Wall", "-Wextra"),
    *("-march=x86-64-v3", "-pthread", "-Iruntime"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
]


def sources() -> list[Path]:
    """The runtime below the bindings, and the tests."""
    runtime = [
        *(ROOT / "runtime" / "core").glob("*.cpp"),
        *(ROOT / "runtime" / "autograd").glob("*.cpp"),
    ]
    tests = (ROOT / "tests" / "autograd" / "native").glob("*.cpp")
    return sorted(p for p in [*runtime, *tests] if not p.name.startswith("python_"))


def compile_object(compiler: str, source: Path, newest_header: float) -> Path:
    """Compiles one source unless its object is up to date."""
    target = BUILD / source.relative_to(ROOT).with_suffix(".o")
    needed = max(source.stat().st_mtime, newest_header)
    if not target.exists() or target.stat().st_mtime < needed:
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [compiler, *FLAGS, "-c", str(source), "-o", str(target)],
            cwd=ROOT, check=True,
        )  # fmt: skip
    return target


@pytest.fixture(scope="module")
def binary() -> Path:
    """The test program."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        pytest.skip("no C++ compiler")
    headers = [
        *(ROOT / "runtime").rglob("*.h"),
        *(ROOT / "tests" / "autograd").rglob("*.h"),
    ]
    newest = max(path.stat().st_mtime for path in headers)
    objects = [compile_object(compiler, source, newest) for source in sources()]
    program = BUILD / "run_tests"
    subprocess.run(
        [compiler, *FLAGS, *map(str, objects), "-o", str(program)], check=True
    )
    return program


def test_engine_under_sanitizers(binary: Path) -> None:
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1"}
    done = subprocess.run(
        [str(binary)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
