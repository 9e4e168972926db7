"""vmap: maps a function of one example over a batch.

The inputs become batched tensors of a new level. Ops on them compute all examples at
once by rules derived from the ops' declarations (``runtime/transforms/batching.cpp``).
Read ``_levels.py`` first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from typing import Any

import pellucid
from pellucid import _C
from pellucid._package.calls import offered
from pellucid._tensor import Tensor
from pellucid._tensor.kinds import kind_of
from pellucid.func._levels import RANDOMNESS, batch_level, unwrap
from pellucid.utils._pytree import (
    TreeSpec,
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_unflatten,
)


@offered.value
def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Maps ``func`` over a dim of its arguments; the results get a batch dim.

    Args:
        in_dims: the batch dim of the arguments, as one int or a tree that is a prefix
            of them; None for arguments that all examples share.
        out_dims: the batch dim of the results, likewise.
        randomness: "error", or "different" or "same" random values for the examples.
        chunk_size: how many examples to compute at a time; None: all.

    Keyword arguments are shared by all examples. The examples of a nested or sparse
    tensor are computed one at a time; the results of nested ones are nested. Raises
    ValueError for dims that do not match the arguments, and RuntimeError if ``func``
    depends on values (``item``, ``nonzero``) or writes batched values into a shared
    tensor.

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
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
        nested = [t for t, d in _pairs(leaves, dims) if d is not None and _is_nested(t)]
        if nested:
            parts = [_narrowed(leaves, dims, k, 1) for k in range(size)]
            kind = kind_of(nested[0])
            assert kind is not None and kind.joined is not None
            join = partial(_nested_of, kind.joined)
            return _run_chunks(
                func, dims, parts, spec, kwargs, out_dims, randomness, join
            )
        if any(d is not None and _is_sparse(t) for t, d in _pairs(leaves, dims)):
            parts = [_narrowed(leaves, dims, k, 1) for k in range(size)]
            dims = [None if _is_sparse(t) else d for t, d in _pairs(leaves, dims)]
            return _run_chunks(
                func, dims, parts, spec, kwargs, out_dims, randomness, size=1
            )
        if chunk_size is None or size <= chunk_size:
            return _run(func, size, dims, leaves, spec, kwargs, out_dims, randomness)
        parts = [
            _narrowed(leaves, dims, start, min(chunk_size, size - start))
            for start in range(0, size, chunk_size)
        ]
        return _run_chunks(func, dims, parts, spec, kwargs, out_dims, randomness)

    return batched


# ``torch._functorch.vmap`` is this module: libraries with containers of tensors replace
# these functions by their own, so they are looked up at each call.


def _get_name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", repr(func))


def _process_batched_inputs(
    in_dims: Any, args: Any, func: Callable[..., Any]
) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """The batch size; the batch dim of each leaf of the arguments, or None; the leaves
    and their structure.
    """
    name = _get_name(func)
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"vmap({name}): in_dims must be an int or a tree that matches the "
            f"arguments, got {type(in_dims).__name__}"
        )
    if not args:
        raise ValueError(f"vmap({name}): the function was called without arguments")
    leaves, spec = tree_flatten(args)
    found = _broadcast_to_and_flatten(in_dims, spec)
    if found is None:
        raise ValueError(
            f"vmap({name}): in_dims {in_dims} does not fit the structure of the "
            f"arguments, {spec}: give one int or a tree that is a prefix of it"
        )
    dims = [_checked_dim(leaf, dim) for leaf, dim in zip(leaves, found, strict=True)]
    return _common_size(leaves, dims), dims, leaves, spec


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
    if _is_nested(leaf) and dim not in (0, -rank):
        raise RuntimeError(
            f"vmap: nested tensors are mapped over dim 0, not over dim {dim}"
        )
    if not -rank <= dim < rank:
        raise ValueError(
            f"vmap: in_dims is {dim} for a tensor of {rank} dimensions; "
            f"expected one of {-rank} to {rank - 1}"
        )
    return dim % rank


def _common_size(leaves: list[Any], dims: list[int | None]) -> int:
    pairs = zip(leaves, dims, strict=True)
    sizes = [leaf.size(dim) for leaf, dim in pairs if dim is not None]
    if not sizes:
        raise ValueError(
            "vmap: in_dims has no dim to map over: at least one must not be None"
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: the mapped dims have the sizes {sizes}; they must be equal"
        )
    return int(sizes[0])


def _create_batched_inputs(
    flat_in_dims: list[int | None],
    flat_args: list[Any],
    vmap_level: int,
    args_spec: TreeSpec,
) -> Any:
    """The arguments as batched tensors of a level."""
    leaves = [
        leaf if dim is None else _add_batch_dim(leaf, dim, vmap_level)
        for leaf, dim in zip(flat_args, flat_in_dims, strict=True)
    ]
    return tree_unflatten(leaves, args_spec)


def _add_batch_dim(tensor: Tensor, in_dim: int, level: int) -> Tensor:
    """``tensor`` batched at ``level`` along ``in_dim``."""
    return _C._make_batched(tensor.movedim(in_dim, 0), level)


def _run(
    func: Callable[..., Any],
    size: int,
    dims: list[int | None],
    leaves: list[Any],
    spec: TreeSpec,
    kwargs: dict[str, Any],
    out_dims: Any,
    randomness: str,
) -> Any:
    with batch_level(size, randomness) as level:
        inputs = _create_batched_inputs(dims, leaves, level, spec)
        outputs = _C._call_transformed(func, *inputs, **kwargs)
        return _unwrap_batched(outputs, out_dims, level, size, func)


def _unwrap_batched(
    batched_outputs: Any,
    out_dims: Any,
    vmap_level: int,
    batch_size: int,
    func: Callable[..., Any],
) -> Any:
    """The results of all examples, in the structure of one example's."""
    outputs, spec = tree_flatten(batched_outputs)
    name = _get_name(func)
    results = [
        _maybe_remove_batch_dim(name, output, vmap_level, batch_size, dim)
        for output, dim in zip(outputs, _output_dims(out_dims, spec), strict=True)
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


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: Any
) -> Tensor:
    """A result of all examples, with the batch dim at ``out_dim``."""
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}): the function must return tensors, but one of its results "
            f"is a {type(batched_output).__name__}"
        )
    found = unwrap(batched_output)
    is_batched = found is not None and found.level == vmap_level
    if out_dim is None:
        if found is not None and is_batched and found.uniform:
            return found.value[0]
        if is_batched:
            raise ValueError(
                f"vmap({name}): out_dims is None for a result that differs between "
                "examples"
            )
        return batched_output
    value = found.value if found is not None and is_batched else None
    if value is None:
        value = _of_all(name, batched_output, batch_size)
    rank = value.dim()
    if not -rank <= out_dim < rank:
        raise IndexError(
            f"vmap: out_dims is {out_dim} for a result of {rank} dimensions with the "
            f"examples; expected one of {-rank} to {rank - 1}"
        )
    return value.movedim(0, out_dim) if out_dim % rank else value


