"""Pointwise ops on sparse tensors: the engine tells which patterns an op keeps.

An op that is 0 wherever operand k is keeps k's pattern (``mul``: the intersection of
all such); one that is 0 where all sparse operands are keeps their union (``add``,
``relu``, ``gelu``); any other would fill the background and is refused. The values are
then the op on the values, where a dense operand is read at the pattern. No op is named
here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.conversions import as_grid, from_grid
from pellucid.sparse._ops.dense import values_at
from pellucid.sparse._ops.parts import COO, Parts, is_sparse, same_structure, split
from pellucid.sparse._ops.patterns import (
    coalesced,
    distinct,
    find,
    indices_of,
    keys_of,
)


@functools.cache
def _declared(name: str) -> Any:
    """The pointwise declaration ``name``; None if there is none."""
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.declare.op import REGISTRY

    op = REGISTRY.get(name)
    return op if op is not None and op.kind == "pointwise" else None


def is_pointwise(name: str) -> bool:
    """Whether ``name`` ("add.Tensor") is declared as a function of elements."""
    return _declared(name) is not None


class _Body:
    """A body with its numbers: what follows for operands that are absent."""

    def __init__(self, name: str, given: Sequence[Any]) -> None:
        from pellucid_compiler.ir.expr import load

        exprs = [
            load(k, (), _compute_dtype(value)) if isinstance(value, Tensor) else value
            for k, value in enumerate(given)
        ]
        found = _declared(name).scalar_body(*exprs)
        self.outputs = found if isinstance(found, tuple) else (found,)

    def keeps(self, absent: Sequence[int]) -> bool:
        from pellucid_compiler.transforms.represent import is_background

        return all(is_background(body, absent) for body in self.outputs)

    def is_linear(self, operand: int) -> bool:
        from pellucid_compiler.transforms.represent import is_linear

        return len(self.outputs) == 1 and is_linear(self.outputs[0], operand)


def _compute_dtype(tensor: Tensor) -> str:
    if tensor.is_complex():
        return "complex64"
    if tensor.is_floating_point():
        return "float32"
    return "bool" if tensor.dtype is pellucid.bool else "int64"


def apply(op: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The op on these arguments, some of them sparse; NotImplemented if refused."""
    given = _in_schema_order(op, args, kwargs)
    tensors = [k for k, value in enumerate(given) if isinstance(value, Tensor)]
    sparse = [k for k in tensors if is_sparse(given[k])]
    try:
        body = _Body(name, given)
    except (TypeError, AttributeError, ValueError):  # of dtypes or layouts as options
        return NotImplemented
    if not body.keeps(sparse):
        return NotImplemented
    given = _with_one_size(op, given, tensors, sparse)
    if len(sparse) == 1 and body.is_linear(sparse[0]):
        parts = split(given[sparse[0]])
    else:
        given = [coalesced(v) if is_sparse(v) and v.is_sparse else v for v in given]
        parts = _common_pattern(given, sparse, body)
    values = [
        _at(value, parts) if k in tensors else value for k, value in enumerate(given)
    ]
    found = _call(op, values)
    if isinstance(found, tuple):
        return tuple(parts.with_values(each) for each in found)
    return parts.with_values(found)


def _in_schema_order(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    names = [argument.name for argument in op._schema.arguments]
    return [*args, *(kwargs[name] for name in names[len(args) :])]


def _call(op: Any, values: Sequence[Any]) -> Any:
    arguments = op._schema.arguments
    positional = [v for v, a in zip(values, arguments, strict=True) if not a.kwarg_only]
    named = {a.name: v for v, a in zip(values, arguments, strict=True) if a.kwarg_only}
    return op(*positional, **named)


def _with_one_size(
    op: Any, given: list[Any], tensors: list[int], sparse: list[int]
) -> list[Any]:
    """Dense operands expanded to the size of the sparse ones, which must agree."""
    size, name = given[sparse[0]].shape, op._schema.name.partition("::")[2]
    first = split(given[sparse[0]])
    for k in sparse[1:]:
        other = given[k]
        if other.shape != size:
            raise RuntimeError(
                f"{name}: expected sizes of 'self' and 'other' to match, but "
                f"{list(size)} != {list(other.shape)}"
            )
        dims = pellucid._C._sparse_kind(other)[0]
        if dims != first.sparse_dims:
            raise RuntimeError(
                f"{name}: expected 'self' and 'other' to have same density, but 'self' "
                f"has {first.sparse_dims} sparse dimensions while 'other' has {dims} "
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


def _common_pattern(given: list[Any], sparse: list[int], body: _Body) -> Parts:
    """The pattern of the result, as parts whose values do not matter."""
    every = [split(given[k]) for k in sparse]
    if all(same_structure(every[0], other) for other in every[1:]):
        return every[0]
    limiting = [k for k in sparse if body.keeps([k])]
    grids = [as_grid(given[k]) for k in (limiting or sparse)]
    _require_one_grid(grids)
    keys = [keys_of(g.indices, g.sparse_size) for g in grids]
    if limiting:
        found = keys[0]
        for other in keys[1:]:
            found = found[find(found, other.sort()[0])[1]]
        found = found.sort()[0]
    else:
        found = distinct(pellucid.cat(keys))[0]
    grid = grids[0]
    count = (len(found), *grid.values.shape[1:])
    made = Parts(
        *(COO, grid.size, grid.sparse_dims, True),
        (indices_of(found, grid.sparse_size),),
        grid.values.new_zeros(count),
    )
    return split(from_grid(made, every[0].layout, every[0].size))


def _require_one_grid(grids: list[Parts]) -> None:
    sizes = {grid.size for grid in grids}
    if len(sizes) > 1:
        raise RuntimeError(
            f"sparse operands are divided into different blocks: {sorted(sizes)}; "
            "convert "
            "them to one layout and blocksize"
        )


def _at(tensor: Tensor, pattern: Parts) -> Tensor:
    """The operand's elements at the pattern; a number of no dims is itself."""
    if not is_sparse(tensor) and not tensor.dim():
        return tensor
    return values_at(tensor, pattern)
