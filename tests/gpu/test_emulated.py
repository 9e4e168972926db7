"""Kernels for a grid of threads, run on fibers: their bits, and detected faults."""

import dataclasses
import json
import struct

import numpy as np
import pytest

from pellucid import _C
from pellucid.devices.emulated import BLOCKS, Placed, compiled, run_grid
from pellucid_compiler.abi.limits import STATUS_SHIFT
from pellucid_compiler.abi.status import OUT_OF_BOUNDS
from pellucid_compiler.codegen.builder import FLOAT, I32, I64
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.codegen.targets.x86 import host_target
from pellucid_compiler.devices import reference
from pellucid_compiler.devices.launch import Launch, Operand
from pellucid_compiler.gpu.builder import THREADS, EmulatedFunction, GpuModule
from pellucid_compiler.pack.jit import Executable, compile_blob
from tests.devices.programs import run_program
from tests.gpu.test_ptx import CASES

ORDERS = (0, 1, 7, 8)  # ascending, descending, two random ones


def launched(name, extents, stored, shapes, params=()):
    """A launch over fresh arrays, outputs first; their axes are named by dims."""
    kernel: Kernel = CASES[name][0]
    dtypes = [*kernel.outputs, *kernel.inputs]
    rng = np.random.default_rng(0)
    arrays, operands = [], []
    for dtype, dims in zip(dtypes, shapes, strict=True):
        shape = [extents[d] for d in dims]
        kind = reference.array_dtype(dtype)
        array = (8 * rng.standard_normal(shape)).astype(kind)
        steps = [0] * len(extents)
        for d, step in zip(dims, array.strides, strict=True):
            steps[d] = step
        arrays.append(array)
        place = (array.ctypes.data, dtype, tuple(extents), tuple(steps))
        operands.append(Operand(*place))
    inputs = Launch("test", kernel, 0, tuple(extents), stored, tuple(operands), params)
    return inputs, arrays


def run(launch, order=0, without_barrier=-1):
    placed = Placed.of(launch)
    code = compiled(launch.kernel, placed.shape, without_barrier)
    return run_grid(code, launch, placed, order)


SHAPES = {
    "sum": ((5, 37, 29), 1, [(0,), (0, 1, 2)]),
    "argmax": ((5, 37, 29), 1, [(0,), (0,), (0, 1, 2)]),
    "running sum": ((3, 700), 1, [(0, 1), (0, 1)]),
    "softmax": ((11, 300), 1, [(0, 1), (0, 1)]),
    "product": ((40, 35, 50), 2, [(0, 1), (0, 2), (2, 1)]),
}
BARRIERS = {"sum": 2, "argmax": 2, "running sum": 18, "softmax": 4, "product": 2}


@pytest.mark.parametrize("name", SHAPES)
def test_the_order_of_threads_and_blocks_does_not_change_a_bit(name):
    launch, arrays = launched(name, *SHAPES[name])
    actual = []
    for order in ORDERS:
        arrays[0][...] = -7
        assert run(launch, order) == 0
        actual.append(arrays[0].copy())
    assert all(np.array_equal(actual[0], other) for other in actual)
    reference.run(launch, lambda *place: shown(arrays, *place))
    np.testing.assert_allclose(actual[0], arrays[0], 1e-4, 1e-4)


def shown(arrays, address, dtype, sizes, strides):
    (array,) = (a for a in arrays if a.ctypes.data == address)
    return np.lib.stride_tricks.as_strided(array, sizes, strides)


@pytest.mark.parametrize(
    ("name", "barrier"), [(n, k) for n, count in BARRIERS.items() for k in range(count)]
)
def test_every_barrier_is_missed_when_it_is_removed(name, barrier):
    launch, _ = launched(name, *SHAPES[name])
    for order in ORDERS:
        with pytest.raises(RuntimeError, match="shared memory that"):
            run(launch, order, without_barrier=barrier)


def test_an_access_outside_of_the_operands_is_found():
    launch, _ = launched("map", (6, 50), 2, [(0, 1), (0, 1)])
    assert run(launch) == 0
    far = dataclasses.replace(launch, extents=(6, 51))
    with pytest.raises(RuntimeError, match=r"block \d reads 4 bytes outside of all"):
        run(far)


