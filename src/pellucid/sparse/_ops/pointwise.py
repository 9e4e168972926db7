"""Pointwise ops on sparse tensors: the result's pattern follows from the declaration.

An op that is 0 wherever operand k is 0 preserves k's pattern (``mul``: the intersection
of all such). An op that is 0 where all sparse operands are 0 has the union of their
patterns (``add``, ``relu``, ``gelu``). Any other op would make all elements nonzero and
is refused. The values are the op on the values, with dense operands gathered at the
pattern. No op is named here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.conversions import (
    block_of,
    convert,
    from_grid,
    grid_of,
)
from pellucid.sparse._ops.dense import gather_dense
from pellucid.sparse._ops.parts import (
    COO,
    CSR,
    LAYOUT_NAMES,
    Parts,
    is_sparse,
    same_structure,
    split,
)
from pellucid.sparse._ops.patterns import (
    coalesced,
    coalesced_pair,
    find,
    grouped,
    indices_of,
    keys_of,
    product_of,
    take_or_zero,
    take_where,
    united,
    united_rows,
)


@functools.cache
def _declared(name: str) -> Any:
    """The pointwise declaration ``name``; None if there is none."""
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.declare.op import REGISTRY

    op = REGISTRY.get(name)
    return op if op is not None and op.kind == "pointwise" else None


def is_pointwise(op: Any) -> bool:
    """Whether the overload is declared as a function of elements."""
    return _declared(_name(op)) is not None


def _name(op: Any) -> str:
    """The name of its declaration: "add.Tensor"."""
    full_name: str = op.name()
    return full_name.removeprefix("aten::")


class _Element(NamedTuple):
    """A tensor operand, represented by its compute dtype."""

    dtype: str


def _described(value: Any) -> Any:
    """An operand as a key that distinguishes numbers of different types."""
    if not isinstance(value, Tensor):
        return type(value), value
    if value.is_complex():
        return _Element("complex64")
    if value.is_floating_point():
        return _Element("float32")
    return _Element("bool" if value.dtype is pellucid.bool else "int64")


class _Rule(NamedTuple):
    """An op's effect on patterns: whether it preserves sparsity, whether it is linear
    in its only sparse operand, and the operands whose patterns limit the result's.
    """

    keeps: bool
    is_linear: bool
    limiting: tuple[int, ...]


@functools.lru_cache(1024)
def _rule(name: str, operands: tuple[Any, ...], sparse: tuple[int, ...]) -> _Rule:
    """Derives it from the body and its numbers."""
    from pellucid_compiler.ir.expr import load
    from pellucid_compiler.transforms.represent import is_background, is_linear

    refused = _Rule(False, False, ())
    exprs = [
        load(k, (), each.dtype) if isinstance(each, _Element) else each[1]
        for k, each in enumerate(operands)
    ]
    try:
        found = _declared(name).scalar_body(*exprs)
    except (TypeError, AttributeError, ValueError):  # of dtypes or layouts as options
        return refused
    outputs = found if isinstance(found, tuple) else (found,)

    def keeps(absent: Sequence[int]) -> bool:
        return all(is_background(body, absent) for body in outputs)

    if not keeps(sparse):
        return refused
    alone = len(sparse) == len(outputs) == 1
    limiting = tuple(k for k in sparse if keeps([k]))
    return _Rule(True, alone and is_linear(outputs[0], sparse[0]), limiting)


class Pointwise:
    """The rule of one overload, for ``answer.py``."""

    def __init__(self, op: Any, name: str) -> None:
        arguments = op._schema.arguments
        self.op, self.name = op, name
        self.names = [argument.name for argument in arguments]
        self.num_positional = sum(not argument.kwarg_only for argument in arguments)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the op on partly sparse arguments; NotImplemented if refused."""
        given = [*args, *(kwargs[name] for name in self.names[len(args) :])]
        tensors = [k for k, value in enumerate(given) if isinstance(value, Tensor)]
        sparse = tuple(k for k in tensors if is_sparse(given[k]))
        try:
            rule = _rule(self.name, tuple(map(_described, given)), sparse)
        except TypeError:  # lists are not hashable, and no op with a list is pointwise
            return NotImplemented
        if not rule.keeps:
            return _refused(self.name, [given[k] for k in sparse])
        if len(tensors) > 1:
            given = _with_one_size(self.op, given, tensors, sparse)
        first = given[sparse[0]]
        for k in sparse:
            given[k] = given[k] if rule.is_linear else coalesced(given[k])
            if given[k].layout is not first.layout:
                given[k] = convert(given[k], first.layout, _block_of(first))
        every = [split(given[k]) for k in sparse]
        pattern, values = _joined(every, [sparse.index(k) for k in rule.limiting])
        for k, value in zip(sparse, values, strict=True):
            given[k] = value
        others = [k for k in tensors if k not in sparse and given[k].dim()]
        for k in others:
            given[k] = gather_dense(given[k], pattern)
        found = self._values(given)
        if not others and all(same_structure(pattern, parts) for parts in every):
            pellucid._C._repeat_on_parts()
        if isinstance(found, tuple):
            return tuple(pattern.with_values(each) for each in found)
        return pattern.with_values(found)

    def _values(self, given: list[Any]) -> Any:
        count = self.num_positional
        if count == len(given):
            return self.op(*given)
        return self.op(
            *given[:count], **dict(zip(self.names[count:], given[count:], strict=True))
        )


