"""``skip_init``: makes a module without initialising its parameters."""

from __future__ import annotations

from typing import Any

from pellucid.nn.modules.module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A ``module_cls(*args, **kwargs)`` with uninitialised parameters."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"{module_cls.__name__} is not an nn.Module")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
