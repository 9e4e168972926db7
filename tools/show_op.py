"""Print the Graph of an op and of its VJP: ``python tools/show_op.py softplus
f32[3,4]``.

Arguments are Python literals; ``f32[3,4]`` is a tensor. A pointwise op is
printed as its Graph of elements too.
"""

import re
import sys

import numpy

from pellucid_compiler import catalogue as ops  # noqa: F401
from pellucid_compiler import passes, transforms
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.elements import show_elements

NAMES = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool"}


def argument(text: str):
    """The literal, with an array of ones for each ``f32[3,4]``."""
    called = re.sub(r"\b([fiucb])(\d*)\[([\d,]*)\]", r"ones('\1', '\2', [\3])", text)
    return eval(called, {"ones": ones})


def ones(kind: str, bits: str, sizes: list):
    """An array of ones, of dtype ``f32`` and the like."""
    return numpy.ones(sizes, NAMES[kind] + bits)


def main(name: str, *given: str) -> None:
    matches = [op for key, op in REGISTRY.items() if name in (key, op.name)]
    if not matches:
        sys.exit(f"no op {name}; the registry has {', '.join(sorted(REGISTRY))}")
    op = matches[0]
    call = op.specialise(*map(argument, given))
    traced = op.trace(call.key, call.env)
    print(op.schema.text, "\n", traced.graph, "\nguards:", traced.guards)
    needs_grad = [v.differentiable for v in traced.nominal.inputs]
    if any(needs_grad) and any(v.differentiable for v in traced.nominal.outputs):
        back = traced.backward(needs_grad).graph
        print(back)
        print(passes.fuse(back))
    if op.kind == "pointwise":
        elements = op.element_graph(call.key)
        moving = [k for k, v in enumerate(elements.inputs) if v.differentiable]
        print(show_elements(elements))
        print(show_elements(transforms.backward(elements, moving)))


if __name__ == "__main__":
    main(*sys.argv[1:])
