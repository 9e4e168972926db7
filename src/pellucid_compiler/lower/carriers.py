"""Kernels that only move elements, as kernels of integers of the same size.

To move a bfloat16, an 8-bit float or an opaque element is to move its bits: a kernel of
uint8, int16, int32 or int64 does it, which the pack has anyway. NaN bits are preserved.
Called where plans and pointwise functions get their kernels.
"""

from __future__ import annotations

from dataclasses import replace

from pellucid_compiler.codegen.kernel import Kernel, Map, Nest, Store
from pellucid_compiler.ir.dtypes import number_bits
from pellucid_compiler.ir.expr import Expr, const, intern_expr
from pellucid_compiler.ir.offers import CARRIER, moves_only


def carried(kernel: Kernel) -> Kernel:
    """The equivalent kernel of integers, or ``kernel``."""
    form = kernel.form
    if not any(d in CARRIER for d in (*kernel.inputs, *kernel.outputs)):
        return kernel
    memo: dict[Expr, Expr] = {}
    if isinstance(form, Map):
        if not moves_only(form.values):
            return kernel
        made: Map | Nest = Map(tuple(_carried(e, memo) for e in form.values))
    elif isinstance(form, Nest) and form.combine == "assign":
        if not moves_only([e for store in form.stores for e in store.exprs]):
            return kernel
        stores = tuple(
            Store(
                tuple(_carried(i, memo) for i in store.index),
                _carried(store.value, memo),
                store.drop,
            )
            for store in form.stores
        )
        made = replace(form, stores=stores)
    else:
        return kernel
    inputs, outputs = (
        tuple(CARRIER.get(d, d) for d in group)
        for group in (kernel.inputs, kernel.outputs)
    )
    return Kernel(made, inputs, outputs, kernel.params)


def _carried(e: Expr, memo: dict[Expr, Expr]) -> Expr:
    if e not in memo:
        args = tuple(_carried(a, memo) for a in e.args)
        dtype = CARRIER.get(e.dtype, e.dtype)
        if e.op == "const" and dtype != e.dtype:
            memo[e] = const(number_bits(e.attr, e.dtype), dtype)
        else:
            memo[e] = intern_expr(e.op, args, e.attr, dtype)
    return memo[e]
