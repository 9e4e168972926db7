"""Sums of products in the form that matrix products take: two plain strided loads.

A convolution loads beyond its image; the gradient of a strided one adds into
overlapping places. Here a load beyond an operand becomes a load of a padded copy,
unless the product's kernels do not need one, and a product that is added at computed
places becomes a product followed by the additions. Kernels multiply half-precision
operands if the sum is rounded to half; otherwise the operands are converted first. The
lowering runs this after fusion. Read next: lower/contraction.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pellucid_compiler.ir.affine import simplify
from pellucid_compiler.ir.build import emit_loop, emit_map, over_values
from pellucid_compiler.ir.dtypes import HALF, is_float
from pellucid_compiler.ir.expr import (
    AXES,
    LOADS,
    Expr,
    axis,
    cast,
    is_const,
    load,
    load_fill,
    load_index,
    padded_load,
)
from pellucid_compiler.ir.graph import Graph, Node, Uses, Value
from pellucid_compiler.ir.kinds import has_plain_store
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs, Store
from pellucid_compiler.ir.traversal import axes_of, loads, rewrite, substitute
from pellucid_compiler.passes.additions import emit_addition, is_linear, reach
from pellucid_compiler.passes.bounds import conjuncts, is_bound


class Product(NamedTuple):
    """A loop that adds ``first * second``; loads name Values."""

    extents: tuple[Expr, ...]
    store: Store
    first: Expr
    second: Expr


def split_products(graph: Graph, reads_beyond: Callable[[Node], bool]) -> Graph:
    """``graph`` with the operands of every matrix product made plain loads, unless
    ``reads_beyond`` says that the product may load beyond its operands.
    """
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    uses = Uses(graph.nodes, graph.outputs)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        inputs = [env[v] for v in node.inputs]
        product = _product(node, inputs) if node.primitive is LOOP else None
        if product is None:
            g.copy_node(node, env)
        else:
            product = _converted(g, product, _rounded_dtype(node, uses))
            env[node.outputs[0]] = _emit_product(
                g, product, node.attrs.shape, reads_beyond
            )
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


# ------------------------------------------------------------------ recognition


def _product(node: Node, inputs: Sequence[Value]) -> Product | None:
    """The loop as a matrix product of two operands, or None."""
    attrs: LoopAttrs = node.attrs
    if attrs.combine != "sum" or len(attrs.stores) != 1 or attrs.init is not None:
        return None
    store = attrs.stores[0]
    if any(loads(i) for i in store.place):
        return None
    body = _with_padding(over_values(store.body, inputs))
    if body.op != "mul" or not is_float(body.dtype):
        return None
    first, second = body.args
    if not _is_strided(first) or not _is_strided(second):
        return None
    stored = axes_of(*store.place)
    reduced = set(range(len(attrs.extents))) - stored
    a, b = axes_of(first), axes_of(second)
    if not reduced or not reduced <= a & b or a | b != stored | reduced:
        return None
    if not (a - b and b - a):
        return None
    return Product(attrs.extents, store._replace(body=body), first, second)


def _is_strided(factor: Expr) -> bool:
    """Whether it is a load at affine indices, possibly padded or converted."""
    while factor.op == "cast":
        factor = factor.args[0]
    if factor.op not in LOADS:
        return False
    fill = load_fill(factor)
    return (fill is None or is_const(fill, 0)) and all(
        map(is_linear, load_index(factor))
    )


def _with_padding(body: Expr) -> Expr:
    """``f(x[i]) if 0 <= i < n else 0`` as a padded load, if the condition is exactly
    that, and ``f`` is a product or converts one of its operands.
    """
    if body.op == "mul":
        factors = [_with_padding(factor) for factor in body.args]
        is_same = all(a is b for a, b in zip(factors, body.args, strict=True))
        return body if is_same else factors[0] * factors[1]
    if body.op != "select" or not is_const(body.args[2], 0):
        return body
    tests = list(conjuncts(body.args[0]))
    left, inner = set(tests), body.args[1]
    if inner.op != "mul" and not _is_strided(inner):
        return body
    for e in loads(inner):
        fill = load_fill(e)
        own = [c for c in tests if is_bound(c, load_index(e), e.attr.shape)]
        if not own or not (fill is None or is_const(fill, 0)):
            continue
        padded = padded_load(e.attr, load_index(e), 0, e.dtype)
        inner = substitute(inner, {e: padded})
        left.difference_update(own)
    return body if left else _with_padding(inner)


# ------------------------------------------------------------------ half precision


def _rounded_dtype(node: Node, uses: Uses) -> str | None:
    """The dtype to which the only reader of a product rounds it; None without one, or
    if results are first summed in float32.
    """
    reader = uses.only_reader(node.outputs[0])
    if not has_plain_store(node.attrs) or reader is None:
        return None
    if reader.primitive is not LOOP or len(reader.attrs.stores) != 1:
        return None
    body = reader.attrs.store.body
    return body.dtype if body.op == "cast" and body.dtype in HALF else None


def _converted(g: Graph, product: Product, rounded: str | None) -> Product:
    """``product`` with operands that kernels can multiply: both half precision, if
    their sum is rounded to it, else neither.
    """
    factors = product.first, product.second
    stored = {e.args[0].dtype if e.op == "cast" else e.dtype for e in factors}
    if stored == {rounded} or not stored & set(HALF):
        return product
    first, second = (_converted_copy(g, e) for e in factors)
    return product._replace(first=first, second=second)


def _converted_copy(g: Graph, factor: Expr) -> Expr:
    """A half-precision operand as a load of a converted copy."""
    e = factor.args[0] if factor.op == "cast" else factor
    if factor is e or e.dtype not in HALF:
        return factor
    value: Value = e.attr
    copy = emit_map(
        g, value.shape, lambda *p: cast(load(value, p, value.dtype), factor.dtype)
    )
    if load_fill(e) is None:
        return load(copy, load_index(e), copy.dtype)
    return padded_load(copy, load_index(e), 0, copy.dtype)


# ------------------------------------------------------------------ emission


def _emit_product(
    g: Graph,
    product: Product,
    shape: tuple[Expr, ...],
    reads_beyond: Callable[[Node], bool],
) -> Value:
    extents, store = product.extents, product.store
    if has_plain_store(LoopAttrs(extents, (store,), "sum", shape)):
        padded = Store(store.place, product.first * product.second)
        whole = emit_loop(g, extents, [padded], shape=shape)
        if reads_beyond(g.nodes[-1]):
            return whole
    first = _plain_factor(g, product.first, extents)
    second = _plain_factor(g, product.second, extents)
    body = first * second
    attrs = LoopAttrs(extents, (store,), "sum", shape)
    if has_plain_store(attrs):
        return emit_loop(g, extents, [Store(store.place, body)], shape=shape)
    stored = _result_order(first, second, store.place)
    reduced = [a for a in range(len(extents)) if a not in stored]
    order = [*stored, *reduced]
    moved = {old: axis(new) for new, old in enumerate(order)}
    place = tuple(axis(k) for k in range(len(stored)))
    space = [extents[a] for a in order]
    part = emit_loop(g, space, [Store(place, _put(body, moved))])
    target = tuple(_put(i, moved) for i in store.place)
    body = load(part, [axis(k) for k in range(part.rank)], part.dtype)
    return emit_addition(g, part.shape, target, body, shape)


def _result_order(first: Expr, second: Expr, place: Sequence[Expr]) -> list[int]:
    """The stored axes as dims of the product alone: shared ones, then each operand's.

    The operand that moves along the first dim of the result comes last: its rows are
    the long ones.
    """
    stored, outer = axes_of(*place), axes_of(place[0])
    a, b = axes_of(first), axes_of(second)
    if outer <= a and not outer <= b:
        a, b = b, a
    shared = sorted(stored & a & b)
    return [*shared, *sorted(stored & a - b), *sorted(stored & b - a)]


def _put(e: Expr, place: Mapping[int, Expr]) -> Expr:
    """``e`` with its axes replaced."""
    return rewrite(
        e, lambda n, _: place.get(n.attr) if n.op == "axis" else None, within=AXES
    )


def _plain_factor(g: Graph, factor: Expr, extents: Sequence[Expr]) -> Expr:
    """``factor`` as a load that is always in bounds, possibly converted."""
    if factor.op == "cast":
        return cast(_plain_factor(g, factor.args[0], extents), factor.dtype)
    return _padded_copy(g, factor, extents) if factor.op == "padded_load" else factor


def _padded_copy(g: Graph, e: Expr, extents: Sequence[Expr]) -> Expr:
    """A plain load of a padded copy of everything that the load reads."""
    value: Value = e.attr
    fill = load_fill(e)
    assert fill is not None
    index = load_index(e)
    starts, sizes = reach(index, value.shape, extents)
    copy = emit_map(
        g,
        sizes,
        lambda *p: padded_load(
            value,
            [i + low for i, low in zip(p, starts, strict=True)],
            fill,
            value.dtype,
        ),
    )
    place = [simplify(i - low) for i, low in zip(index, starts, strict=True)]
    return load(copy, place, copy.dtype)
