"""The kernel pack: many kernels in one file, of which the runtime loads those it calls.

``compile_kernels`` makes the blobs in several processes; ``write_pack`` writes them in
the layout of ``abi/pack_file.py``: a header, an index sorted by kernel id, then the
blobs, each compressed by itself. All numbers are little-endian. ``read_pack`` is the
reader for tools and tests. Called by tools/freeze.py. Read next: ``cache.py``.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pellucid_compiler.abi.limits import CODE_ALIGNMENT, PACK_MAGIC, PACK_VERSION
from pellucid_compiler.abi.pack_file import ENTRY, HEADER, layout
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.pack.cache import KernelCache, replace_file, text_id
from pellucid_compiler.pack.generate import kernel_text
from pellucid_compiler.pack.jit import compile_blob
from pellucid_compiler.pack.link import ALIGNMENT, Blob

_HEADER, _ENTRY = layout(HEADER), layout(ENTRY)
assert CODE_ALIGNMENT == ALIGNMENT


class PackError(Exception):
    """A pack that is damaged or has another version."""


def write_pack(path: Path, blobs: Mapping[bytes, Blob]) -> dict[bytes, int]:
    """Write a pack; the file appears completely or not at all. Returns the number of
    bytes that each kernel takes.
    """
    index, body = bytearray(), bytearray()
    sizes: dict[bytes, int] = {}
    for kernel_id in sorted(blobs):
        blob = blobs[kernel_id]
        stored = zlib.compress(blob.code, 9)
        lengths = len(stored), len(blob.code)
        index += _ENTRY.pack(kernel_id, len(body), *lengths, blob.entry, 0)
        body += stored
        sizes[kernel_id] = _ENTRY.size + len(stored)
    content = bytes(index + body)
    digest = hashlib.sha256(content).digest()
    blobs_offset = _HEADER.size + len(index)
    header = _HEADER.pack(
        PACK_MAGIC, PACK_VERSION, len(blobs), _HEADER.size, blobs_offset, digest
    )
    replace_file(path, header + content)
    return sizes


def read_pack(path: Path) -> dict[bytes, Blob]:
    """Every kernel of a pack; raises ``PackError`` if it is damaged."""
    content = path.read_bytes()
    if len(content) < _HEADER.size or not content.startswith(PACK_MAGIC):
        raise PackError(f"{path} is not a kernel pack")
    _, version, count, index, blobs, digest = _HEADER.unpack_from(content)
    if version != PACK_VERSION:
        raise PackError(f"{path} has version {version}, expected {PACK_VERSION}")
    if hashlib.sha256(content[_HEADER.size :]).digest() != digest:
        raise PackError(f"{path} is damaged: its checksum does not match")
    result = {}
    for number in range(count):
        row = _ENTRY.unpack_from(content, index + number * _ENTRY.size)
        kernel_id, place, stored, _, entry = row[:5]
        code = content[blobs + place : blobs + place + stored]
        result[kernel_id] = Blob(zlib.decompress(code), entry)
    return result


_work: Sequence[Kernel] = ()
_texts: KernelCache | None = None


def _compile_numbered(job: tuple[int, Target]) -> tuple[int, Blob]:
    number, target = job
    text = kernel_text(_work[number], target)
    name = text_id(text)
    blob = _texts.get(name) if _texts else None
    if blob is None:
        blob = compile_blob(text, target)
        if _texts:
            _texts.put(name, blob)
    return number, blob


def compile_kernels(
    kernels: Iterable[Kernel],
    target: Target,
    *,
    processes: int = 2,
    cache: KernelCache | None = None,
    texts: KernelCache | None = None,
) -> dict[bytes, Blob]:
    """The blobs of distinct kernels by id, from the caches if available: ``cache`` by
    kernel id, ``texts`` by LLVM text.

    Workers are forked, so that kernels, which contain interned expressions, need no
    pickling; LLVM must not have been started in this process with threads running.
    """
    global _work, _texts
    _texts = texts
    wanted = {kernel.kernel_id: kernel for kernel in kernels}
    found: dict[bytes, Blob] = {}
    for kernel_id in wanted if cache else ():
        blob = cache.get(kernel_id) if cache else None
        if blob is not None:
            found[kernel_id] = blob
    _work = [wanted[kernel_id] for kernel_id in wanted if kernel_id not in found]
    jobs = [(number, target) for number in range(len(_work))]
    if processes > 1 and len(jobs) > processes:
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            results = pool.map(_compile_numbered, jobs, chunksize=8)
    else:
        results = [_compile_numbered(job) for job in jobs]
    for number, blob in results:
        kernel_id = _work[number].kernel_id
        found[kernel_id] = blob
        if cache:
            cache.put(kernel_id, blob)
    return found
