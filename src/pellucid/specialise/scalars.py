"""Pointwise ops at one key: a ScalarFunction as a map kernel and its encoding.

The runtime has promoted already when it asks: tensors come with the dtype they are
computed in, numbers with the common dtype alone. runtime/exec/scalar_functions.cpp reads
what ``encode_function`` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.compiler.encode import Encodable, encode
from pellucid.compiler.kernel import Kernel, Map
from pellucid.compiler.lower.bodies import parameter_dtype, strong
from pellucid.compiler.lower.tile import fallback_program
from pellucid.ir.dtypes import is_complex, is_float, stored_dtype
from pellucid.ir.expr import (
    Expr,
    intern_expr,
    load,
    loads,
    symbols,
    without_partials,
)
from pellucid.lang.key import Key, NumberKey, StaticKey, TensorKey
from pellucid.lang.scalar_function import ScalarFunction
from pellucid.lang.schema import Schema


@dataclass(frozen=True)
class ComputeKey:
    """A pointwise key after promotion: the common dtype and the arguments."""

    common: str
    key: Key

    def specification(self) -> Encodable:
        items: list[Encodable] = []
        for item in self.key:
            if isinstance(item, TensorKey):
                items.append(["tensor", item.dtype])
            elif isinstance(item, NumberKey):
                items.append(["number"])
            else:
                assert isinstance(item, StaticKey)
                items.append(item.value)
        return [self.common, items]


def number_key(common: str) -> NumberKey:
    """A number takes part in the category of the common dtype, whatever its own type."""
    if is_complex(common):
        return NumberKey("weakcomplex")
    return NumberKey("weakfloat" if is_float(common) else "weakint")


def compute_key(schema: Schema, items: Sequence[Any], common: str) -> ComputeKey:
    """The key of a request: per argument None, ["tensor", dtype], ["number"] or static."""
    key: list[Any] = []
    for item in items:
        if isinstance(item, list) and item[0] == "tensor":
            key.append(TensorKey(item[1], 0))
        elif isinstance(item, list) and item[0] == "number":
            key.append(number_key(common))
        elif isinstance(item, list) and item[0] == "dtype":
            key.append(StaticKey(item[1]))
        else:
            key.append(StaticKey(item))
    return ComputeKey(common, tuple(key))


@dataclass(frozen=True)
class LoweredFunction:
    """A map kernel, the argument of each operand and of each parameter."""

    kernel: Kernel
    operands: tuple[int, ...]
    params: tuple[int, ...]


def lower_function(
    function: ScalarFunction, tensor_arguments: Sequence[int], schema: Schema
) -> LoweredFunction:
    """``tensor_arguments``: which argument of the schema each operand is."""
    bodies = [without_partials(e) for e in function.outputs]
    used = list(dict.fromkeys(e.attr for e in loads(*bodies)))
    names = list(dict.fromkeys(s.attr for s in symbols(*bodies)))
    dtype_of = dict(function.params)
    arguments = {a.name: k for k, a in enumerate(schema.arguments)}

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if e.op == "load":
            return load(used.index(e.attr), (), e.dtype)
        if e.op == "sym":
            number = names.index(e.attr)
            return intern_expr("sym", (), f"p{number}", parameter_dtype(e.dtype))
        return None

    memo: dict[Expr, Expr] = {}
    values = tuple(strong(rewrite_untyped(e, leaf, memo)) for e in bodies)
    kernel = Kernel(
        Map(values),
        tuple(function.inputs[k] for k in used),
        tuple(stored_dtype(e.dtype) for e in bodies),
        tuple(parameter_dtype(dtype_of[name]) for name in names),
    )
    return LoweredFunction(
        kernel,
        tuple(tensor_arguments[k] for k in used),
        tuple(arguments[name] for name in names),
    )


def rewrite_untyped(e: Expr, leaf: Any, memo: dict[Expr, Expr]) -> Expr:
    """As ``rewrite``, but without typing the nodes again: a parameter is not weak."""
    if e not in memo:
        args = tuple(rewrite_untyped(a, leaf, memo) for a in e.args)
        new = leaf(e, args)
        memo[e] = intern_expr(e.op, args, e.attr, e.dtype) if new is None else new
    return memo[e]


def encode_function(lowered: LoweredFunction) -> bytes:
    kernel = lowered.kernel
    inputs = [
        [argument, dtype]
        for argument, dtype in zip(lowered.operands, kernel.inputs, strict=True)
    ]
    params = [
        [argument, "float64" if dtype == "float64" else "int64"]
        for argument, dtype in zip(lowered.params, kernel.params, strict=True)
    ]
    return encode(
        [
            kernel.kernel_id,
            inputs,
            list(kernel.outputs),
            params,
            fallback_program(kernel),
        ]
    )
