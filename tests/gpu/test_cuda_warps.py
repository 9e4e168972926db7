"""CUDA C++ on the emulator: lanes that are not there, orders within a warp, limits."""

import ctypes
import functools
from pathlib import Path

import pytest

import pellucid as torch
from pellucid.utils._cpp.cuda import kernel_library

HERE = Path(__file__).parent


@functools.cache
def kernel(name, file):
    return torch.cuda._compile_kernel((HERE / file).read_text(), name)


def run(mode, threads):
    out = torch.full((threads, 4), -1, dtype=torch.int32)
    kernel("warps", "warps.cu")(block=threads, args=[out, mode])
    return out.tolist()


def expected(first, lanes):
    """What lanes of a warp find, if the warp's other ones are not there."""
    present = (1 << lanes) - 1
    for lane in range(lanes):
        equal = 0xFF << lane // 8 * 8 & present
        bits = present ^ equal
        signed = bits - (1 << 32) if bits >> 31 else bits
        yield [-5, lanes, signed, first + max(lane - 1, 0) + 100]


def test_lanes_that_the_block_lacks_or_that_have_ended_are_left_out():
    assert run(0, 48) == [*expected(0, 32), *expected(32, 16)]
    ended = [[-1] * 4] * 12
    assert run(1, 64) == [*expected(0, 20), *ended, *expected(32, 20), *ended]


def test_atomics_are_ordered_within_a_warp_as_other_writes_are():
    assert run(4, 64) == [[8, 10 + i, -1, -1] for i in range(64)]


@pytest.mark.parametrize(
    ("mode", "threads", "words"),
    [
        (2, 48, "shuffles from a lane that is not there"),
        (3, 32, "calls (__reduce_add_sync|__syncwarp) while another lane of its warp"),
        (5, 64, "another thread (wrote|read) since the last barrier"),
        (6, 64, "another thread wrote since the last barrier"),
        (7, 64, "another thread wrote since the last barrier"),
        (8, 32, "uses bytes that are not aligned to 16"),
    ],
)
def test_what_lanes_do_wrong_is_an_error(mode, threads, words):
    with pytest.raises(RuntimeError, match=f"warps on a grid: thread .*({words})"):
        run(mode, threads)


def test_a_block_has_48_kib_of_shared_memory():
    out = torch.zeros(32, dtype=torch.int32)
    much = kernel("holds_much", "warps.cu")
    much(block=32, args=[out, 48 << 10])
    assert out.all()
    with pytest.raises(RuntimeError, match="more shared memory than a GPU gives"):
        much(block=32, args=[out, (48 << 10) + 1])
    with pytest.raises(RuntimeError, match="more shared memory than a GPU gives"):
        much(block=32, args=[out, 40 << 10], shared_mem=10 << 10)


@pytest.mark.parametrize("dims", [{"grid": (1, 1, 65536)}, {"block": (1, 1, 65)}])
def test_dims_that_no_gpu_takes(dims):
    out = torch.zeros(4, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="a grid that no GPU takes"):
        kernel("warps", "warps.cu")(args=[out, 9], **dims)


def test_atomics_take_the_types_that_gpus_have_them_for():
    source = """
    __global__ void k(long long* a, short* b, float* c) {
      atomicAdd(a, 1);
      atomicAdd(b, 1);
      atomicMax(c, 1.0f);
    }
    """
    with pytest.raises(RuntimeError, match=r"CUDA has no atomicAdd of this type") as e:
        torch.cuda._compile_kernel(source, "k")
    assert "CUDA has no atomicMax of this type; it takes int, unsigned" in str(e.value)


def test_numbers_saturate_and_mix_as_on_a_gpu():
    x = torch.tensor([3e9, -3e9, float("nan"), 2.5, -1e12, float("inf")])
    numbers = kernel("numbers", "numbers.cu")
    out = torch.zeros(6 * 4 + 5, dtype=torch.int64)
    numbers(block=6, args=[x, out, 1e39, 2.5])
    most, least = (1 << 31) - 1, -(1 << 31)
    assert out[:24].view(6, 4).tolist() == [
        [most, most, 3_000_000_000, most],
        [least, least, 0, least],
        [0, 0, 0, 0],
        [2, 2, 2, 2],
        [least, least, 0, least],
        [most, most, (1 << 32) - 1, most],
    ]
    assert out[24:].tolist() == [1, 15, -(1 << 23), 1, 1]
    with pytest.raises(OverflowError, match=r"argument 3: 70000.0 does not fit __half"):
        numbers(block=6, args=[x, out, 1.0, 70000.0])
    with pytest.raises(OverflowError, match=r"argument 2: 1000.* does not fit float"):
        numbers(block=6, args=[x, out, 10**400, 1.0])
    with pytest.raises(TypeError, match="int32, not of unsigned long long"):
        numbers(block=6, args=[x, out.int(), 1.0, 1.0])


FROM_CPP = """
struct Large { int held[64]; };
__global__ void k(Large, int*) {}
extern "C" __attribute__((visibility("default"))) const char* refusal() {
  static std::string text;
  try {
    k<<<1, 1, 60 << 10>>>(Large(), nullptr);
  } catch (const std::exception& error) {
    text = error.what();
  }
  return text.c_str();
}
"""


def test_a_structure_is_a_parameter_of_any_size():
    made = torch.cuda._compile_kernel(FROM_CPP, "k")
    with pytest.raises(
        TypeError, match="argument 0 is a int, and the parameter is a s"
    ):
        made(args=[1, torch.zeros(1, dtype=torch.int32)])


def test_a_launch_from_cpp_has_48_kib_of_dynamic_shared_memory():
    library = ctypes.CDLL(str(kernel_library(FROM_CPP, "k", [])))
    library.refusal.restype = ctypes.c_char_p
    assert b"61440 bytes of dynamic shared memory" in library.refusal()
