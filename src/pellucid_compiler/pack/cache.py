"""Compiled kernels on disk: one file per kernel, trusted only if everything matches.

An entry begins with 64 bytes: magic, version, entry offset, size, CRC-32 and a
fingerprint of everything that determines it besides its name. Kernels are named by
their id, and the fingerprint covers the compiler's sources, LLVM's version and the ISA
level. Builds also name them by their LLVM text (``text_id``), so that a change of the
compiler recompiles only kernels whose text it changed. A damaged or foreign entry
counts as absent and is rewritten. Called by tools/freeze.py and the run-time compiler;
``runtime/kernels`` may map entries without Python, because the code follows the header
at an aligned offset.
"""

from __future__ import annotations

import functools
import hashlib
import os
import struct
import zlib
from itertools import chain
from pathlib import Path

import llvmlite

from pellucid_compiler.abi.status import definitions_file
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.pack.link import Blob

MAGIC = b"PLCDKERN"
VERSION = 1
_HEADER = struct.Struct("<8sIIII32s8x")
_ENGINE = Path(__file__).parents[1]


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under another name, then rename it: readers never see it partly."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_bytes(content)
    os.replace(draft, path)


@functools.cache
def fingerprint(target: Target) -> bytes:
    """What, besides a kernel's text, determines its machine code."""
    digest = hashlib.sha256()
    folders = [(_ENGINE / name).rglob("*.py") for name in ("abi", "codegen", "pack")]
    costs = _ENGINE / "ir" / "scalar_ops.py"  # unrolling goes by them
    for source in sorted([*chain.from_iterable(folders), costs]):
        place = source.relative_to(_ENGINE)
        digest.update(f"{place}\0".encode() + source.read_bytes())
    digest.update(f"{llvmlite.__version__} {target!r}".encode())
    return digest.digest()


@functools.cache
def text_fingerprint(target: Target) -> bytes:
    """What, besides LLVM text, determines the machine code."""
    digest = hashlib.sha256()
    for name in ("jit.py", "link.py"):
        digest.update((_ENGINE / "pack" / name).read_bytes())
    digest.update(f"{llvmlite.__version__} {target!r}".encode())
    return digest.digest()


def text_id(text: str) -> bytes:
    """The cache name of a kernel compiled from this LLVM text."""
    return hashlib.sha256(text.encode()).digest()[:16]


def cache_folder() -> Path:
    """The folder of the user's caches, which may not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("PELLUCID_CACHE") or Path(base) / "pellucid")


def user_cache(target: Target) -> KernelCache | None:
    """The user's cache of run-time kernels, or None if it cannot be written.

    ``PELLUCID_CACHE`` names its folder; otherwise it is XDG's cache folder.
    """
    try:
        kind = "-checked" if definitions_file() else ""
        return KernelCache(cache_folder() / f"{target.name}{kind}", fingerprint(target))
    except OSError:
        return None


class KernelCache:
    """A directory of compiled kernels; ``made_by`` is their fingerprint."""

    def __init__(self, directory: Path, made_by: bytes) -> None:
        self.directory = directory
        self._fingerprint = made_by
        directory.mkdir(parents=True, exist_ok=True)

    def path(self, kernel_id: bytes) -> Path:
        """The path of a kernel's entry; its name includes the compiler."""
        return self.directory / f"{kernel_id.hex()}-{self._fingerprint[:4].hex()}"

    def get(self, kernel_id: bytes) -> Blob | None:
        """The kernel, or None if this compiler has no valid entry."""
        try:
            content = self.path(kernel_id).read_bytes()
        except OSError:
            return None
        if len(content) < _HEADER.size:
            return None
        magic, version, entry, size, check, made_by = _HEADER.unpack_from(content)
        code = content[_HEADER.size :]
        sound = (magic, version, size) == (MAGIC, VERSION, len(code))
        if not sound or made_by != self._fingerprint or zlib.crc32(code) != check:
            return None
        return Blob(code, entry) if entry < size else None

    def put(self, kernel_id: bytes, blob: Blob) -> None:
        """Store a kernel; concurrent writers leave one complete entry."""
        size, check = len(blob.code), zlib.crc32(blob.code)
        header = _HEADER.pack(
            MAGIC, VERSION, blob.entry, size, check, self._fingerprint
        )
        replace_file(self.path(kernel_id), header + blob.code)
