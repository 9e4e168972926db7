"""Sums of products of two operands as matrix products: C = A B (+ bias).

Which axes are batch, rows, columns and depth follows from the index maps, so mm,
matmul, linear, convolution, their gradients and every transposition are one form. A
group may have several axes: the runtime packs blocks of operands without a 2-D layout.
If the only reader of the product adds a bias, rounds to half, or permutes the dims
(rounded or not), it is fused as the epilogue. Called by nodes.py; loops that do not fit
are reductions. passes/products.py rewrites loops so that they fit.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import lru_cache

from pellucid_compiler.abi.plan import (
    GemmStep,
)
from pellucid_compiler.codegen.kernel import Gemm, Kernel
from pellucid_compiler.ir.dtypes import HALF
from pellucid_compiler.ir.expr import LOADS, Expr, is_const, load_fill, load_index
from pellucid_compiler.ir.graph import Node, Uses, Value
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs
from pellucid_compiler.lower.affine import Affine, affine_map, operand
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.loops import LoopShape, loop_shape, plain_maps
from pellucid_compiler.lower.registers import fits_registers

GEMM_DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
)


WORDS = "int8", "int32"  # operands and sums; operands are converted as they are read


@dataclass(frozen=True, eq=False)
class Factor:
    """One operand of the product: a value and the axis of each of its dims."""

    value: Value
    maps: tuple[Affine, ...]
    padded: bool = False  # the value is zero-padded

    @property
    def axes(self) -> set[int]:
        return {axis for m in self.maps for axis, _ in m.coefficients}


@dataclass(frozen=True, eq=False)
class Contraction:
    """A loop that is a matrix product; axes are the loop's.

    The result's last dim follows the last column.
    """

    node: Node
    result: Value
    shape: LoopShape
    first: Factor
    second: Factor
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]

    @property
    def dtype(self) -> str:
        return self.first.value.dtype

    @property
    def has_words(self) -> bool:
        """Whether int8 operands have int32 sums."""
        return (self.dtype, self.node.outputs[0].dtype) == WORDS

    @property
    def is_matrix(self) -> bool:
        """Whether the product has rows and columns; else a reduction is as fast."""
        return bool(self.rows and self.columns)


@lru_cache(256)  # called before a node is lowered and again then
def match_contraction(node: Node) -> Contraction | None:
    """The loop as a matrix product, or None."""
    found = _matched(node)
    if found is None or not found.has_words:
        return found
    groups = found.rows, found.columns, found.depth  # the driver's are matrices
    is_plain = all(len(group) <= 1 for group in groups)
    padded = found.first.padded or found.second.padded
    return found if is_plain and not padded else None


def _matched(node: Node) -> Contraction | None:
    if node.primitive is not LOOP:
        return None
    attrs: LoopAttrs = node.attrs
    shape = loop_shape(attrs)
    if shape is None or attrs.combine != "sum" or not shape.reduced:
        return None
    factors = _factors(node, attrs.store.body)
    if factors is None or not shape.stored:
        return None
    return _arranged(node, shape, *factors)


def _factors(node: Node, body: Expr) -> tuple[Factor, Factor] | None:
    if body.op != "mul":
        return None
    found = []
    for e in body.args:
        if e.op == "cast" and (
            e.args[0].dtype in HALF or (e.args[0].dtype, e.dtype) == WORDS
        ):
            e = e.args[0]
        if e.op not in LOADS or e.dtype not in GEMM_DTYPES:
            return None
        fill = load_fill(e)
        if fill is not None and not is_const(fill, 0):
            return None
        maps = [affine_map(index) for index in load_index(e)]
        known = tuple(m for m in maps if m is not None)
        if len(known) != len(maps):
            return None
        if not all(fits_registers(m.offset) for m in known):
            return None
        found.append(Factor(node.inputs[e.attr], known, fill is not None))
    first, second = found
    return (first, second) if first.value.dtype == second.value.dtype else None


def _arranged(
    node: Node, shape: LoopShape, first: Factor, second: Factor
) -> Contraction | None:
    depth, stored = shape.reduced, shape.stored
    if not set(depth) <= first.axes & second.axes:
        return None
    last = stored[-1]
    if last in first.axes and last not in second.axes:
        first, second = second, first  # rows of C are A's: C's last dim is columns
    shared = tuple(a for a in stored if (a in first.axes) == (a in second.axes))
    rows = tuple(a for a in stored if a in first.axes and a not in second.axes)
    columns = tuple(a for a in stored if a in second.axes and a not in first.axes)
    if len(rows) + len(columns) + len(shared) != len(stored) or last not in columns:
        return None
    return Contraction(
        node, node.outputs[0], shape, first, second, shared, rows, columns, depth
    )


def reads_beyond(node: Node) -> bool:
    """Whether the loop is a product with operands that may be zero-padded."""
    found = match_contraction(node)
    return (
        found is not None
        and found.is_matrix
        and found.dtype not in HALF  # its sums may be rounded apart from it
        and node.outputs[0].dtype == found.dtype
    )


def memory_order(value: Value, uses: Uses) -> tuple[int, ...]:
    """The dims of ``value``, outermost first, in the order that suits the products that
    are its only readers: a product's columns are innermost. Empty if there is none.
    """
    orders = set()
    for node in uses.readers(value):
        found = match_contraction(node)
        orders.add(() if found is None else _order_in(value, found))
    return orders.pop() if len(orders) == 1 else ()


def _order_in(value: Value, product: Contraction) -> tuple[int, ...]:
    if product.first.value is value or product.second.value is not value:
        return ()
    along = [m.single_axis for m in product.second.maps]
    order = [*product.batch, *product.depth, *product.columns]
    known = [axis for axis in along if axis is not None]
    if len(known) < len(along) or len(set(known)) < len(known):
        return ()
    return tuple(sorted(range(len(known)), key=lambda d: order.index(known[d])))


def moved(contraction: Contraction, node: Node, order: list[int]) -> Contraction | None:
    """The product whose result is that of ``node``: its dims in another order. None if
    its last dim would belong to the batch.
    """
    axes = tuple(contraction.shape.store_axes[dim] for dim in order)
    known = [axis for axis in axes if axis is not None]
    rows, columns = contraction.rows, contraction.columns
    first, second = contraction.first, contraction.second
    if not known or known[-1] in contraction.batch:
        return None
    if known[-1] in rows:
        rows, columns, first, second = columns, rows, second, first
    return replace(
        contraction,
        result=node.outputs[0],
        shape=replace(contraction.shape, store_axes=axes),
        first=first,
        second=second,
        rows=tuple(sorted(rows, key=known.index)),
        columns=tuple(sorted(columns, key=known.index)),
    )


@dataclass(frozen=True, eq=False)
class Epilogue:
    """The only reader of the product, a map: its bias, if any, and rounding to half."""

    node: Node
    bias: Factor | None
    rounds: bool


def match_epilogue(contraction: Contraction, reader: Node) -> Epilogue | None:
    """``reader`` as the product's epilogue: an added bias, a rounding, or both."""
    if reader.primitive is not LOOP:
        return None
    attrs: LoopAttrs = reader.attrs
    shape = loop_shape(attrs)
    if shape is None or shape.reduced or shape.stored != contraction.shape.stored:
        return None
    made: LoopAttrs = contraction.node.attrs
    if any(attrs.extents[a] is not made.extents[a] for a in shape.stored):
        return None  # a part of the product
    body, rounds = attrs.store.body, False
    if body.op == "cast" and body.dtype == contraction.dtype and body.dtype in HALF:
        body, rounds = body.args[0], True
    product = contraction.node.outputs[0]
    if attrs.dtype != contraction.dtype:
        return None
    if _is_product(body, reader, product, shape):
        return Epilogue(reader, None, rounds)
    if body.op != "add":
        return None
    for one, other in (body.args, body.args[::-1]):
        if _is_product(one, reader, product, shape):
            bias = _bias(other, reader, contraction)
            if bias is not None:
                return Epilogue(reader, bias, rounds)
    return None


