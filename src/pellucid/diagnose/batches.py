"""How much of a program's batches is padding, seen in the first calls of its modules.

A tensor has positions if it is 3-d, or holds integers for a module with an embedding.
It is padded along these if all rows end with one value. The first calls that the
program itself makes are looked at; then the hook is removed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

_CALLS, _LEAST = 6, 32  # calls looked at; positions of a row
_LARGEST = 1 << 22  # elements that are compared


@dataclass(frozen=True)
class Padded:
    """A batch given to a module at a line: ``size`` positions a row, of which the
    longest row uses ``longest`` and all rows on average ``mean``. ``names``: the
    caller's variables with as many rows and positions, this one first; ``value``: the
    padding, None unless it is one number; ``is_declared``: the embedding's
    ``padding_idx``.
    """

    file: str
    line: int
    size: int
    longest: int
    mean: float
    names: tuple[str, ...]
    value: int | float | None
    has_features: bool
    is_declared: bool


class Batches:
    """From `start` to `stop`, observes the first calls of modules."""

    def __init__(self) -> None:
        self.padded: list[Padded] = []
        self.rows: list[int] = []  # of the first argument of each call
        self._handle: Any = None
        self._calls = 0

    def start(self) -> None:
        """Observe from now on."""
        from pellucid.nn.modules.module import register_module_forward_pre_hook

        self._handle = register_module_forward_pre_hook(self._before_call)

    def stop(self) -> None:
        """Observe no more."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _before_call(self, module: Any, args: Any) -> None:
        frame = _caller(sys._getframe(1))
        if self._handle is None or frame is None:
            return
        indexed = _padding_indices(module)
        found = (_padding_of(value, frame, indexed) for value in args[:2])
        self.padded += [padded for padded in found if padded is not None][:1]
        self.rows += [len(value) for value in args[:1] if _has_rows(value)]
        self._calls += 1
        if self._calls >= _CALLS:
            self.stop()


def _caller(frame: FrameType | None) -> FrameType | None:
    """The program's frame that called the module; None inside another module."""
    from pellucid.profiler._timeline.log import Line

    calling = frame.f_code.co_filename if frame is not None else ""
    while frame is not None and frame.f_code.co_filename == calling:
        frame = frame.f_back
    if frame is None or frame.f_code.co_name == "forward":
        return None
    return frame if Line(frame.f_code.co_filename, "", 0, 0).is_user else None


def _has_rows(value: Any) -> bool:
    import pellucid as torch

    return isinstance(value, torch.Tensor) and value.dim() > 1


def _padding_indices(module: Any) -> set[int | None]:
    """The ``padding_idx`` of each embedding of a module."""
    from pellucid.nn import Embedding

    return {m.padding_idx for m in module.modules() if isinstance(m, Embedding)}


def _padding_of(
    value: Any, frame: FrameType, indices: set[int | None]
) -> Padded | None:
    """How a batch is padded, of which all rows could be; None for other values. The
    module has embeddings with these ``padding_idx``.
    """
    import pellucid as torch

    is_batch = isinstance(value, torch.Tensor) and value.dim() in (2, 3)
    if not is_batch or value.shape[1] < _LEAST or value.shape[0] < 2:
        return None
    if value.dim() == 2 and (
        value.dtype not in (torch.int32, torch.int64) or not indices
    ):
        return None
    if value.numel() > _LARGEST or value.device.type != "cpu":
        return None
    rows = value.numpy(force=True)  # what is recorded is the program's
    last = rows[0, -1]
    differs = rows != last
    if rows.ndim == 3:
        differs = differs.any(-1)
    lengths = (differs * np.arange(1, rows.shape[1] + 1)).max(1)
    longest, mean = int(lengths.max()), float(lengths.mean())
    if longest == int(lengths.min()):
        return None  # constant columns are not padding
    numbers = set(np.ravel(last).tolist())
    names = [
        name
        for name, other in frame.f_locals.items()
        if isinstance(other, torch.Tensor) and other.shape[:2] == value.shape[:2]
    ]
    own = [name for name in names if frame.f_locals[name] is value]
    names = list(dict.fromkeys([*own[:1], *names])) if own else []
    padding = numbers.pop() if len(numbers) == 1 else None
    return Padded(
        *(frame.f_code.co_filename, frame.f_lineno, value.shape[1], longest, mean),
        *(tuple(names), padding, value.dim() == 3),
        value.dim() == 2 and padding in indices,
    )
