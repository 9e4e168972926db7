"""Parts of a batch on several devices, and their results on one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from warnings import warn

import pellucid
from pellucid import Tensor

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: Any) -> bool:
    """Whether it is a tuple whose fields have names."""
    return (
        isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")
    )


def _rebuilt(model: Any, items: Sequence[Any]) -> Any:
    """A container as ``model``, of ``items``."""
    return type(model)(*items) if is_namedtuple(model) else type(model)(items)


def _parts_of(inputs: Any) -> Sequence[Any] | None:
    """What a container holds, a mapping pairs; None of anything else."""
    if isinstance(inputs, Mapping):
        return list(inputs.items())
    return inputs if isinstance(inputs, (tuple, list)) else None


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """One structure for each device: tensors are cut along ``dim``, and everything else
    is the same for all. A tensor with too few elements is on the first devices alone.
    """
    if isinstance(inputs, Tensor):
        parts = inputs.chunk(len(target_gpus), dim)
        return tuple(
            part.to(device) for part, device in zip(parts, target_gpus, strict=False)
        )
    items = _parts_of(inputs)
    if not items:
        return [inputs for _ in target_gpus]
    scattered = [scatter(item, target_gpus, dim) for item in items]
    return [_rebuilt(inputs, row) for row in zip(*scattered, strict=False)]


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[Any],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The arguments of a call for each device that has a part of the batch: of
    ``inputs``, if there are any.
    """
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = len(positional) or len(named)
    positional = positional or [()] * count
    named = [*named, *[{} for _ in range(count - len(named))]][:count]
    return tuple(positional), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of several devices as one on ``target_device``: tensors are joined
    along ``dim``, numbers to a vector.
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        moved = [output.to(target_device) for output in outputs]
        if first.dim() or dim:
            return pellucid.cat(moved, dim)
        warn("gather: numbers of several devices become a vector", stacklevel=2)
        return pellucid.stack(moved)
    if first is None:
        return None
    if isinstance(first, Mapping):
        if not all(len(first) == len(output) for output in outputs):
            raise ValueError("gather: all dicts must have the same number of keys")
        pairs = [
            (k, gather([o[k] for o in outputs], target_device, dim)) for k in first
        ]
        return _rebuilt(first, pairs)
    rows = zip(*outputs, strict=True)
    return _rebuilt(first, [gather(row, target_device, dim) for row in rows])