def test_a_failure_is_in_the_status():
    launch, arrays = launched("map that may fail", (300,), 1, [(0,)] * 3)
    arrays[2][:] = 3
    assert run(launch) == 0
    assert np.array_equal(arrays[0], arrays[1] // 3)
    arrays[2][299] = 0
    assert run(launch) != 0


def test_an_index_out_of_bounds_has_its_element_in_the_status():
    kernel = CASES["gather"][0]
    out, table = np.zeros((3, 4), np.float32), np.ones((5, 4), np.float32)
    index = np.array([1, 5, 0])
    operands = tuple(
        Operand(a.ctypes.data, d, a.shape, a.strides)
        for a, d in ((out, "float32"), (table, "float32"), (index, "int64"))
    )
    launch = Launch("test", kernel, 0, (3, 4), 2, operands, ())
    code, element = divmod(run(launch), 1 << STATUS_SHIFT)
    assert (code, element // 4) == (OUT_OF_BOUNDS, 1)
    index[1] = 4
    assert run(launch) == 0
    assert (out == 1).all()


def grid(emit, words, ranges=b"", order=0):
    """A kernel written by a test; ``emit`` receives it and its arguments."""
    module = GpuModule(EmulatedFunction)
    f, named = module.entry(["to"], [])
    emit(f, named["to"])
    f.ret()
    code = Executable(compile_blob(module.printed(), host_target()))
    arguments = (
        code.address,
        words,
        ranges,
        BLOCKS,
        THREADS,
        module.shared_bytes,
        order,
    )
    _C._run_grid(*arguments)


def test_atomic_sums_of_all_threads_arrive():
    total = np.zeros(1, np.float32)
    at = total.ctypes.data

    def emit(f, to):
        f.atomic_add(to, f.constant(1.0, FLOAT))

    grid(emit, struct.pack("<Q", at), struct.pack("<2Q", at, at + 4), 5)
    assert total[0] == BLOCKS * THREADS


def test_shared_memory_that_nobody_wrote_is_not_read():
    def emit(f, to):
        f.read_shared(f.shared(64), I64)

    with pytest.raises(RuntimeError, match="shared memory that nobody wrote"):
        grid(emit, bytes(8))


def test_a_barrier_that_some_threads_do_not_reach_is_found():
    def emit(f, to):
        f.branch(f.thread() < 100, f.barrier)

    with pytest.raises(RuntimeError, match="waits at a barrier or a shuffle"):
        grid(emit, bytes(8))


def test_rows_and_vectors_of_shared_memory_are_aligned():
    def reads_row(f, to):
        f.load_matrices(f.offset(f.shared(64), 8), transposed=False)

    def reads_vector(f, to):
        f.read_shared(f.offset(f.shared(64), 4), FLOAT.with_lanes(4))

    for emit in (reads_row, reads_vector):
        with pytest.raises(RuntimeError, match="reads 16 bytes that are not aligned"):
            grid(emit, bytes(8))


def test_lanes_meet_in_one_function():
    def emit(f, to):
        i = f.thread()
        f.branch(i < 100, lambda: [f.shuffle_xor(i, 1)], lambda: [i])
        f.multiply_matrices("int8", *([f.constant(0, I32)] * n for n in (4, 2, 4)))

    with pytest.raises(
        RuntimeError, match=r"(shuffle|multiply_matrices) while another"
    ):
        grid(emit, bytes(8))


def test_lanes_exchange_values():
    actual = np.zeros(THREADS, np.int64)
    at = actual.ctypes.data

    def emit(f, to):
        other = f.shuffle_xor(f.thread(), 5)
        place = f.offset(to, f.thread() * 8)
        f.touch(place, 8, "write_global")
        f.store(other, place)

    ranges = struct.pack("<2Q", at, at + actual.nbytes)
    grid(emit, struct.pack("<Q", at), ranges, 3)
    assert np.array_equal(actual, np.arange(THREADS) ^ 5)


PROGRAM = """
import json
import pellucid as torch
from pellucid.devices import check
from pellucid.devices.check.training import losses_of
from pellucid.devices.emulated import Emulated

report = check.run(Emulated(order=7), ["errors"])
losses = [losses_of("a transformer", device, "SGD") for device in ("emu", "cpu")]
x = torch.cat([torch.randn(400) * 4, torch.tensor([float("nan"), float("inf"), -0.0])])
x = torch.cat([x, torch.tensor([1e-40, -1e-45, 88.7, -104.0, 3e38, 1e-8])])
whole = torch.arange(-60, 340).reshape(8, 50)
calls = {
    **{n: lambda t, n=n: getattr(t, n)() for n in (
        "exp", "log", "sin", "tanh", "sigmoid", "erf", "sqrt", "rsqrt", "expm1")},
    "gelu": torch.nn.functional.gelu,
    "half": lambda t: (t.half() * 3).float(),
    "bfloat16": lambda t: (t.bfloat16() / 3).float(),
    "double": lambda t: t.double().pow(1.3),
    "half complex": lambda t: t[:6].chalf().to(torch.complex64),
    "amax": lambda t: t.amax(),
    "all": lambda t: (t > -9).all(),
    "rows": lambda t: whole.to(t.device).sum(0),
    "product": lambda t: whole.to(t.device) @ whole.t().to(t.device),
    "remainder": lambda t: whole.to(t.device) % 7 // 2,
    "argmax": lambda t: t.argmax(),
    "argmin": lambda t: whole.to(t.device).argmin(1),
    "running sum": lambda t: whole.to(t.device).cumsum(1),
    "running maximum": lambda t: t.nan_to_num().cummax(0).values,
    "gather": lambda t: whole.to(t.device).gather(1, index.to(t.device)),
    "embedding": lambda t: torch.nn.functional.embedding(
        index.to(t.device), t[:80].reshape(8, 10)),
    "pool": lambda t: torch.nn.functional.max_pool1d(t[None, :400], 3, 2),
    "average": lambda t: torch.nn.functional.avg_pool1d(t[None, :400], 3, 2),
    "scatter": lambda t: t[:80].reshape(8, 10).index_add(
        0, index[0].to(t.device), t[100:150].reshape(5, 10)),
}
index = torch.tensor([[3, 1, 1, 0, 7]])
before = torch.devices.counts("emu")
def bits(t):
    return t.cpu().reshape(-1).view(torch.uint8).tolist()
differ = [n for n, call in calls.items() if bits(call(x.to("emu"))) != bits(call(x))]
after = torch.devices.counts("emu")
print(json.dumps([str(report), bool(report), differ,
                  after["fallbacks"] - before["fallbacks"], len(calls), losses]))
"""


def test_a_model_learns_and_elements_have_the_cpus_bits():
    text, holds, differ, on_the_cpu, count, losses = json.loads(run_program(PROGRAM))
    assert holds, text
    assert (differ, on_the_cpu, count) == ([], 0, 28)
    np.testing.assert_allclose(*losses, atol=1e-4)
    assert losses[0][0] > losses[0][-1]
