"""The package's own windows: ``hann_window`` and its like, periodic by default.

Older forms of ``pellucid.signal.windows``. Functions of the package, imported when
first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import Tensor
from pellucid.signal import windows


def _old_form(name: str) -> Callable[..., Tensor]:
    window = getattr(windows, name)

    def old_form(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **options: Any,
    ) -> Tensor:
        if window_length < 0:
            raise RuntimeError(f"{name}_window of {window_length} points")
        result: Tensor = window(
            window_length,
            sym=not periodic,
            dtype=dtype,
            device=device,
            requires_grad=requires_grad,
        )
        return result

    old_form.__name__ = f"{name}_window"
    old_form.__doc__ = f"``signal.windows.{name}``, periodic unless told otherwise."
    return old_form


bartlett_window = _old_form("bartlett")
blackman_window = _old_form("blackman")
hann_window = _old_form("hann")


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Any,
) -> Tensor:
    """``alpha - beta cos(2 π k / steps)``."""
    options.pop("layout", None)
    options.pop("pin_memory", None)
    weights = [alpha, beta]
    return windows.general_cosine(window_length, a=weights, sym=not periodic, **options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Tensor:
    """``signal.windows.kaiser``, periodic unless told otherwise."""
    options.pop("layout", None)
    options.pop("pin_memory", None)
    return windows.kaiser(window_length, beta=beta, sym=not periodic, **options)