def rounded_order(contraction: Contraction, reader: Node) -> list[int] | None:
    """The dim of the product along which each dim of ``reader``'s result runs, if it
    permutes the product's dims and rounds to half; else None.
    """
    if reader.primitive is not LOOP or reader.outputs[0].dtype not in HALF:
        return None
    attrs: LoopAttrs = reader.attrs
    shape, body = loop_shape(attrs), attrs.store.body
    if shape is None or shape.reduced or body.op != "cast":
        return None
    e, product = body.args[0], contraction.node.outputs[0]
    if body.dtype != contraction.dtype or e.op != "load":
        return None
    dims = {index.attr: dim for dim, index in enumerate(e.args) if index.op == "axis"}
    order = [dims[axis] for axis in shape.store_axes if axis in dims]
    if reader.inputs[e.attr] is not product or len(dims) != product.rank:
        return None
    sizes = [product.shape[dim] for dim in order]
    same = map(operator.is_, sizes, reader.outputs[0].shape)
    return order if len(order) == product.rank and all(same) else None


def _is_product(e: Expr, reader: Node, product: Value, shape: LoopShape) -> bool:
    if e.op != "load" or reader.inputs[e.attr] is not product:
        return False
    axes = [i.attr if i.op == "axis" else None for i in e.args]
    return tuple(axes) == shape.store_axes


