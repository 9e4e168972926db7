"""Indexing by 0-d tensors, for functions under vmap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pellucid
from pellucid.overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """A scope in which ``x[i, j]`` gathers, whether i and j are numbers or tensors.

    Outside, a 0-d index tensor selects a view, for which its value is read; values of
    tensors under vmap cannot be read.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is pellucid.Tensor.__getitem__:
            x, index = args
            indices = index if isinstance(index, tuple | list) else (index,)
            if all(isinstance(i, pellucid.Tensor | int) for i in indices):
                given = [pellucid.as_tensor(i, device=x.device) for i in indices]
                return pellucid.ops.aten.index(x, given)
        return func(*args, **(kwargs or {}))
