"""Builds and runs the C++ tests of ``runtime/core`` and ``runtime/kernels``, sanitized.

Objects are kept in ``build/`` and made again only when a source or a header is newer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "tests-runtime"
FLAGS = [
    *("-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-Wall", "-Wextra"),
    *("-march=x86-64-v3", "-pthread", "-Iruntime", "-Itests/runtime"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
]


def sources() -> list[Path]:
    """The two lowest layers of the runtime, and the tests."""
    folders = ("runtime/core", "runtime/kernels", "tests/runtime")
    found = [path for name in folders for path in (ROOT / name).glob("*.cpp")]
    return sorted(path for path in found if not path.name.startswith("benchmark"))


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
        path
        for name in ("runtime/core", "runtime/kernels", "tests/runtime")
        for path in (ROOT / name).glob("*.h")
    ]
    newest = max(path.stat().st_mtime for path in headers)
    objects = [compile_object(compiler, source, newest) for source in sources()]
    program = BUILD / "run_tests"
    subprocess.run(
        [compiler, *FLAGS, *map(str, objects), "-o", str(program)], check=True
    )
    return program


def test_runtime_under_sanitizers(binary: Path) -> None:
    environment = {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
    }
    done = subprocess.run(
        [str(binary)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
