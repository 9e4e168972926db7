"""``python -m pellucid.explain softsign``: an op by name, at a typical key."""

from __future__ import annotations

import argparse
import inspect
import sys

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid.explain.report import Explanation, explain_op
from pellucid_compiler.declare.op import REGISTRY, Op
from pellucid_compiler.declare.schema import Argument
from pellucid_compiler.specialise.answer import keyed_op
from pellucid_compiler.specialise.requests import TensorLike


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("op", help="a name, or a full name such as add.Tensor")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--passes", action="store_true", help="print every pass")
    parser.add_argument("--llvm", action="store_true", help="print LLVM assembly")
    parser.add_argument("--assembly", action="store_true", help="print machine code")
    options = parser.parse_args()
    found = [op for op in REGISTRY.values() if options.op in (op.name, op.full_name)]
    if not found:
        print(
            f"no op is named {options.op}; see pellucid_compiler/catalogue",
            file=sys.stderr,
        )
        return 1
    for op in found:
        explanation = explain_declaration(op, options.dtype)
        print(explanation)
        if options.passes:
            print(explanation.passes())
        if options.llvm:
            print(explanation.llvm())
        if options.assembly:
            print(explanation.assembly())
    return 0


def explain_declaration(op: Op, dtype: str) -> Explanation:
    """The op's source and what it becomes for small tensors of ``dtype``."""
    arguments = [_typical(argument, dtype) for argument in op.schema.arguments]
    try:
        source = inspect.getsource(op.function).rstrip().splitlines()
    except OSError:  # written at a prompt
        source = []
    head = [op.full_name, *(f"      {line}" for line in source)]
    return Explanation([explain_op(keyed_op(op, arguments), head)])


def _typical(argument: Argument, dtype: str) -> object:
    if argument.is_tensor:
        tensor = TensorLike(dtype, (3, 4))
        return [tensor, tensor] if argument.is_list else tensor
    if argument.has_default or argument.optional:
        return argument.default
    value = {"int": -1, "SymInt": 1, "bool": False}.get(argument.type, 0.5)
    return [value] * (argument.length or 1) if argument.is_list else value


if __name__ == "__main__":
    sys.exit(main())
