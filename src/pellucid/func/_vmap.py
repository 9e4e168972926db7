"""vmap: a function of one example over a batch of them.

The examples' tensors become batched tensors of a new level; what the function computes
with them is computed for all at once by rules derived from the ops' declarations
(``runtime/transforms/batching.cpp``). Read ``_levels.py`` first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import pellucid
from pellucid import _C
from pellucid._package.calls import offered
from pellucid._tensor import Tensor
from pellucid.func._levels import RANDOMNESS, batch_level, unwrap
from pellucid.utils._pytree import (
    TreeSpec,
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_unflatten,
)

_Dims = int | tuple[Any, ...] | None


@offered.value
def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """``func`` over a batch: its tensors lose a dim, the results get one.

    Args:
        in_dims: the dim of the examples, for all arguments or as a tree that is a
            prefix of them; None for what all examples share.
        out_dims: the batch dim of the results, likewise.
        randomness: "error", or "different" or "same" draws for the examples.
        chunk_size: how many examples to compute at a time; None: all.

    Keyword arguments are shared by all examples. Raises ValueError for dims that do
    not fit the arguments, and RuntimeError where ``func`` depends on values (``item``,
    ``nonzero``) or writes what differs between examples into a shared tensor.

    >>> batched_dot = vmap(torch.dot)
    >>> batched_dot(torch.ones(3, 5), torch.ones(3, 5))
    tensor([5., 5., 5.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            f"randomness must be 'error', 'different' or 'same', got {randomness!r}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size must be positive, got {chunk_size}")

    @wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        inputs = _Inputs(args, in_dims)
        if chunk_size is None or inputs.size <= chunk_size:
            return _run(func, inputs, kwargs, out_dims, randomness)
        parts = inputs.chunks(chunk_size)
        return _run_chunks(func, parts, kwargs, out_dims, randomness)

    return batched


class _Inputs:
    """The leaves of the arguments, each with its dim of examples or None."""

    def __init__(self, args: tuple[Any, ...], in_dims: Any) -> None:
        if not isinstance(in_dims, int | tuple):
            raise ValueError(
                "vmap: in_dims must be an int or a tree that matches the arguments, "
                f"got {type(in_dims).__name__}"
            )
        if not args:
            raise ValueError("vmap: the function was called without arguments")
        self.leaves, self.spec = tree_flatten(args)
        found = _broadcast_to_and_flatten(in_dims, self.spec)
        if found is None:
            raise ValueError(
                f"vmap: in_dims {in_dims} does not fit the structure of the arguments, "
                f"{self.spec}: give one int or a tree that is a prefix of it"
            )
        pairs = zip(self.leaves, found, strict=True)
        self.dims = [_checked_dim(leaf, dim) for leaf, dim in pairs]
        self.size = self._common_size()

    def _common_size(self) -> int:
        pairs = zip(self.leaves, self.dims, strict=True)
        sizes = [leaf.shape[dim] for leaf, dim in pairs if dim is not None]
        if not sizes:
            raise ValueError(
                "vmap: in_dims names no dim to map over: at least one must not be None"
            )
        if len(set(sizes)) > 1:
            raise ValueError(
                f"vmap: the mapped dims have the sizes {sizes}; they must be equal"
            )
        return int(sizes[0])

    def with_leaves(self, leaves: list[Any]) -> _Inputs:
        part = object.__new__(_Inputs)
        part.leaves, part.spec, part.dims = leaves, self.spec, self.dims
        part.size = part._common_size()
        return part

    def chunks(self, chunk_size: int) -> list[_Inputs]:
        parts = []
        for start in range(0, self.size, chunk_size):
            length = min(chunk_size, self.size - start)
            leaves = [
                leaf if dim is None else leaf.narrow(dim, start, length)
                for leaf, dim in zip(self.leaves, self.dims, strict=True)
            ]
            parts.append(self.with_leaves(leaves))
        return parts

    def batched(self, level: int) -> Any:
        leaves = [
            leaf if dim is None else _C._make_batched(leaf.movedim(dim, 0), level)
            for leaf, dim in zip(self.leaves, self.dims, strict=True)
        ]
        return tree_unflatten(leaves, self.spec)


def _checked_dim(leaf: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"vmap: in_dims must hold ints and None, got {dim!r}")
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"vmap: in_dims is {dim} for an argument of type {type(leaf).__name__}: "
            "only tensors are mapped; give it the dim None"
        )
    rank = leaf.dim()
    if not -rank <= dim < rank:
        raise ValueError(
            f"vmap: in_dims is {dim} for a tensor of {rank} dimensions; "
            f"expected one of {-rank} to {rank - 1}"
        )
    return dim % rank


def _run(
    func: Callable[..., Any],
    inputs: _Inputs,
    kwargs: dict[str, Any],
    out_dims: Any,
    randomness: str,
) -> Any:
    with batch_level(inputs.size, randomness) as level:
        outputs, spec = tree_flatten(
            _C._call_transformed(func, *inputs.batched(level), **kwargs)
        )
        dims = _output_dims(out_dims, spec)
        results = [
            _result(output, dim, level, inputs.size)
            for output, dim in zip(outputs, dims, strict=True)
        ]
    return tree_unflatten(results, spec)


def _output_dims(out_dims: Any, spec: TreeSpec) -> list[Any]:
    dims = tuple(out_dims) if isinstance(out_dims, list) else out_dims
    found = _broadcast_to_and_flatten(dims, spec)
    if found is None and isinstance(dims, tuple) and len(dims) == 1 and spec.is_leaf():
        found = list(dims)
    if found is None:
        raise ValueError(
            f"vmap: out_dims {out_dims} does not fit the structure of the results, "
            f"{spec}"
        )
    for dim in found:
        if dim is not None and not isinstance(dim, int):
            raise ValueError(f"vmap: out_dims must hold ints and None, got {dim!r}")
    return found


def _result(output: Any, dim: int | None, level: int, size: int) -> Tensor:
    """A result of all examples, with their dim at ``dim``."""
    if not isinstance(output, Tensor):
        raise ValueError(
            "vmap: the function must return tensors, but one of its results is a "
            f"{type(output).__name__}"
        )
    found = unwrap(output)
    is_batched = found is not None and found.level == level
    if dim is None:
        if found is not None and is_batched and found.uniform:
            return found.value[0]
        if is_batched:
            raise ValueError(
                "vmap: out_dims is None for a result that differs between examples"
            )
        return output
    value = found.value if found is not None and is_batched else None
    if value is None:
        value = output.unsqueeze(0).expand(size, *output.shape)
    rank = value.dim()
    if not -rank <= dim < rank:
        raise IndexError(
            f"vmap: out_dims is {dim} for a result of {rank} dimensions with the "
            f"examples; expected one of {-rank} to {rank - 1}"
        )
    return value.movedim(0, dim) if dim % rank else value


def _run_chunks(
    func: Callable[..., Any],
    parts: list[_Inputs],
    kwargs: dict[str, Any],
    out_dims: Any,
    randomness: str,
) -> Any:
    state = pellucid.get_rng_state() if randomness == "same" else None
    results = []
    for part in parts:
        if state is not None:
            pellucid.set_rng_state(state)
        results.append(tree_flatten(_run(func, part, kwargs, out_dims, randomness)))
    spec = results[0][1]
    dims = _output_dims(out_dims, spec)
    joined = [
        pieces[0] if dim is None else pellucid.cat(pieces, dim)
        for dim, *pieces in zip(dims, *(leaves for leaves, _ in results), strict=True)
    ]
    return tree_unflatten(joined, spec)
