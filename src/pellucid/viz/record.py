"""Records the module and the source line of each op during forward.

A `TorchFunctionMode` sees every call and writes into the ``metadata`` of the autograd
nodes that it made. Called by users around a forward pass; collect.py reads the notes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from pellucid._tensor import Tensor
from pellucid.nn.modules._module_path import ModulePath
from pellucid.overrides import TorchFunctionMode

NOTE = "pellucid.viz"
_PACKAGE = str(Path(__file__).resolve().parents[1])


class record(TorchFunctionMode):
    """A scope in which nodes are given the module and the line that made them.

    Module names are those of the outermost module called, with its class in front:
    ``Net.layers.0``.
    """

    def __init__(self) -> None:
        self._modules = ModulePath()

    def __enter__(self) -> record:
        self._modules.__enter__()
        super().__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        super().__exit__(exc_type, exc_val, exc_tb)
        self._modules.__exit__()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        path = self._modules.names
        note = {
            "module": path[-1] if path else "",
            "source": caller(),
        }
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor) and tensor.grad_fn is not None:
                _mark(tensor.grad_fn, note)
        return result


def is_leaf(node: Any) -> bool:
    """Whether it only adds to a leaf's ``.grad``."""
    return str(node.name()).endswith("AccumulateGrad")


def _mark(node: Any, note: dict[str, str]) -> None:
    """Records it on the nodes that a call added: those without a record."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node is None or is_leaf(node) or NOTE in node.metadata:
            continue
        node.metadata[NOTE] = note
        waiting += (next_node for next_node, _ in node.next_functions)


def caller() -> str:
    """``"file.py:12 function"`` of the innermost frame outside the package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    code = frame.f_code
    return f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_name}"
