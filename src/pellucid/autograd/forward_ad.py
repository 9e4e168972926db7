"""Forward-mode derivatives by dual tensors: a value with a tangent.

Inside a ``dual_level`` ops on dual tensors give dual results; the tangent's rules come
from the ops' declarations. ``pellucid.func.jvp`` is the same as a function transform.

>>> with dual_level():
...     y = torch.sin(make_dual(x, torch.ones_like(x)))
...     value, tangent = unpack_dual(y)     # sin(x), cos(x)
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

from pellucid import _C
from pellucid._tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_levels: list[int] = []
_current_level = -1  # read by libraries: PyTorch's levels count from 0
"""The numbers of the active levels; at most one."""


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` returns; ``tangent`` is None where it is zero."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begins a level of forward mode. Raises RuntimeError inside another one."""
    if _levels:
        raise RuntimeError(
            "levels of forward mode cannot be nested: use torch.func.jvp, which nests"
        )
    global _current_level
    _levels.append(_C._enter_forward_level())
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level: its dual tensors become their primals. Raises RuntimeError when
    none was begun.
    """
    if not _levels or level not in (None, 0):
        raise RuntimeError(
            "exit_dual_level() needs a level of forward mode, which "
            "enter_dual_level() begins"
        )
    global _current_level
    _C._leave_level(_levels.pop())
    _current_level = -1


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of ``tensor`` with a tangent of its shape, converted to its dtype.

    Raises RuntimeError outside of a level, for a tensor that already has a tangent and
    for a tangent of another shape; ValueError for a dtype without derivatives.
    """
    if not _levels or level not in (None, 0):
        raise RuntimeError("make_dual() must be called inside of a dual_level()")
    for given, what in ((tensor, "tensor"), (tangent, "tangent")):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(
                f"make_dual: the {what} must be floating-point or complex, got "
                f"{given.dtype}"
            )
    if tensor.shape != tangent.shape or tangent.is_complex() > tensor.is_complex():
        raise RuntimeError(
            f"make_dual: a tangent of {tangent.dtype} and shape {list(tangent.shape)} "
            f"was given for a tensor of {tensor.dtype} and shape {list(tensor.shape)}: "
            "the shapes must be equal, and a complex tangent has a complex tensor"
        )
    if unpack_dual(tensor).tangent is not None:
        raise RuntimeError(
            "make_dual: the tensor already has a tangent at this level; take the "
            "primal of unpack_dual(tensor)"
        )
    return _C._make_dual(tensor, tangent.to(tensor.dtype), _levels[-1])


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal and the tangent of a tensor; the tangent is None if it has none."""
    if _levels and level in (None, 0):
        found = _C._unwrap(tensor)
        if found is not None and found[0] == _levels[-1]:
            return UnpackedDualTensor(found[1], found[2])
    return UnpackedDualTensor(_C._without_dead_levels(tensor), None)


class _set_fwd_grad_enabled:
    """Switches this thread's forward mode on or off; as a context manager restores it.

    While it is off, results have no tangents.
    """

    def __init__(self, mode: bool) -> None:
        self.prev = _C._is_fwd_grad_enabled()
        _C._set_fwd_grad_enabled(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _C._set_fwd_grad_enabled(self.prev)


class dual_level:
    """The scope of forward mode: dual tensors are valid until its end."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> Any:
        exit_dual_level()
