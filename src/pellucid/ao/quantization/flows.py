"""How a layer becomes an observed one, for layers that their class makes observed.

``quantize.py``, which uses such layers, gives the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_FLOWS: dict[bool, Callable[..., Any]] = {}


def use(prepare: Callable[..., Any], prepare_qat: Callable[..., Any]) -> None:
    """Sets what observes layers, and what fake-quantizes those in training."""
    _FLOWS.update({False: prepare, True: prepare_qat})


def observed(layer: Any) -> Any:
    """The layer with observers, or fake quantizers if it is in training."""
    return _FLOWS[layer.training](layer, inplace=True)
