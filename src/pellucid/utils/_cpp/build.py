"""Compiles extensions: flags, build folders, and detection of stale builds.

Nothing is linked: a library gets Pellucid's functions from a table when it is loaded,
and Python's from the process.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pellucid
from pellucid.utils._cpp.headers import generated

STANDARD = "-std=c++17"


def include_folders() -> list[str]:
    """The include folders of PyTorch's headers."""
    shipped = Path(pellucid.__file__).parent / "include"
    return [str(shipped), str(generated())]


def folders() -> list[str]:
    """The include folders that every build has: PyTorch's headers and Python's."""
    return [*include_folders(), sysconfig.get_paths()["include"]]


def compiler() -> str:
    """The C++ compiler: ``CXX``, else c++, g++ or clang++."""
    given = os.environ.get("CXX")
    found = given or next(
        filter(None, map(shutil.which, ("c++", "g++", "clang++"))), ""
    )
    if not found:
        raise RuntimeError(
            "no C++ compiler was found: install g++ or clang++, or name one in CXX"
        )
    return found


def is_gcc(command: str) -> bool:
    """Whether a compiler calls itself GCC."""
    try:
        done = subprocess.run([command, "-v"], capture_output=True, text=True)
    except OSError:
        return False
    return "gcc version" in done.stderr


def root_folder() -> Path:
    """Where the builds of all extensions are: ``TORCH_EXTENSIONS_DIR`` or the user's
    cache."""
    given = os.environ.get("TORCH_EXTENSIONS_DIR")
    return Path(given or Path.home() / ".cache" / "pellucid_extensions")


def build_folder(name: str, given: str | None, verbose: bool) -> Path:
    """The build folder: ``given``, else a folder in that of all extensions."""
    if given is not None:
        if not os.path.isdir(given):
            raise RuntimeError(f"the build_directory {given} does not exist")
        return Path(given)
    version = f"py{sys.version_info.major}{sys.version_info.minor}_cpu"
    folder = root_folder() / version / name
    folder.mkdir(parents=True, exist_ok=True)
    if verbose:
        print(f"Using {folder} for the extension {name}", file=sys.stderr)
    return folder


def common(cflags: Sequence[str], includes: Sequence[str]) -> list[str]:
    """The arguments that say what the headers mean."""
    standard = [] if any(flag.startswith("-std=") for flag in cflags) else [STANDARD]
    return [*standard, *(f"-I{folder}" for folder in (*includes, *folders())), *cflags]


def command(
    name: str,
    sources: Sequence[str],
    target: Path,
    cflags: Sequence[str],
    ldflags: Sequence[str],
    includes: Sequence[str],
) -> list[str]:
    """The compiler's arguments for a library of these sources."""
    return [
        *shlex.split(compiler()),
        *(f"-DTORCH_EXTENSION_NAME={name}", "-fPIC", "-shared", "-pipe"),
        *common(cflags, includes),
        *map(str, sources),
        *("-o", str(target)),
        *ldflags,
    ]


def contents(paths: Sequence[str], folders: Sequence[str]) -> bytes:
    """The files on which a build depends."""
    digest = hashlib.sha256()
    headers = [str(p) for folder in folders for p in sorted(Path(folder).rglob("*.h"))]
    for path in (*paths, *headers):
        digest.update(Path(path).read_bytes())
    return digest.digest()


def built(
    name: str,
    sources: Sequence[str],
    folder: Path,
    cflags: Sequence[str] = (),
    ldflags: Sequence[str] = (),
    includes: Sequence[str] = (),
    verbose: bool = False,
) -> Path:
    """The library of these sources, compiled unless it is up to date.

    Its name contains a digest of its inputs, so that a changed source is a new library
    in the process. RuntimeError with the compiler's output if compilation fails.
    """
    for path in sources:
        require_file(path)
        if path.endswith(".sycl"):
            raise RuntimeError(
                f"{path}: SYCL sources cannot be compiled. Give C++ or CUDA sources"
            )
    words = command(name, sources, Path("-"), cflags, ldflags, includes)
    known = contents(sources, [*includes, include_folders()[0]])
    digest = hashlib.sha256("\0".join(words).encode() + known).hexdigest()[:16]
    target = folder / f"{name}_{digest}.so"
    if target.exists():
        return target
    part = target.with_suffix(f".{os.getpid()}.part")
    words = command(name, sources, part, cflags, ldflags, includes)
    if verbose:
        print(shlex.join(words))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"Error building extension '{name}': {first_errors(done.stderr, sources)}"
        )
    os.replace(part, target)
    return target


def require_file(path: str) -> None:
    """FileNotFoundError for a source that is not there."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"the source {path} does not exist")


def first_errors(text: str, sources: Sequence[str] = (), lines: int = 8) -> str:
    """The first errors of a compiler's output, with the lines of ``sources`` whose
    templates they are in."""
    starts = tuple(f"{path}:" for path in sources)

    def tells(line: str) -> bool:
        causes = "required from" in line or "in instantiation of" in line
        return (
            "error" in line or "Error" in line or (causes and line.startswith(starts))
        )

    wrong = [line for line in text.splitlines() if tells(line)]
    return "\n".join((wrong or text.splitlines())[:lines])
