"""Methods of Tensor about memory: layouts, addresses, new and shared storage.

Imported lazily (``_package/calls/offered.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import _C
from pellucid._package.calls import offered
from pellucid._package.calls.deprecation import deprecated
from pellucid._package.calls.namesakes import namesake
from pellucid._tensor import Tensor


@offered.method
def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype: uninitialised with these sizes, with this data, or
    an alias of another tensor.
    """
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int | pellucid.Size):
        return self.new_tensor(args[0], device=device)
    sizes = args[0] if args and isinstance(args[0], pellucid.Size) else args
    return self.new_empty(sizes or (0,), device=device)


@offered.method
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dims from the largest stride to the smallest; expanded dims keep their
    positions.

    ``ambiguity_check`` raises RuntimeError if the order is ambiguous: two strides are
    equal, or a dim has size 1. With a list of memory formats the check passes if the
    tensor is contiguous in exactly one of them.

    Example: ``torch.empty(2, 3).t().dim_order()`` is ``(1, 0)``.
    """
    strides = self.stride()
    if ambiguity_check is not False:
        _check_order(self, strides, ambiguity_check)
    spread = [d for d in range(self.dim()) if strides[d]]
    ordered = iter(sorted(spread, key=lambda d: (-strides[d], -self.shape[d])))
    return tuple(next(ordered) if strides[d] else d for d in range(self.dim()))


def _check_order(x: Tensor, strides: Sequence[int], formats: Any) -> None:
    if formats is True:
        formats = []
    is_list = isinstance(formats, list)
    if not is_list or not all(isinstance(f, pellucid.memory_format) for f in formats):
        raise TypeError(
            "The ambiguity_check argument must be a bool or a list of memory formats."
        )

    def is_in(form: Any) -> bool:
        return x.is_contiguous(memory_format=form)

    if (len({*strides}) < x.dim() or 1 in x.shape) and sum(map(is_in, formats)) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of "
            f"the given memory formats: its shape is {tuple(x.shape)}, its strides are "
            f"{tuple(strides)}, the formats are {formats}."
        )
    if 0 in strides or (x.is_contiguous() and is_in(pellucid.channels_last)):
        raise RuntimeError(
            "The tensor does not have unique dim order. Its shape is "
            f"{tuple(x.shape)}, its strides are {tuple(strides)}."
        )


@offered.method
@namesake("PyTorch's method is a view; the op of this name copies")
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """Deprecated: ``view`` to sizes with the same number of elements."""
    deprecated("resize", "reshape, or resize_ in place")
    return self.contiguous().view(*sizes)


@offered.method
@namesake("PyTorch's method is a view; the op of this name copies")
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """``resize`` to the sizes of ``tensor``."""
    deprecated("resize_as", "reshape_as, or resize_as_ in place")
    return self.contiguous().view(tensor.size())


@offered.method
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for reading."""
    return self.data_ptr()


@offered.method
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """A module's parameter after ``load_state_dict`` of ``other``: the parameter with
    the values of ``other``, or ``other`` detached if ``assign``.
    """
    return other.detach() if assign else self.copy_(other).detach()


def record_stream(self: Tensor, stream: Any) -> None:
    """The body of the op ``record_stream``."""
    if self.device.type in ("cpu", "meta"):
        raise RuntimeError(
            "record_stream needs an accelerator's tensor; this one is on "
            f"{self.device.type}: leave the call out"
        )
    if stream.device != self.device:
        raise RuntimeError(
            f"record_stream: the tensor is on {self.device} and the stream of "
            f"{stream.device}; give a stream of the tensor's device"
        )
    _C._record_stream(self, stream.stream_id)
