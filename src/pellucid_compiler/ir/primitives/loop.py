"""``loop``: for every point of an iteration space, combine bodies into stored elements.

    loop(i<n, j<m)  out[store(i, j)] combine= body(i, j)

A load may gather at any index expression and a store may scatter to any, so a loop's
tangent, transpose and batching are loops, and views, pointwise ops, reductions,
contractions, indexing and pooling are all loops. The kinds of loops are in kinds.py,
their builders in build.py. A store out of bounds is an error unless it is marked
``drop``.

Read next: build.py, then transforms/jvp.py, transpose.py and batch.py for its rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pellucid_compiler.ir.dtypes import (
    HALF,
    highest,
    is_float,
    lowest,
    stored_dtype,
)
from pellucid_compiler.ir.evaluate import Evaluator, convert, storage_dtype
from pellucid_compiler.ir.expr import Expr, is_const, load_index
from pellucid_compiler.ir.graph import (
    Node,
    OutputType,
    Primitive,
    Value,
    VerificationError,
)
from pellucid_compiler.ir.show import axis_name, show_expr
from pellucid_compiler.ir.sizes import shape_value
from pellucid_compiler.ir.traversal import walk

# The NumPy ufunc of each combine; argmax and assign have none.
COMBINES: Final = {
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "and": "logical_and",
    "or": "logical_or",
    "argmax": None,
    "argmin": None,
    "assign": None,
}


class Store(NamedTuple):
    """``out[place] combine= body``; ``drop``: nothing happens out of bounds."""

    place: tuple[Expr, ...]
    body: Expr
    drop: bool = False


class LoopAttrs(NamedTuple):
    """Extents and shape are size expressions; loads name operand positions.

    ``payload`` (only argmax, argmin) is stored for the first greatest body. ``init`` is
    the position of the operand that the stores update; None: the combine's identity, or
    zeros for ``assign``. ``covered`` promises that every element is written, here or by
    the stores that follow into the same buffer, so that no fill is needed.
    """

    extents: tuple[Expr, ...]
    stores: tuple[Store, ...]
    combine: str
    shape: tuple[Expr, ...]
    payload: Expr | None = None
    init: int | None = None
    covered: bool = False

    @property
    def store(self) -> Store:
        """The only store."""
        (store,) = self.stores
        return store

    @property
    def dtype(self) -> str:
        value = self.stores[0].body if self.payload is None else self.payload
        return stored_dtype(value.dtype)


def identity(combine: str, dtype: str) -> bool | int | float:
    """The initial value of ``combine``."""
    if combine in ("max", "argmax"):
        return lowest(dtype)
    if combine in ("min", "argmin"):
        return highest(dtype)
    return {"prod": 1, "and": True, "or": False}.get(combine, 0)


class Loop(Primitive):
    name = "loop"

    def infer(self, inputs: Sequence[Value], attrs: LoopAttrs) -> list[OutputType]:
        return [(attrs.shape, attrs.dtype)]

    def exprs(self, attrs: LoopAttrs) -> list[Expr]:
        found = [*attrs.extents, *attrs.shape]
        for store in attrs.stores:
            found += [*store.place, store.body]
        return found if attrs.payload is None else [*found, attrs.payload]

    def verify(self, node: Node) -> None:
        attrs: LoopAttrs = node.attrs
        if attrs.combine not in COMBINES:
            raise VerificationError(f"loop: unknown combine {attrs.combine!r}")
        if (attrs.payload is not None) != attrs.combine.startswith("arg"):
            raise VerificationError("loop: argmax and argmin alone have a payload")
        for store in attrs.stores:
            if len(store.place) != len(attrs.shape):
                raise VerificationError(
                    f"loop: a store has {len(store.place)} indices for an output of "
                    f"rank {len(attrs.shape)}"
                )
            if attrs.payload is None and stored_dtype(store.body.dtype) != attrs.dtype:
                raise VerificationError(
                    f"loop: stores of dtypes {store.body.dtype} and {attrs.dtype}"
                )
        if attrs.init is not None:
            self._verify_init(node, attrs)
        for e in walk(*self.exprs(attrs)):
            self._verify_expr(node, attrs, e)

    def _verify_init(self, node: Node, attrs: LoopAttrs) -> None:
        init = node.inputs[attrs.init or 0]
        if init.dtype != attrs.dtype or init.rank != len(attrs.shape):
            raise VerificationError(
                f"loop: init {init.dtype} of rank {init.rank} for an output "
                f"{attrs.dtype} of rank {len(attrs.shape)}"
            )

    def _verify_expr(self, node: Node, attrs: LoopAttrs, e: Expr) -> None:
        if e.op == "axis" and not e.attr < len(attrs.extents):
            raise VerificationError(f"loop: axis {e.attr} of {len(attrs.extents)}")
        if e.op not in ("load", "padded_load"):
            return
        if not isinstance(e.attr, int) or not e.attr < len(node.inputs):
            raise VerificationError(f"loop: a load of {e.attr}, not an operand")
        operand = node.inputs[e.attr]
        if len(load_index(e)) != operand.rank or e.dtype != operand.dtype:
            raise VerificationError(
                f"loop: the load {e} ({e.dtype}) of an operand {operand.dtype} of rank "
                f"{operand.rank}"
            )
        if any(is_float(i.dtype) for i in load_index(e)):
            raise VerificationError(
                f"loop: the load {e} has an index that is not an integer"
            )

    def show(self, node: Node, names: dict[Value, str]) -> str:
        from pellucid_compiler.ir.kinds import kind_of

        attrs: LoopAttrs = node.attrs

        def show(e: Expr) -> str:
            return show_expr(e, lambda position: names[node.inputs[position]])

        space = ", ".join(
            f"{axis_name(k)}<{show(n)}" for k, n in enumerate(attrs.extents)
        )
        sign = {"sum": "+=", "prod": "*=", "assign": "="}.get(
            attrs.combine, f"{attrs.combine}="
        )
        if kind_of(node) in ("map", "view", "gather", "factory"):
            sign = "="
        stores = [
            f"[{', '.join(map(show, s.place))}]{' drop' if s.drop else ''} {sign} "
            f"{show(s.body)}"
            for s in attrs.stores
        ]
        text = f"{kind_of(node)}({space}) {'; '.join(stores)}"
        if attrs.payload is not None:
            text += f" -> {show(attrs.payload)}"
        return (
            text
            if attrs.init is None
            else f"{text} into {names[node.inputs[attrs.init]]}"
        )

    def evaluate(self, node: Node, args: list[Any], env: dict[str, Any]) -> list[Any]:
        return [_LoopRun(node, args, env).run()]


class _LoopRun:
    """One evaluation of a loop by NumPy, over the whole iteration space at once."""

    def __init__(self, node: Node, args: list[Any], env: dict[str, Any]) -> None:
        import numpy

        self.np: Any = numpy
        self.attrs: LoopAttrs = node.attrs
        self.extents = shape_value(self.attrs.extents, env)
        self.shape = shape_value(self.attrs.shape, env)
        rank = len(self.extents)
        self.grids = [
            numpy.arange(n).reshape([n if j == k else 1 for j in range(rank)])
            for k, n in enumerate(self.extents)
        ]
        self.evaluator = Evaluator(env, self.grids, args)
        self.init = None if self.attrs.init is None else args[self.attrs.init]

    def run(self) -> Any:
        plain = self._plain_axes() if len(self.attrs.stores) == 1 else None
        with self.np.errstate(all="ignore"):
            if plain is not None and self.init is None:
                result = self._reduce(plain)
            else:
                result = self._scatter()
        return self._as_stored(result).reshape(self.shape)

    def _as_stored(self, result: Any) -> Any:
        dtype = self.attrs.dtype
        if dtype in HALF:
            result = convert(self.np, result, dtype)
        return self.np.ascontiguousarray(result, storage_dtype(dtype))

    def _plain_axes(self) -> list[int | None] | None:
        """The axis of each output dim if the store is plain: distinct whole axes."""
        found: list[int | None] = []
        for index, size in zip(self.attrs.store.place, self.shape, strict=True):
            if is_const(index, 0) and size == 1:
                found.append(None)
            elif (
                index.op == "axis"
                and self.extents[index.attr] == size
                and index.attr not in found
            ):
                found.append(index.attr)
            else:
                return None
        return found

    def _reduce(self, plain: list[int | None]) -> Any:
        np, combine = self.np, self.attrs.combine
        stored = [a for a in plain if a is not None]
        rest = [a for a in range(len(self.extents)) if a not in stored]
        body = np.broadcast_to(
            self.evaluator.value(self.attrs.store.body), self.extents
        )
        flat_shape = [*(self.extents[a] for a in stored), -1]
        flat_shape[-1] = int(np.prod([self.extents[a] for a in rest], dtype=int))
        flat = np.transpose(body, stored + rest).reshape(flat_shape)
        if combine in ("argmax", "argmin"):
            assert self.attrs.payload is not None
            payload = self.evaluator.value(self.attrs.payload)
            payload = np.broadcast_to(payload, self.extents)
            payload = np.transpose(payload, stored + rest).reshape(flat_shape)
            if not flat.size:
                return np.zeros(flat.shape[:-1])
            best = getattr(np, combine)(flat, -1)[..., None]
            return np.take_along_axis(payload, best, -1)[..., 0]
        if not rest:
            return flat[..., 0]
        if combine == "assign":
            return flat[..., -1]
        dtype = flat.dtype
        ufunc = getattr(np, COMBINES[combine] or "")
        start = np.asarray(identity(combine, self.attrs.dtype)).astype(dtype)
        return ufunc.reduce(flat, axis=-1, initial=start, dtype=dtype)

    def _scatter(self) -> Any:
        np, attrs = self.np, self.attrs
        if self.init is None:
            start = identity(attrs.combine, attrs.dtype)
            out = np.full(self.shape, start, storage_dtype(attrs.dtype))
        else:
            out = np.array(self.init)
        for store in attrs.stores:
            body = self.evaluator.value(store.body)
            index = [self.evaluator.value(i) for i in store.place]
            inside: Any = np.ones(self.extents, bool)
            for dim, (i, n) in enumerate(zip(index, self.shape, strict=True)):
                ok = (i >= 0) & (i < n)
                if not store.drop and not ok.all():
                    bad = int(np.broadcast_to(i, ok.shape)[~ok].flat[0])
                    raise IndexError(
                        f"index {bad} is out of bounds for dimension {dim} with "
                        f"size {n}"
                    )
                inside = inside & ok
            place = tuple(np.broadcast_to(i, self.extents)[inside] for i in index)
            value = np.broadcast_to(body, self.extents)[inside]
            if attrs.combine == "assign":
                out[place] = value
            else:
                getattr(np, COMBINES[attrs.combine] or "").at(out, place, value)
        return out


LOOP: Final = Loop()
