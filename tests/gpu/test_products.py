"""Products and convolutions on a grid: exact sums of integers, and detected faults."""

import json

import numpy as np
import pytest

from pellucid.devices.emulated import Placed, compiled, run_grid
from pellucid_compiler.codegen.builder import FLOAT
from pellucid_compiler.codegen.kernel import Gemm, Kernel
from pellucid_compiler.devices.launch import Launch, Operand, array_dtype
from pellucid_compiler.gpu import generate
from pellucid_compiler.gpu.amdgpu import AmdFunction
from pellucid_compiler.gpu.builder import NvptxFunction
from pellucid_compiler.gpu.generate import grid_module
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.gpu.nvptx import ptx
from tests.devices.programs import run_program
from tests.gpu.test_emulated import ORDERS, grid


def aligned(shape, dtype):
    """Zeros whose address is a multiple of 64."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(count + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + count].view(dtype).reshape(shape)


def stored(values, dtype):
    """Integers as an array of a dtype; bfloat16 as its bits."""
    if dtype == "bfloat16":
        wide = values.astype(np.float32).view(np.uint32)
        return (wide + 0x7FFF + (wide >> 16 & 1) >> 16).astype(np.uint16)
    return values.astype(dtype)


def drawn(shape, dtype, rng, extra=0):
    """Small integers, of rows that are ``extra`` elements apart."""
    values = rng.integers(0 if dtype == "uint8" else -3, 4, shape)
    array = aligned((*shape[:-1], shape[-1] + extra), array_dtype(dtype))
    array = array[..., : shape[-1]]
    array[...] = stored(values, dtype)
    return array, values


def launch_of(dtypes, extents, num_stored, arrays, axes):
    """A product; ``axes`` name, by letters of ``extents``, the dims of each array."""
    operands = []
    for array, dtype, dims in zip(arrays, dtypes, axes, strict=True):
        steps = {name: 0 for name in extents}
        for name, step in zip(dims, array.strides, strict=True):
            steps[name] += step
        sizes = tuple(extents[name] if step else 1 for name, step in steps.items())
        place = array.ctypes.data, dtype, sizes, tuple(steps.values())
        operands.append(Operand(*place))
    kernel = Kernel(Gemm(), tuple(dtypes[1:]), tuple(dtypes[:1]), ())
    sizes = tuple(extents.values())
    return Launch("test", kernel, 0, sizes, num_stored, tuple(operands), ())


def run(launch, order=0, without_barrier=-1):
    placed = Placed.of(launch)
    return run_grid(
        compiled(launch.kernel, placed.shape, without_barrier), launch, placed, order
    )


def product(dtype, sizes, axes="mk,kn", result="", extra=0, bias=False):
    """A launch of a product, its arrays, the result first, and the exact result."""
    extents, rng = dict(zip("mnk", sizes, strict=True)), np.random.default_rng(0)
    factors = axes.split(",")
    drawn_ones = [
        drawn([extents[d] for d in dims], dtype, rng, extra)
        for dims in (*factors, *["n"] * bias)
    ]
    arrays, values = zip(*drawn_ones, strict=True)
    out = result or dtype
    total = np.einsum(f"{axes}->mn", *values[:2]) + (values[2] if bias else 0)
    to = aligned((extents["m"], extents["n"]), array_dtype(out))
    dtypes = [out, *[dtype] * len(arrays)]
    dims = ["mn", *factors, *["n"] * bias]
    arrays = [to, *arrays]
    return launch_of(dtypes, extents, 2, arrays, dims), arrays, stored(total, out)


LAYOUTS = "mk,kn", "mk,nk", "km,kn", "km,nk"
CASES = [
    *((dtype, axes) for dtype in ("float16", "int8", "float32") for axes in LAYOUTS),
    *((dtype, "mk,kn") for dtype in ("bfloat16", "uint8", "float64", "int64")),
]


@pytest.mark.parametrize(("dtype", "axes"), CASES)
def test_sums_of_integers_are_exact_in_every_layout(dtype, axes):
    for sizes, extra in (((136, 24, 80), 0), ((33, 65, 35), 3)):
        launch, arrays, expected = product(dtype, sizes, axes, extra=extra)
        assert run(launch, order=7) == 0
        assert np.array_equal(arrays[0], expected), (sizes, extra)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 200, 40), (140, 1, 33), (3, 5, 0)])
def test_edges_and_empty_sums(sizes):
    for dtype in ("float16", "float32"):
        launch, arrays, expected = product(dtype, sizes, bias=True)
        arrays[0][...] = 9
        assert run(launch) == 0
        assert np.array_equal(arrays[0], expected)


def test_bytes_are_summed_in_32_bits():
    launch, arrays, expected = product("int8", (16, 24, 900), "mk,nk", "int32")
    assert run(launch) == 0
    assert np.array_equal(arrays[0], expected)
    assert abs(expected).max() > 127


@pytest.mark.parametrize(
    ("out", "dtype"), [("int64", "int8"), ("float64", "float16"), ("float64", "int8")]
)
def test_sums_that_tensor_cores_do_not_have_are_summed_otherwise(out, dtype):
    launch, arrays, expected = product(dtype, (16, 24, 40), "mk,nk", out)
    arrays[0][...] = -1
    assert run(launch) == 0
    assert np.array_equal(arrays[0], expected)


def windows_on_both_sides(out, dtype):
    """The product with the largest tables, and a bias."""
    memory = out, dtype, dtype, out
    kernel = Kernel(Gemm(), memory[1:], memory[:1], ())
    return grid_module(kernel, Shape(5, 3, memory, 2, 2))


def test_every_product_fits_into_the_shared_memory_of_a_block(monkeypatch):
    widths = [f"{kind}{bits}" for kind in ("int", "float") for bits in (16, 32, 64)]
    pairs = [(dtype, dtype) for dtype in (*widths, "int8", "uint8", "bfloat16")]
    sizes = [
        windows_on_both_sides(*p).shared_bytes for p in (*pairs, ("int32", "int8"))
    ]
    assert max(sizes) == 48 << 10
    monkeypatch.setattr(generate, "_MOST_SHARED", (48 << 10) - 1)
    with pytest.raises(NotImplementedError, match="takes 49152 bytes of shared memory"):
        windows_on_both_sides("int8", "int8")


def test_batches_and_no_batches():
    for count in (3, 0):
        extents = {"b": count, "m": 20, "n": 30, "k": 40}
        rng = np.random.default_rng(0)
        a, x = drawn((count, 20, 40), "float16", rng)
        b, y = drawn((count, 40, 30), "float16", rng)
        to = aligned((count, 20, 30), "float16")
        launch = launch_of(
            ["float16"] * 3, extents, 3, [to, a, b], ["bmn", "bmk", "bkn"]
        )
        assert run(launch, order=1) == 0
        assert np.array_equal(to, np.einsum("bmk,bkn->bmn", x, y))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rounded_sums_are_near_and_do_not_depend_on_the_order(dtype):
    launch, (actual, *factors), _ = product(dtype, (70, 40, 200))
    rng = np.random.default_rng(1)
    for factor in factors:
        factor[...] = rng.standard_normal(factor.shape)
    expected = np.matmul(*(factor.astype(np.float64) for factor in factors))
    found = []
    for order in ORDERS:
        assert run(launch, order) == 0
        found.append(actual.tobytes())
    assert len(set(found)) == 1
    step = np.finfo(dtype).eps
    assert abs(actual - expected).max() < (300 + abs(expected).max()) * step


def windows_of(image, out, kernel, step):
    """A view with axes for the places of windows and those inside of them."""
    batch, channel, down, across = image.strides
    shape = (*image.shape[:2], out, out, kernel, kernel)
    steps = (batch, channel, step * down, step * across, down, across)
    return np.lib.stride_tricks.as_strided(image, shape, steps)


def windows(dtype, channels, size, kernel, step=1):
    """A convolution as a product with an image's windows, as ``product``."""
    rng = np.random.default_rng(0)
    count, out = 2, (size - kernel) // step + 1
    image, x = drawn((count, channels, size, size), dtype, rng)
    weight, w = drawn((70, channels, kernel, kernel), dtype, rng)
    to = aligned((count, 70, out, out), array_dtype(dtype))
    extents = {"o": 70, "n": count, "y": out, "x": out}
    extents |= {"c": channels, "i": kernel, "j": kernel}
    arrays = [to, weight, windows_of(image, out, kernel, step)]
    launch = launch_of([dtype] * 3, extents, 4, arrays, ["noyx", "ocij", "ncyxij"])
    seen = windows_of(x, out, kernel, step)
    return launch, arrays, stored(np.einsum("ncyxij,ocij->noyx", seen, w), dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "float32"])
