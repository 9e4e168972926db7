"""Switches for future behaviour of ``nn.Module`` (not Python's ``__future__``)."""

from __future__ import annotations

_overwrite_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether ``Module.to`` and the like make new Parameters instead of new data."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether ``Module.to`` and the like make new Parameters instead of new data."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Refuses True: tensors cannot swap their contents here."""
    if value:
        raise NotImplementedError(
            "Pellucid cannot swap tensors in place; leave this False, conversions "
            "then replace the parameters' data"
        )


def get_swap_module_params_on_conversion() -> bool:
    """Always False."""
    return False