def _bias(e: Expr, reader: Node, contraction: Contraction) -> Factor | None:
    """A bias along the only axis of the rows or of the columns."""
    if e.op == "cast" and e.args[0].dtype in HALF:
        e = e.args[0]
    if e.op != "load" or e.dtype != contraction.dtype:
        return None
    value = reader.inputs[e.attr]
    maps = [affine_map(index) for index in e.args]
    known = tuple(m for m in maps if m is not None)
    if len(known) != len(maps) or len(maps) != 1:
        return None
    axis = known[0].single_axis
    alone = axis is not None and (axis,) in (contraction.rows, contraction.columns)
    return Factor(value, known) if alone else None


def emit_contraction(
    contraction: Contraction, epilogue: Epilogue | None, builder: PlanBuilder
) -> bool:
    """Emit a gemm step; False if the product's dtype needs a separate rounding."""
    attrs: LoopAttrs = contraction.node.attrs
    dtype = contraction.dtype
    result = contraction.result if epilogue is None else epilogue.node.outputs[0]
    if result.dtype != dtype and not contraction.has_words:
        return False
    groups = (
        contraction.batch,
        contraction.rows,
        contraction.columns,
        contraction.depth,
    )
    order = [axis for group in groups for axis in group]
    new_axis = {axis: k for k, axis in enumerate(order)}
    factors = [contraction.first, contraction.second]
    if epilogue is not None and epilogue.bias is not None:
        factors.append(epilogue.bias)
    read = tuple(
        operand(
            builder.number(f.value),
            [m.renumbered(new_axis) for m in f.maps],
            builder.registers,
        )
        for f in factors
    )
    axes = [None if a is None else new_axis[a] for a in contraction.shape.store_axes]
    output = operand(builder.define(result), plain_maps(axes), builder.registers)
    builder.steps.append(
        GemmStep(
            kernel=builder.use(product_kernel(dtype, result.dtype), ()),
            extents=builder.sizes(attrs.extents[axis] for axis in order),
            groups=tuple(map(len, groups)),
            output=output,
            inputs=read,
            padded=tuple(k for k, f in enumerate(factors) if f.padded),
        )
    )
    return True


def product_kernel(dtype: str, result: str) -> Kernel:
    """The matrix product of ``dtype``; the driver fills its parameters."""
    inputs = dtype, dtype, result
    return Kernel(Gemm(), inputs, (result,), ("int64", "int64"))


def product_kernels() -> dict[bytes, Kernel]:
    """The matrix products that every pack contains."""
    made = [product_kernel(dtype, dtype) for dtype in GEMM_DTYPES]
    return {kernel.kernel_id: kernel for kernel in made} | word_kernels()


def word_kernels() -> dict[bytes, Kernel]:
    """Those whose operands are words at every level."""
    kernel = product_kernel(*WORDS)
    return {kernel.kernel_id: kernel}


def bfloat16_kernels() -> dict[bytes, Kernel]:
    """Those whose operands are words if the processor can multiply these."""
    kernel = product_kernel("bfloat16", "bfloat16")
    return {kernel.kernel_id: kernel}