def _refused(name: str, operands: Sequence[Tensor]) -> Any:
    """NotImplemented for COO tensors; PyTorch has kernels for compressed ones, which
    raise at the layout of their result.
    """
    layouts = [each.layout for each in operands if each.layout is not COO]
    if not layouts:
        return NotImplemented
    raise RuntimeError(
        f"{name}: unsupported tensor layout: {LAYOUT_NAMES[layouts[0]]}, since the op "
        "keeps no pattern that its result would have.\n"
        "Compute it densely: tensor.to_dense()"
    )


@functools.cache
def of(op: Any) -> Pointwise:
    """The rule of a pointwise overload."""
    return Pointwise(op, _name(op))


def _block_of(tensor: Tensor) -> tuple[int, int]:
    return block_of(split(tensor.detach()))


def _with_one_size(
    op: Any, given: list[Any], tensors: list[int], sparse: Sequence[int]
) -> list[Any]:
    """Dense operands expanded to the size of the sparse ones, which must agree."""
    size, name = given[sparse[0]].shape, op._schema.name.partition("::")[2]
    first_dims = pellucid._C._sparse_kind(given[sparse[0]])[0]
    for k in sparse[1:]:
        other = given[k]
        if other.shape != size:
            raise RuntimeError(
                f"{name}: expected sizes of 'self' and 'other' to match, but "
                f"{list(size)} != {list(other.shape)}"
            )
        dims = pellucid._C._sparse_kind(other)[0]
        if dims != first_dims:
            raise RuntimeError(
                f"{name}: expected 'self' and 'other' to have same density, but 'self' "
                f"has {first_dims} sparse dimensions while 'other' has {dims} "
                "sparse dimensions"
            )
    found = list(given)
    for k in tensors:
        if k not in sparse and given[k].dim():
            if pellucid.broadcast_shapes(given[k].shape, size) != size:
                raise RuntimeError(
                    f"{name}: a sparse tensor of size {list(size)} is not expanded to "
                    f"that of the dense operand, {list(given[k].shape)}"
                )
            found[k] = given[k].expand(size)
    return found


def _joined(every: list[Parts], limiting: list[int]) -> tuple[Parts, list[Tensor]]:
    """The result's pattern, and the values of each operand at it."""
    first = every[0]
    if len(every) == 1 or all(same_structure(first, other) for other in every[1:]):
        return first, [parts.values for parts in every]
    if not limiting and len(every) == 2 and _are_by_rows(every):
        return _united_by_rows(*every)
    grids = [_sorted_grid(parts) for parts in every]
    _require_one_grid(grids)
    keys = [keys_of(g.indices, g.sparse_size) for g in grids]
    if not limiting and len(every) == 2:
        found, *places = united(*keys)
        values = [
            take_or_zero(g.values, at) for g, at in zip(grids, places, strict=True)
        ]
    else:
        if limiting:
            found = _limited([keys[k] for k in limiting])
        else:
            found = _united(keys, product_of(grids[0].sparse_size))
        values = [
            take_where(g.values, *find(found, own))
            for g, own in zip(grids, keys, strict=True)
        ]
    grid = grids[0]
    made = Parts(
        *(COO, grid.size, grid.sparse_dims, True),
        (indices_of(found, grid.sparse_size),),
        values[0],
    )
    pattern, layout = None, first.layout
    for k, each in enumerate(values):  # column-major order differs
        whole = split(from_grid(made._replace(values=each), layout, first.size))
        pattern, values[k] = pattern or whole, whole.values
    assert pattern is not None
    return pattern, values


def _are_by_rows(every: list[Parts]) -> bool:
    return all(p.layout is CSR and p.structure[0].dim() == 1 for p in every)


def _united_by_rows(first: Parts, second: Parts) -> tuple[Parts, list[Tensor]]:
    """``_joined`` of two CSR matrices, whose columns are sorted in each row."""
    given = [(parts.structure[0], parts.structure[1]) for parts in (first, second)]
    pointers, columns, *places = united_rows(*given)
    values = [
        take_or_zero(parts.values, at)
        for parts, at in zip((first, second), places, strict=True)
    ]
    return first._replace(structure=(pointers, columns), values=values[0]), values


def _sorted_grid(parts: Parts) -> Parts:
    """The elements of a coalesced tensor as COO, in the order of their keys."""
    grid = grid_of(parts)
    if grid.is_coalesced:
        return grid
    indices, values = coalesced_pair(grid.indices, grid.values, grid.sparse_size)
    return grid._replace(is_coalesced=True, structure=(indices,), values=values)


def _united(keys: list[Tensor], positions: int) -> Tensor:
    return grouped(pellucid.cat(keys)[None], [positions]).indices[0]


def _limited(keys: list[Tensor]) -> Tensor:
    found = keys[0]
    for other in keys[1:]:
        found = found[find(found, other)[1]]
    return found


def _require_one_grid(grids: list[Parts]) -> None:
    sizes = {grid.size for grid in grids}
    if len(sizes) > 1:
        raise RuntimeError(
            f"sparse operands are divided into different blocks: {sorted(sizes)}; "
            "convert "
            "them to one layout and blocksize"
        )
