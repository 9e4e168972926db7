"""The functional form of each optimizer class, by which hooks find it."""

from __future__ import annotations

from typing import Any

from pellucid.distributed.optim import functional_optimizers as functional
from pellucid.optim import Optimizer

__all__ = ["as_functional_optim"]

functional_optim_map: dict[type[Optimizer], Any] = {
    kind._kind: kind for kind in functional.FunctionalOptimizer.__subclasses__()
}


def register_functional_optim(key: type[Optimizer], optim: Any) -> None:
    """Adds a functional form, unless the class has one."""
    functional_optim_map.setdefault(key, optim)


def as_functional_optim(optim_cls: type[Optimizer], *args: Any, **kwargs: Any) -> Any:
    """The functional form of an optimizer without parameters: ``step_param`` adds
    them. ValueError if the class has none.
    """
    try:
        kind = functional_optim_map[optim_cls]
    except KeyError as error:
        raise ValueError(
            f"Optimizer {optim_cls} does not have a functional counterpart!"
        ) from error
    return kind([], *args, **kwargs, _allow_empty_param_list=True)
