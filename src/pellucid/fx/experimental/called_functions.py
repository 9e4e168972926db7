"""Records the public function that made a node: ``node.meta["torch_fn"]``.

``("linear_1", "builtin_function_or_method.linear")``: the function's name with the
number of the call, and its kind, which quantizers and partitioners read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

from pellucid.fx.experimental.op_tracer import PythonKeyTracer
from pellucid.overrides import TorchFunctionMode

__all__ = ["CalledFunctions"]


class CalledFunctions(TorchFunctionMode):
    """A scope in which nodes of ``tracer`` record the last called function."""

    def __init__(self, tracer: PythonKeyTracer) -> None:
        super().__init__()
        self.tracer = tracer
        self.counts: Counter[str] = Counter()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", type(func).__name__)
        self.counts[name] += 1
        kind = f"{_kind(func)}.{name}"
        self.tracer.called_function = f"{name}_{self.counts[name]}", kind
        return func(*args, **(kwargs or {}))


def _kind(func: Callable[..., Any]) -> str:
    """The name of the function's class in PyTorch."""
    kind: type = type(func)
    is_of_c = issubclass(kind, BuiltinFunctionType | MethodDescriptorType)
    return kind.__name__ if is_of_c else "function"
