"""Kernels of every schedule as PTX, and through ``ptxas`` where there is one."""

import re

import pytest

from pellucid_compiler.codegen.kernel import (
    Gemm,
    Kernel,
    Map,
    Nest,
    Reduce,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
    Scan,
    Store,
)
from pellucid_compiler.gpu.generate import grid_module
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.gpu.nvptx import FEATURES, assemble, find_ptxas, ptx, spills
from pellucid_compiler.ir.expr import axis, load, make, sym
from tests.gpu.attention_cases import block, shape_of

F32 = "float32"
X = load(0, (), F32)
SOFTMAX = Rows(
    (
        RowReduce(X, "max", F32),
        RowReduce(make("exp", X - sym("r0", F32)), "sum", F32),
        RowMap(make("exp", X - sym("r0", F32)) / sym("r1", F32), 0),
    )
)
SUMS = Rows((RowReduce(X, "sum", F32), RowAdd(X * sym("r0", F32), 0)))
HERE = axis(0), axis(1)
THERE = load(1, HERE[:1], "int64"), axis(1)
GATHER = Nest(2, (2, 2, 1), (Store(HERE, load(0, THERE, F32)),))
SCATTER = Nest(2, (2, 2, 1), (Store(THERE, load(0, HERE, F32)),), "sum")
DIVIDED = Map((load(0, (), "int64") // load(1, (), "int64"),))


def attention(*, backward=False):
    _, kernel, _ = block("causal", "float64", backward=backward)
    return kernel, shape_of(kernel, 32)


def case(form, dtypes, stored, reduced, params=()):
    kernel = Kernel(form, dtypes[1:], dtypes[:1], params)
    lines = int(isinstance(form, Gemm))
    return kernel, Shape(stored, reduced, dtypes, lines, lines)


CASES = {
    "map": case(Map((make("tanh", X) * X + 1.0,)), (F32, F32), 2, 0),
    "map of bfloat16": case(
        Map((load(0, (), "bfloat16") * 3.0,)), ("bfloat16", "bfloat16"), 1, 0
    ),
    "map that may fail": case(DIVIDED, ("int64",) * 3, 1, 0),
    "sum": case(Reduce(X, "sum", F32), (F32, F32), 1, 2),
    "greatest of float64": case(
        Reduce(load(0, (), "float64"), "max", "float64"), ("float64",) * 2, 0, 1
    ),
    "argmax": (
        Kernel(Reduce(X, "argmax", F32), (F32,), (F32, "int64"), ("int64",)),
        Shape(1, 2, (F32, "int64", F32)),
    ),
    "running sum": case(Scan(X, "sum", F32), (F32, F32), 1, 1),
    "gather": case(GATHER, (F32, F32, "int64"), 2, 0),
    "scatter": case(SCATTER, (F32, F32, "int64"), 2, 0),
    "softmax": case(SOFTMAX, (F32, F32), 1, 1),
    "sums over rows": case(SUMS, (F32, F32), 1, 1),
    "product": case(Gemm(), (F32, F32, F32), 2, 1),
    "product with a bias": case(Gemm(), ("float16",) * 4, 3, 1),
    "product of integers": case(Gemm(), ("int8",) * 3, 2, 1),
    "windows of an image with a border": (
        Kernel(Gemm(), (F32,) * 3, (F32,), ()),
        Shape(5, 3, (F32,) * 4, 2, 2, guards=3 << 4),
    ),
    "windows of float16 with a border": (
        Kernel(Gemm(), ("float16",) * 2, ("float16",), ()),
        Shape(4, 3, ("float16",) * 3, 1, 2, guards=2 << 4),
    ),
}
# AMD's compiler spills registers of these, and nothing launches them there.
ATTENTION = {
    "attention": attention(),
    "gradient of attention": attention(backward=True),
}
LOOSE = re.compile(r"\.approx|\.ftz|\b(?:add|sub|mul)\.f(?:32|64)\b")


def text_of(name, **options):
    return grid_module(*(CASES | ATTENTION)[name], **options).printed()


@pytest.mark.parametrize("name", CASES | ATTENTION)
def test_every_instruction_rounds_as_ieee_says(name):
    text = ptx(text_of(name))
    assert ".visible .entry kernel(" in text
    assert LOOSE.findall(text) == []
    meets = not any(word in name for word in ("map", "gather", "scatter"))
    assert ("bar.sync" in text or "barrier.sync" in text) == meets


@pytest.mark.parametrize("architecture", FEATURES)
def test_ptxas_takes_them_without_spills(architecture):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc to assemble kernels")
    for name in CASES | ATTENTION:
        message = assemble(ptx(text_of(name), architecture), ptxas, architecture)
        assert spills(message) == [], (name, message)


def test_a_spill_is_found_whatever_its_size():
    said = "Function properties for {}\n 8 bytes stack frame, {} bytes spill stores"
    lines = [said.format(f"k{size}", size) for size in (0, 8, 40)]
    assert [line.split(":")[0] for line in spills("\n".join(lines))] == ["k8", "k40"]


def test_a_form_without_a_schedule_is_refused():
    kernel = CASES["map"][0]
    with pytest.raises(NotImplementedError, match="add to each other"):
        grid_module(kernel, Shape(1, 1, (F32, F32)))
