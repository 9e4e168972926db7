"""``pellucid.devices.gpu.kernel``: the language, emulated runs, and refusals."""

import re

import pytest

import pellucid as torch
from pellucid.devices import gpu
from pellucid_compiler.gpu.user import KernelError
from tests.devices.programs import run_program

SCALE = 2.5


@gpu.kernel
def prints(x):
    """A text is skipped."""
    print(x[0])


@gpu.kernel
def selected(x, out, n):
    for i in range(gpu.thread(), n, gpu.threads()):
        value = gpu.maximum(x[i], 0.0)
        if i % 3 == 0 and i >= 0:
            value = gpu.exp(-x[i])
        elif i // 2 > 20:
            value = -1.0
        out[i] = value * SCALE


@gpu.kernel
def reversed_rows(x, out, waits):
    held = gpu.shared(torch.float32, 64)
    here = gpu.block() * 64 + gpu.thread()
    held[gpu.thread()] = x[here]
    if waits > 0:
        gpu.barrier()
    out[here] = held[63 - gpu.thread()]


@gpu.kernel
def counted(x, counts, n):
    for i in range(gpu.block() * 32 + gpu.thread(), n, gpu.blocks() * 32):
        gpu.atomic_add(counts, x[i], 1)


def test_elements_are_computed_as_in_python():
    x = torch.randn(100)
    out = torch.empty_like(x)
    selected[1, 64](x, out, 100)
    i = torch.arange(100)
    rest = torch.where(i // 2 > 20, -1.0, x.clamp(min=0))
    expected = torch.where(i % 3 == 0, (-x).exp(), rest) * SCALE
    assert torch.equal(out, expected)


def test_shared_memory_and_its_barrier():
    x = torch.arange(128.0)
    out = torch.empty_like(x)
    reversed_rows[2, 64](x, out, 1)
    assert torch.equal(out, x.reshape(2, 64).flip(1).reshape(-1))
    with pytest.raises(RuntimeError, match=r"reversed_rows on a grid: .*shared memory"):
        reversed_rows[2, 64](x, out, 0)


def test_atomics_of_integers_count():
    x = torch.arange(500) % 7
    counts = torch.zeros(7, dtype=torch.int64)
    counted[3, 32](x, counts, 500)
    assert torch.equal(counts, x.bincount())


def test_an_access_outside_of_a_tensor_is_found():
    x = torch.ones(10)
    with pytest.raises(RuntimeError, match=r"reads 4 bytes outside of all"):
        selected[1, 32](x, x, 11)


def test_other_dtypes_are_other_kernels():
    x = torch.randn(10, dtype=torch.float64)
    out = torch.empty(10, dtype=torch.bfloat16)
    selected[1, 32](x.abs(), out, 1)
    assert out[0] == ((-x.abs()[0]).exp() * SCALE).bfloat16()


def test_the_ptx_is_that_of_the_source():
    text = reversed_rows.ptx(torch.ones(1), torch.ones(1), 1, target="sm_90a")
    assert ".visible .entry kernel(" in text
    assert "barrier.sync" in text or "bar.sync" in text
    assert not re.search(r"\.approx|\.ftz", text)


@gpu.kernel
def loops_forever(x):
    while True:
        x[0] = 1.0


@gpu.kernel
def adds_arrays(x):
    x[0] = x + 1


@gpu.kernel
def names_nothing(x):
    x[0] = missing  # noqa: F821


@gpu.kernel
def narrows(x):
    total = 0
    for i in range(1):
        total += x[i]
    x[0] = total


@gpu.kernel
def reads_an_ended_index(x):
    for SCALE in range(1):
        x[SCALE] = 0.0
    x[0] = SCALE


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (loops_forever, "this statement is not part of the kernel language"),
        (adds_arrays, "an array must be indexed"),
        (names_nothing, "an unknown name"),
        (narrows, "total is int64 since its first value and would narrow float32"),
        (reads_an_ended_index, "SCALE has no value here"),
    ],
)
def test_what_is_not_the_language_is_refused_with_its_line(kernel, words):
    with pytest.raises(KernelError) as caught:
        kernel[1, 32](torch.ones(1))
    text = str(caught.value)
    assert words in text
    assert re.match(rf"{kernel.__name__}, line \d+: ", text)


@gpu.kernel
def scaled(x, out, scale, n):
    total, last = 0.0, -1
    for last in range(n):
        total += x[last] * 0.1 + scale / 3.0
    out[0] = total
    out[1] = last


def test_literals_and_floats_take_the_dtype_of_the_other_operand():
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor([0.3, 0.7, 1.1], dtype=dtype)
        out = torch.empty(2, dtype=dtype)
        scaled[1, 32](x, out, 0.2, 3)
        total = torch.zeros((), dtype=dtype)
        for value in x:
            total = total + (value * 0.1 + 0.2 / 3.0)
        assert out.tolist() == [total.item(), 2.0]
        scaled[1, 32](x, out, 0.2, 0)
        assert out.tolist() == [0.0, -1.0]


@gpu.kernel
def guarded(x, out, n):
    i = gpu.thread()
    if i < n and x[i] > 0:
        out[i] = 1.0
    if i >= n or x[i] <= 0 or i == 0:
        gpu.atomic_add(out, n, 1.0)


def test_what_follows_a_deciding_operand_is_not_read():
    x = torch.tensor([1.0, -1.0, 2.0])
    out = torch.zeros(4)
    guarded[1, 32](x, out, 3)
    assert out.tolist() == [1.0, 0.0, 1.0, 31.0]


def test_functions_of_python_cannot_be_called():
    with pytest.raises(KernelError, match=r"only functions of pellucid\.devices\.gpu"):
        prints[1, 32](torch.ones(1))


def test_wrong_calls():
    x = torch.ones(4, 4)
    with pytest.raises(TypeError, match=r"takes 3 arguments, 2 were given"):
        selected[1, 32](x, x)
    with pytest.raises(TypeError, match="out must be contiguous"):
        selected[1, 32](x, x.t()[:2], 1)
    with pytest.raises(TypeError, match="x must be a tensor, an int or a float"):
        selected[1, 32]("x", x, 1)
    with pytest.raises(ValueError, match=r"selected\[1, 33\]: .* multiple of 32"):
        selected[1, 33]
    with pytest.raises(TypeError, match="on one device, cuda, cpu or emu; found: meta"):
        selected[1, 32](x.to("meta"), x.to("meta"), 1)
    with pytest.raises(
        RuntimeError, match=r"gpu\.thread\(\) can be called in a kernel"
    ):
        gpu.thread()


PROGRAM = """
import pellucid as torch
from pellucid.devices.emulated import Emulated
from tests.gpu.test_user_kernels import reversed_rows

torch.devices.register(Emulated(order=7))
x = torch.arange(128.0)
out = torch.empty(128, device="emu")
reversed_rows[2, 64](x.to("emu"), out, 1)
print(torch.equal(out.cpu(), x.reshape(2, 64).flip(1).reshape(-1)))
"""


def test_tensors_of_the_emulated_gpu():
    assert run_program(PROGRAM) == "True\n"