def _of_all(name: str, output: Tensor, size: int) -> Tensor:
    """A result that is the same for all examples, with a batch dim."""
    if not _is_sparse(output):
        return output.unsqueeze(0).expand(size, *output.shape)
    _, _, components = _C._sparse_kind(output)
    if any(unwrap(part) is not None for part in components):
        raise NotImplementedError(
            f"vmap({name}): a result is sparse, and its values differ between examples:"
            " return result.to_dense(), or its values()"
        )
    return pellucid.stack([output] * size)


def _is_sparse(value: Any) -> bool:
    return isinstance(value, Tensor) and _C._sparse_kind(value) is not None


def _narrowed(
    leaves: list[Any], dims: list[int | None], start: int, length: int
) -> list[Any]:
    """Some examples of the arguments; of a sparse one, one example without its dim."""
    return [
        leaf
        if dim is None
        else leaf[start].unsqueeze(0)
        if _is_nested(leaf)
        else leaf.select(dim, start)
        if _is_sparse(leaf)
        else leaf.narrow(dim, start, length)
        for leaf, dim in _pairs(leaves, dims)
    ]


def _is_nested(leaf: Any) -> bool:
    """Whether it is a nested tensor; libraries batch objects of their own, too."""
    return isinstance(leaf, Tensor) and leaf.is_nested


def _pairs(leaves: list[Any], dims: list[int | None]) -> Iterator[tuple[Any, Any]]:
    return zip(leaves, dims, strict=True)


def _nested_of(
    join: Callable[[Sequence[Tensor]], Tensor], pieces: Sequence[Tensor], dim: int
) -> Tensor:
    """The examples' results, each with a batch dim of size 1, as a nested tensor."""
    if dim:
        raise RuntimeError("vmap: out_dims must be 0 for nested tensors")
    return join([each.squeeze(0) for each in pieces])


def _run_chunks(
    func: Callable[..., Any],
    dims: list[int | None],
    parts: list[list[Any]],
    spec: TreeSpec,
    kwargs: dict[str, Any],
    out_dims: Any,
    randomness: str,
    join: Callable[[Sequence[Tensor], int], Tensor] = pellucid.cat,
    size: int | None = None,
) -> Any:
    state = pellucid.get_rng_state() if randomness == "same" else None
    results = []
    for leaves in parts:
        if state is not None:
            pellucid.set_rng_state(state)
        count = _common_size(leaves, dims) if size is None else size
        made = _run(func, count, dims, leaves, spec, kwargs, out_dims, randomness)
        results.append(tree_flatten(made))
    structure = results[0][1]
    joined = [
        pieces[0] if dim is None else join(pieces, dim)
        for dim, *pieces in zip(
            _output_dims(out_dims, structure),
            *(pieces for pieces, _ in results),
            strict=True,
        )
    ]
    return tree_unflatten(joined, structure)
