"""Builds the wheel, installs it into an empty environment and tests it there.

The tests of `tests/wheel` are copied out of the repository first, so that only the
installed package can serve them; they run with llvmlite and again without it.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIP_OPTIONS = ["--quiet", "--disable-pip-version-check"]


def run(*command: str | pathlib.Path, folder: pathlib.Path | None = None) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=folder)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wheel = build_wheel(folder / "dist")
        run(sys.executable, "-m", "venv", folder / "venv")
        python = folder / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", *PIP_OPTIONS, wheel, "pytest>=8")
        shutil.copytree(ROOT / "tests" / "wheel", folder / "tests")
        test = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        run(*test, folder=folder)
        run(python, "-m", "pip", "uninstall", *PIP_OPTIONS, "-y", "llvmlite")
        run(*test, folder=folder)


def build_wheel(target: pathlib.Path) -> pathlib.Path:
    options = [*PIP_OPTIONS, "--no-deps", "--no-build-isolation"]
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", target, ROOT)
    (wheel,) = target.glob("pellucid-*.whl")
    return wheel


if __name__ == "__main__":
    main()
