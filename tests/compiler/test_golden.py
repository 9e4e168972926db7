"""The LLVM text of a few kernels, as golden files.

``PELLUCID_UPDATE_GOLDEN=1 pytest tests/compiler/test_golden.py`` rewrites them.
"""

import os
from pathlib import Path

import pytest

from pellucid_compiler.codegen.kernel import Kernel, Map, Nest, Reduce, Store
from pellucid_compiler.codegen.targets.x86 import X86_64_V4
from pellucid_compiler.ir.expr import axis, load, make, sym
from pellucid_compiler.pack.generate import kernel_text

GOLDEN = Path(__file__).parent / "golden"
X = load(0, (), "float32")
GATHER = load(1, (load(0, (axis(0),), "int64"), axis(1)), "float32")
KERNELS = {
    "map_scale": Kernel(
        Map((X * sym("p0", "float64"),)), ("float32",), ("float32",), ("float64",)
    ),
    "map_exp": Kernel(Map((make("exp", X),)), ("float32",), ("float32",)),
    "reduce_exp_sum": Kernel(
        Reduce(make("exp", X), "sum", "float32"), ("float32",), ("float32",)
    ),
    "nest_gather": Kernel(
        Nest(2, (2, 1, 2), (Store((axis(0), axis(1)), GATHER),)),
        ("int64", "float32"),
        ("float32",),
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_text_is_the_golden_one(name):
    path = GOLDEN / f"{name}.ll"
    text = kernel_text(KERNELS[name], X86_64_V4, checked=False)
    if os.environ.get("PELLUCID_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} changed; update it if that was meant"