def test_windows_of_an_image_are_a_factor(dtype):
    for arguments in ((3, 9, 3), (16, 8, 2, 2), (8, 6, 1)):
        launch, arrays, expected = windows(dtype, *arguments)
        assert run(launch, order=7) == 0
        assert np.array_equal(arrays[0], expected), arguments


def test_rows_and_columns_may_run_over_several_axes():
    launch, _arrays, _ = windows("float32", 3, 9, 3)
    placed = Placed.of(launch)
    assert (placed.shape.rows, placed.shape.columns, placed.shape.reduced) == (1, 3, 3)


@pytest.mark.parametrize("meeting", [0, 1])
@pytest.mark.parametrize("dtype", ["float16", "int8", "float32"])
def test_every_barrier_and_wait_is_missed_when_it_is_removed(dtype, meeting):
    launch, _arrays, _ = product(dtype, (260, 136, 160), "mk,nk")
    for order in ORDERS:
        with pytest.raises(RuntimeError, match="shared memory that"):
            run(launch, order, without_barrier=meeting)


def test_the_barrier_after_a_tile_of_windows_is_missed_when_it_is_removed():
    launch, _arrays, _ = windows("float32", 3, 16, 3)  # 14 tiles for 3 blocks
    assert run(launch) == 0
    for order in ORDERS[1:]:
        with pytest.raises(RuntimeError, match="that another thread read"):
            run(launch, order, without_barrier=2)


