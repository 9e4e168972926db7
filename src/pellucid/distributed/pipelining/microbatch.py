"""How a batch is split into microbatches, and outputs are merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid as torch
from pellucid.utils import _pytree as pytree

__all__ = [
    "TensorChunkSpec",
    "merge_chunks",
    "split_args_kwargs_into_chunks",
    "sum_reducer",
]


class TensorChunkSpec:
    """A tensor is split, and merged, along ``split_dim``."""

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: Sequence[int]) -> tuple[TensorChunkSpec, ...]:
        """A spec for each dim: ``args_chunk_spec=TensorChunkSpec.from_tuple((0, 1))``
        for two arguments.
        """
        return tuple(map(TensorChunkSpec, chunk_dims))

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """A spec for each name."""
        return {name: TensorChunkSpec(dim) for name, dim in chunk_dims.items()}


class _Replicate:
    """Each microbatch gets the whole value."""


class _LossReducer:
    """Outputs of microbatches are combined by a function."""

    def __init__(self, reduce_fn: Callable[[Any, Any], Any], init_value: Any) -> None:
        self.reduce_fn, self.init_value = reduce_fn, init_value


sum_reducer = _LossReducer(lambda a, b: a + b, torch.tensor(0.0))


def _is_spec(value: Any) -> bool:
    return value is None or isinstance(
        value, (TensorChunkSpec, _Replicate, _LossReducer)
    )


def _chunks(value: Any, spec: Any, count: int) -> list[Any]:
    """A value for each microbatch. Without a spec, tensors are split along dim 0."""
    is_split = spec is None or isinstance(spec, TensorChunkSpec)
    if not isinstance(value, torch.Tensor) or not is_split:
        return [value] * count
    dim = 0 if spec is None else spec.split_dim
    length = value.shape[dim]
    if not length or length % count:
        raise ValueError(
            f"a batch of {length} does not make {count} equal microbatches, whose "
            "shapes stages exchange once per step"
        )
    return list(value.tensor_split(count, dim))


def _split(values: Any, spec: Any, count: int) -> list[Any]:
    leaves, structure = pytree.tree_flatten(values)
    specs: list[Any] = [None] * len(leaves)
    if spec is not None:
        specs, _ = pytree.tree_flatten(spec, is_leaf=_is_spec)
        if len(specs) != len(leaves):
            raise ValueError(
                f"the chunk spec {spec} has {len(specs)} entries for {len(leaves)} "
                "arguments"
            )
    parts = [_chunks(x, s, count) for x, s in zip(leaves, specs, strict=True)]
    return [
        pytree.tree_unflatten([part[number] for part in parts], structure)
        for number in range(count)
    ]


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: Any = None,
    kwargs_chunk_spec: Any = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """The arguments of each microbatch. ValueError if a tensor's length is not a
    multiple of ``chunks``.
    """
    named = kwargs or {}
    ordered = None
    if kwargs_chunk_spec is not None:
        ordered = {name: kwargs_chunk_spec.get(name) for name in named}
    return (
        _split(tuple(args), args_chunk_spec, chunks),
        _split(named, ordered, chunks),
    )


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """The outputs of microbatches as one: tensors are concatenated, along dim 0 without
    a spec, and other values are those of the first microbatch.
    """
    listed = [pytree.tree_flatten(chunk) for chunk in chunks]
    structure, count = listed[0][1], len(listed[0][0])
    specs: list[Any] = [None] * count
    if chunk_spec is not None:
        specs, _ = pytree.tree_flatten(chunk_spec, is_leaf=_is_spec)
        if len(specs) != count:
            raise ValueError(f"the spec {chunk_spec} is not one of {count} outputs")
    columns = zip(*(leaves for leaves, _ in listed), strict=True)
    merged = [_merged(list(c), s) for c, s in zip(columns, specs, strict=True)]
    return pytree.tree_unflatten(merged, structure)


def _merged(values: list[Any], spec: Any) -> Any:
    if isinstance(spec, _LossReducer):
        total = spec.init_value
        for value in values:
            total = spec.reduce_fn(total, value)
        return total
    if isinstance(spec, _Replicate) or not isinstance(values[0], torch.Tensor):
        return values[0]
    return torch.cat(values, 0 if spec is None else spec.split_dim)
