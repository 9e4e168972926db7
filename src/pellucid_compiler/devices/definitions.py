"""The texts of the shipped kernels, by id: what a device compiles or interprets.

``tools/freeze.py`` writes them as one compressed file beside the packs; a kernel is
parsed when it is first requested. Read next: ``parse.py``.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.devices.parse import parse_kernel

_SEPARATOR = "\0"


def encode_definitions(kernels: Iterable[Kernel]) -> bytes:
    """The file of these kernels' texts; the same for the same kernels."""
    texts = sorted(kernel.text for kernel in kernels)
    return zlib.compress(_SEPARATOR.join(texts).encode(), 9)


class Definitions:
    """Kernels by id, from a file that ``encode_definitions`` made."""

    def __init__(self, encoded: bytes) -> None:
        texts = zlib.decompress(encoded).decode().split(_SEPARATOR)
        self._texts = {hashlib.sha256(t.encode()).digest()[:16]: t for t in texts}
        self._kernels: dict[bytes, Kernel] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def ids(self) -> list[bytes]:
        """The ids of all kernels, sorted."""
        return sorted(self._texts)

    def get(self, kernel_id: bytes) -> Kernel | None:
        """The kernel, or None for an id that is not shipped."""
        found = self._kernels.get(kernel_id)
        if found is None and kernel_id in self._texts:
            found = self._kernels[kernel_id] = parse_kernel(self._texts[kernel_id])
        return found


@cache
def shipped_definitions(path: Path) -> Definitions:
    """The definitions in a file; OSError where it is missing."""
    return Definitions(path.read_bytes())
