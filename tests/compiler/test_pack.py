"""Packs and caches return what was stored, and refuse damaged data."""

import struct

import pytest

from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.codegen.targets.x86 import X86_64_V3, X86_64_V4
from pellucid_compiler.ir.expr import load
from pellucid_compiler.pack.cache import (
    KernelCache,
    fingerprint,
    text_fingerprint,
    text_id,
)
from pellucid_compiler.pack.generate import compile_kernel, kernel_text
from pellucid_compiler.pack.kernel_pack import (
    PackError,
    compile_kernels,
    read_pack,
    write_pack,
)
from pellucid_compiler.pack.link import Blob


def some_kernels(count):
    x = load(0, (), "float32")
    return [Kernel(Map((x + k,)), ("float32",), ("float32",)) for k in range(1, count)]


def test_a_pack_holds_what_was_written(tmp_path):
    path = tmp_path / "test.pack"
    blobs = {bytes([k]) * 16: Blob(bytes(range(k)), 0) for k in (200, 3, 77)}
    sizes = write_pack(path, blobs)
    assert read_pack(path) == blobs
    assert sum(sizes.values()) + 64 == path.stat().st_size
    content = path.read_bytes()
    magic, version, count, index, start = struct.unpack_from("<8sIIQQ", content)
    assert (magic, version, count) == (b"PLCDPACK", 2, 3)
    ids = [content[index + 40 * k : index + 40 * k + 16] for k in range(3)]
    assert ids == sorted(blobs) and start == index + 3 * 40
    assert not list(tmp_path.glob("*.draft"))


def test_a_damaged_pack_is_refused(tmp_path):
    path = tmp_path / "test.pack"
    write_pack(path, {bytes(16): Blob(b"code", 0)})
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(PackError, match="damaged"):
        read_pack(path)


def test_processes_compile_the_same_blobs_once_each():
    kernels = some_kernels(12)
    blobs = compile_kernels([*kernels, *kernels], X86_64_V3)
    assert blobs == {k.kernel_id: compile_kernel(k, X86_64_V3) for k in kernels}


def test_the_cache_trusts_only_its_own_sound_entries(tmp_path):
    cache = KernelCache(tmp_path, fingerprint(X86_64_V3))
    kernel_id, blob = bytes(range(16)), Blob(b"machine code", 4)
    assert cache.get(kernel_id) is None
    cache.put(kernel_id, blob)
    assert cache.get(kernel_id) == blob
    assert KernelCache(tmp_path, fingerprint(X86_64_V4)).get(kernel_id) is None
    path = cache.path(kernel_id)
    content = bytearray(path.read_bytes())
    for damaged in (content[:-1], content[:10], bytes(len(content)), b""):
        path.write_bytes(damaged)
        assert cache.get(kernel_id) is None
    content[-1] ^= 1
    path.write_bytes(content)
    assert cache.get(kernel_id) is None


def test_a_pack_is_filled_from_the_cache(tmp_path):
    cache = KernelCache(tmp_path, fingerprint(X86_64_V3))
    (kernel,) = some_kernels(2)
    marked = Blob(b"from the cache", 0)
    cache.put(kernel.kernel_id, marked)
    actual = compile_kernels([kernel], X86_64_V3, cache=cache)
    assert actual == {kernel.kernel_id: marked}


def test_kernels_of_known_text_are_not_compiled_again(tmp_path):
    texts = KernelCache(tmp_path, text_fingerprint(X86_64_V3))
    known, fresh = some_kernels(3)[:2]
    marked = Blob(b"from the text", 0)
    texts.put(text_id(kernel_text(known, X86_64_V3)), marked)
    actual = compile_kernels([known, fresh], X86_64_V3, processes=1, texts=texts)
    assert actual[known.kernel_id] == marked
    assert texts.get(text_id(kernel_text(fresh, X86_64_V3))) == actual[fresh.kernel_id]
