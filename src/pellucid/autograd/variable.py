"""``Variable``: the former name of tensors, and its interface to the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import _C
from pellucid._tensor import Tensor

__all__ = ["Variable"]


class _ExecutionEngine:
    """The engine's functions under their former names."""

    @staticmethod
    def queue_callback(callback: Callable[[], Any]) -> None:
        """Calls `callback` when the running backward pass ends.

        Raises RuntimeError outside of backward passes.
        """
        _C._queue_callback(callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether every backward pass accumulates into all leaves it reaches."""
        valid: bool = _C._accumulates_into_all()
        return valid


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(data)``: a detached tensor over `data`'s memory."""

    _execution_engine = _ExecutionEngine()

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Any:
        return data.detach().requires_grad_(requires_grad)