def test_a_factor_is_not_read_behind_its_end():
    launch, _arrays, _ = product("float16", (40, 40, 40))
    assert run(launch) == 0
    whole = launch.operands[1]
    short = Operand(whole.address, whole.dtype, (39, 40, 40), whole.strides)
    operands = (launch.operands[0], short, launch.operands[2])
    placed = Placed.of(launch)
    code = compiled(launch.kernel, placed.shape)
    given = Launch("test", launch.kernel, 0, launch.extents, 2, operands, ())
    with pytest.raises(RuntimeError, match="reads 16 bytes outside of all operands"):
        run_grid(code, given, placed, 0)


def kernel_text(dtype, printer):
    dtypes = (dtype,) * 3
    kernel = Kernel(Gemm(), dtypes[1:], dtypes[:1], ())
    return grid_module(kernel, Shape(2, 1, dtypes, 1, 1), printer).printed()


@pytest.mark.parametrize(
    ("dtype", "instruction"),
    [
        ("float16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("bfloat16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("int8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
        ("float32", "fma.rn.f32"),
    ],
)
def test_the_instructions_of_products(dtype, instruction):
    text = ptx(kernel_text(dtype, NvptxFunction))
    assert text.count(instruction) == 32
    assert "cp.async.cg.shared.global" in text
    assert "cp.async.wait_all" in text
    assert ".maxntid 256" in text
    assert ".minnctapersm 2" in text
    assert ("ldmatrix.sync.aligned.m8n8.x4.trans" in text) == ("float16" in dtype)


def test_amd_sums_by_fused_multiply_adds():
    text = kernel_text("float16", AmdFunction)
    assert "llvm.fma.f32" in text
    assert "mfma" not in text


def test_a_copy_is_there_after_a_wait():
    source = aligned((64,), "float32")
    source[:] = np.arange(64)
    ranges = np.array([source.ctypes.data, source.ctypes.data + 256], "<u8").tobytes()
    words = np.array([source.ctypes.data], "<u8").tobytes()

    def emit(waits):
        def body(f, to):
            def one():
                shared = f.shared(16)
                f.copy_async(shared, to, 16, f.integer(8))
                if waits:
                    f.wait_copies()
                for k, expected in enumerate((0.0, 1.0, 0.0, 0.0)):
                    found = f.read_shared(f.offset(shared, 4 * k), FLOAT)
                    f.branch(
                        found.differs(expected), lambda: f.touch(to, 999, "read_global")
                    )

            f.branch(f.thread().equals(0), one)

        return body

    grid(emit(True), words, ranges)
    with pytest.raises(RuntimeError, match="a copy has yet to write"):
        grid(emit(False), words, ranges)


def test_a_warp_reads_rows_of_matrices_after_a_barrier():
    def emit(f, to):
        shared = f.shared(32 * 16)
        row = f.offset(shared, (f.thread() & 31) * 16)
        f.branch(f.thread() < 32, lambda: f.write_shared(f.constant(1.0, FLOAT), row))
        f.load_matrices(row, transposed=False)

    with pytest.raises(RuntimeError, match=r"another thread wrote|nobody wrote"):
        grid(emit, bytes(8))


PROGRAM = """
import json
import pellucid as torch
from pellucid.devices.emulated import Emulated

torch.devices.register(Emulated(order=7))
def whole(*shape):
    return torch.randint(-2, 3, shape).float()
half = torch.float16
calls = [
    (torch.conv2d, (2, 3, 9, 8), (5, 3, 3, 3), dict(padding=1), half),
    (torch.conv2d, (2, 4, 9, 9), (6, 4, 3, 3), dict(stride=2, padding=1), None),
    (torch.conv1d, (2, 4, 12), (6, 2, 3), dict(dilation=2, groups=2), None),
]
differ, log = [], []
for number, (call, x, w, options, dtype) in enumerate(calls):
    given = [whole(*shape).to(dtype or torch.float32) for shape in (x, w)]
    results = []
    for device in ("cpu", "emu"):
        leaves = [t.to(device).requires_grad_() for t in given]
        with torch.devices.trace() as steps:
            y = call(*leaves, **options)
            grads = torch.autograd.grad(y, leaves, torch.ones_like(y))
        results.append([t.detach().cpu() for t in (y, *grads)])
    differ += [(number, k) for k, (a, b) in enumerate(zip(*results))
               if not torch.equal(a, b)]
    log += [(number, *map(str, step)) for step in steps]
print(json.dumps([differ, log]))
"""


def test_convolutions_and_their_gradients_are_products_of_windows():
    differ, log = json.loads(run_program(PROGRAM))
    assert differ == []
    assert {where for *_, where in log} == {"launched"}
    assert sum("gemm" in step for step in log) == 9
