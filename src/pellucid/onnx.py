"""``torch.onnx``: there is no export; programs may ask whether one is running."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["export", "is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False: nothing is exported."""
    return False


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(
        "Pellucid writes no ONNX files: save the state_dict, load it in PyTorch and "
        "export there"
    )
