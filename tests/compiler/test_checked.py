"""Checked mode: an access outside an operand is detected in every form of kernel."""

import ctypes
import pickle
import subprocess
import sys
import textwrap
from os import environ
from pathlib import Path

import numpy as np
import pytest

from pellucid_compiler.abi.limits import OUTSIDE_BITS
from pellucid_compiler.abi.status import OUT_OF_BOUNDS, OUTSIDE_OPERAND
from pellucid_compiler.codegen.builder import I64, PTR, Function
from pellucid_compiler.codegen.checked import CheckedModule
from pellucid_compiler.codegen.kernel import (
    Gemm,
    Kernel,
    Map,
    Nest,
    Reduce,
    RowMap,
    Rows,
    Scan,
    Store,
)
from pellucid_compiler.codegen.schedules.gemm import WORKSPACE_BYTES
from pellucid_compiler.codegen.targets.x86 import host_target
from pellucid_compiler.ir.expr import axis, load
from pellucid_compiler.pack.generate import kernel_text
from pellucid_compiler.pack.jit import Executable, compile_blob

ROOT = Path(__file__).resolve().parents[2]
F32 = "float32"
X = load(0, (), F32)
WIDTH = 13  # of rows that are not multiples of a vector

ROWS = [WIDTH, 2], [4, 4 * WIDTH]
CALLS = {
    "map": (Map((X + 1.0,)), ROWS),
    "reduce": (Reduce(X, "sum", F32), ([2, WIDTH], [4 * WIDTH, 4])),
    "rows": (Rows((RowMap(X + 1.0, 0),)), ROWS),
    "scan": (Scan(X, "sum", F32), ([2, WIDTH], [4 * WIDTH, 4])),
    "gemm": (Gemm(), ([WIDTH, WIDTH, WIDTH], [4 * WIDTH, 4])),
}


def run(text, data, sizes, strides, params=(0, 0)):
    """The status of a call of the kernel with this LLVM text."""
    executable = Executable(compile_blob(text, host_target()))
    kernel = executable.function(ctypes.c_int64, *[ctypes.c_void_p] * 4)
    lists = [np.array(x, "uint64") for x in ([a.ctypes.data for a in data], params)]
    counts = [np.array(x, "int64") for x in (sizes, strides)]
    places = [lists[0], *counts, lists[1]]
    return kernel(*(a.ctypes.data for a in places))


def run_form(name):
    form, (sizes, strides) = CALLS[name]
    params = ("int64",) * 3 if name == "gemm" else ()
    inputs = (F32,) * 3 if name == "gemm" else (F32,)
    kernel = Kernel(form, inputs, (F32,), params)
    data = [np.ones(WIDTH * WIDTH, F32) for _ in range(4)]
    workspace = np.zeros(WORKSPACE_BYTES + 64, np.uint8)
    start = workspace.ctypes.data + -workspace.ctypes.data % 64
    text = kernel_text(kernel, host_target(), checked=True)
    return run(text, data, sizes, strides * 4, (start, 0, 0))


def outside(status):
    """(operand, element, number of elements) of the report."""
    assert status >> 48 == OUTSIDE_OPERAND
    most = 1 << OUTSIDE_BITS
    detail = status & ((1 << 48) - 1)
    element = detail >> OUTSIDE_BITS & (most - 1)
    element -= most if element >= most // 2 else 0
    return detail >> 2 * OUTSIDE_BITS, element, detail & (most - 1)


@pytest.mark.parametrize("name", CALLS)
def test_sound_schedules_are_left_alone(name):
    assert run_form(name) == 0


@pytest.mark.parametrize("name", CALLS)
def test_a_lane_too_many_is_reported(name, monkeypatch):
    sound = Function.first_lanes
    monkeypatch.setattr(
        Function,
        "first_lanes",
        lambda self, count, lanes: sound(self, count + 1, lanes),
    )
    operand, element, extent = outside(run_form(name))
    assert operand <= 2
    assert 0 <= element <= extent < element + 17


def test_an_index_that_was_proved_is_checked():
    store = Store((axis(0),), load(0, (axis(0) + 1,), F32))
    proved = frozenset({(0, 0), (1, 0)})
    kernel = Kernel(Nest(1, (1, 1), (store,), proved=proved), (F32,), (F32,))
    data = [np.ones(9, F32), np.ones(9, F32)]
    text = kernel_text(kernel, host_target(), checked=True)
    assert run(text, data, [0, 9, 9, 9], [4, 4]) >> 48 == OUT_OF_BOUNDS


def test_regions_follow_pointers_through_functions_loops_and_choices():
    module = CheckedModule()
    names = ("data", "sizes", "strides", "params")
    f = module.function("kernel", [(name, PTR) for name in names], I64)
    first = f.load(f.args[0], PTR)
    pointer = f.bounded(first, 0, 8, lambda: [(f.integer(4), f.integer(8))])
    reader = module.function("read", [("from", PTR)], internal=True)
    reader.store(reader.load(reader.args[0], I64), reader.args[0])
    reader.ret()

    def body(index, carried):
        f.call(reader, carried[0])
        return [f.offset(carried[0], 8)]

    (last,) = f.loop(0, f.load(f.args[1], I64), 1, [pointer], body)
    (same,) = f.branch(f.integer(1) > 0, lambda: [last], lambda: [pointer])
    f.load(f.select(f.integer(1) > 0, f.offset(same, -8), pointer), I64)
    f.ret(f.integer(0))
    text = module.text(host_target().attributes)
    data = [np.arange(8)]
    assert run(text, data, [4], [0]) == 0
    assert outside(run(text, data, [6], [0])) == (0, 4, 4)
    assert outside(run(text, data, [0], [0])) == (0, -1, 4)


@pytest.fixture(scope="module")
def definitions(tmp_path_factory):
    path = tmp_path_factory.mktemp("checked") / "definitions.pickle"
    freeze = [sys.executable, "tools/freeze.py", "--definitions", str(path)]
    subprocess.run(freeze, cwd=ROOT, check=True, timeout=300)
    assert pickle.loads(path.read_bytes())
    return path


SCRIPT = """
    import pellucid as torch
    {before}
    x = torch.ones(5, 7, requires_grad=True)
    try:
        (x * 2).softmax(1).cumsum(0).matmul(x.t()).sum().backward()
        print(x.gather(1, torch.zeros(5, 2, dtype=torch.int64)).sum().item())
    except RuntimeError as error:
        print(error)
"""
GO_TOO_FAR = """
    from pellucid_compiler.codegen.builder import Function
    sound = Function.first_lanes
    Function.first_lanes = lambda self, count, lanes: sound(self, count + 1, lanes)
"""


@pytest.mark.parametrize(
    ("before", "said"), [("", "10.0"), (GO_TOO_FAR, "mul: a kernel touched element")]
)
def test_the_runtime_runs_checked_kernels(definitions, before, said):
    script = textwrap.dedent(SCRIPT.format(before=before.strip()))
    folder = definitions.parent / str(len(before))
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **environ,
            "PELLUCID_CHECKED": str(definitions),
            "PELLUCID_CACHE": str(folder),
        },
    )
    assert done.stdout.startswith(said), (done.stdout, done.stderr[-2000:])
