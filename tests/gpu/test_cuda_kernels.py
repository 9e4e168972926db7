"""``torch.cuda._compile_kernel`` on the emulator: CUDA C++'s words, and faults."""

import functools
from pathlib import Path

import pytest

import pellucid as torch

HERE = Path(__file__).parent
SOURCE = (HERE / "words.cu").read_text()


@functools.cache
def kernel(name, source):
    return torch.cuda._compile_kernel(source, name)


def test_the_words_mean_what_they_mean_on_a_gpu():
    x = torch.linspace(-2, 2, 64)
    numbers = torch.zeros(4, 64, 12, dtype=torch.int32)
    values, halves = torch.zeros(64), torch.full((64,), 1.5).half()
    before = halves.clone()
    args = [x, numbers, values, halves, 40]
    grid = {"grid": (2, 2), "block": (4, 8, 2), "args": args, "shared_mem": 256}
    kernel("words", SOURCE)(**grid)
    i = torch.arange(64)
    lane, warp = i % 32, i // 32
    expected = [
        *(63 - i, torch.where(lane >= 3, i - 3, i)),
        *(torch.where(lane % 16 < 11, i + 5, i), i // 8 * 8 + 1),
        *(torch.full((64,), 8), torch.where(warp == 0, 1, 2), 32 * warp + 31 + 8),
        *(torch.full((64,), 32), torch.full((64,), 64_063), torch.full((64,), 723)),
        i.clamp(3, 20) + 31 - (i + 1).float().log2().floor().int() + 1,
    ]
    for k, column in enumerate(expected):
        assert torch.equal(numbers[..., k], column.int().expand(4, 64)), k
    blocks = torch.tensor([0, 0, 1, 1]).view(4, 1)
    assert torch.equal(numbers[..., 11], (64 * blocks + i // 4 % 8).int())
    table = torch.tensor([0.5, 1.5, 2.5])[i % 3]
    exact = table + 0.5 + (2 * x + 1) + 1
    assert torch.allclose(values, exact * (i < 40))
    summed = x.half() + before * before
    assert torch.equal(halves, torch.where(i < 40, summed, before))


FAULTS = (HERE / "faults.cu").read_text()


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (0, "shared memory that nobody wrote|another thread wrote since"),
        (1, "writes 4 bytes outside of all operands, 0 bytes behind number 0"),
        (2, "writes 4 bytes outside of all operands|outside of shared memory"),
        (3, "thread 9 of block 0 fails an assertion: i < 9"),
        (4, "shuffles from a lane that the mask does not have"),
        (5, "waits at a barrier or a shuffle that another thread does not reach"),
        (6, "has more than 28 KiB of variables and calls on its stack"),
        (7, "reads 4 bytes of shared memory that nobody wrote"),
        (8, "shared memory that another thread (read|wrote) since"),
        (9, ""),
        (10, "another thread wrote since the last barrier"),
    ],
)
def test_a_fault_is_an_error_that_names_the_thread(mode, words):
    x = torch.arange(64.0)
    launch = {"block": 64, "args": [x, mode], "shared_mem": 256}
    faulty = kernel("faulty<64>", FAULTS)
    if not words:
        faulty(**launch)
        assert torch.equal(x, torch.arange(64.0) + torch.tensor([1.0, -1.0]).repeat(32))
        return
    with pytest.raises(RuntimeError, match=f"faulty<64> on a grid: .*({words})"):
        faulty(**launch)


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ([torch.ones(2)], TypeError, r"faulty<64>\(float\*, int\) takes 2 arguments"),
        ([torch.ones(2).double(), 1], TypeError, "torch.float64, not of float"),
        ([torch.ones(2), 1.5], TypeError, "a float, and the parameter is int"),
        ([torch.ones(2), 1 << 31], OverflowError, "does not fit int"),
        ([torch.ones(2), torch.ones(2)], TypeError, "a tensor, and the parameter is"),
        ([torch.ones(2), "1"], TypeError, "Unsupported argument type"),
        (
            [torch.ones(2, device="meta"), 1],
            ValueError,
            "a kernel takes tensors of a GPU",
        ),
    ],
)
def test_arguments_that_the_parameters_are_not(args, error, words):
    with pytest.raises(error, match=words):
        kernel("faulty<64>", FAULTS)(block=64, args=args)


def test_a_kernel_reaches_from_the_first_element_of_a_view_to_its_last():
    whole = torch.zeros(9)
    view = whole[1::2]
    launch = functools.partial(kernel("faulty<64>", FAULTS), args=[view, 1])
    launch(block=6)
    assert torch.equal(whole, torch.tensor([0, 0, 1, 1, 1, 1, 1, 1, 0.0]))
    with pytest.raises(RuntimeError, match="outside of all operands"):
        launch(block=7)
    with pytest.raises(RuntimeError, match="outside of all operands"):
        kernel("faulty<64>", FAULTS)(args=[whole[:0], 1])


def test_grids_that_no_gpu_takes():
    faulty = kernel("faulty<64>", FAULTS)
    with pytest.raises(RuntimeError, match="1024 threads at most"):
        faulty(block=(32, 33), args=[torch.ones(2), 99])
    with pytest.raises(RuntimeError, match="dims are positive"):
        faulty(grid=0, args=[torch.ones(2), 99])
    big = {"args": [torch.ones(2), 99], "shared_mem": 50 << 10}
    with pytest.raises(RuntimeError, match="set_shared_memory_config"):
        faulty(**big)
    faulty.set_shared_memory_config(50 << 10)
    faulty(**big)


def test_what_does_not_compile_says_where():
    with pytest.raises(RuntimeError, match=r"refuses the kernel:\n(.|\n)*k.cu:2"):
        torch.cuda._compile_kernel("\n__global__ void k() { missing(); }", "k")
