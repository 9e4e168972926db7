"""``contract``: functions that change how a module is computed but not its names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from pellucid import nn

__all__: list[str] = []

_STATES, _REGISTRY = "_composable_states", "_composable_registry"


class _State:
    """What a composable function stores for a module: any attributes."""


class RegistryItem(NamedTuple):
    """A function that was applied to a module."""


def _names(module: nn.Module) -> list[list[str]]:
    return [
        [name for name, _ in module.named_parameters()],
        [name for name, _ in module.named_buffers()],
        [name for name, _ in module.named_modules()],
    ]


def contract(state_cls: type[Any] = _State) -> Callable[[Any], Any]:
    """Decorates a function of a module, or of several: it may be applied to a module
    once, must keep all names, and ``function.state(module)`` is its state there.
    """

    def decorate(function: Any) -> Any:
        @wraps(function)
        def apply(module: Any, *args: Any, **kwargs: Any) -> Any:
            is_one = isinstance(module, nn.Module)
            modules: Sequence[nn.Module] = [module] if is_one else module
            state, before = state_cls(), [_names(each) for each in modules]
            for each in modules:
                states = each.__dict__.setdefault(_STATES, {})
                registry = each.__dict__.setdefault(_REGISTRY, OrderedDict())
                if function in states:
                    raise AssertionError(
                        "Each distinct composable distributed API can only be applied "
                        f"to a module once. {function.__name__} has already been "
                        f"applied to the following module:\n{each}"
                    )
                states[function] = state
                registry[function.__name__] = RegistryItem()
            updated = function(module, *args, **kwargs)
            made = modules if updated is None else updated
            made = [made] if isinstance(made, nn.Module) else made
            for names, each in zip(before, made, strict=True):
                if _names(each) != names:
                    raise RuntimeError(
                        f"{function.__name__} changed the names of {type(each)}'s "
                        "parameters, buffers or modules, which a composable function "
                        "must keep"
                    )
            return updated

        def state_of(module: nn.Module) -> Any:
            return module.__dict__.get(_STATES, {}).get(function)

        apply.state = state_of  # type: ignore[attr-defined]
        return apply

    return decorate


def _get_registry(module: nn.Module) -> dict[str, RegistryItem] | None:
    """The composable functions applied to a module, by name; None if there are
    none.
    """
    return module.__dict__.get(_REGISTRY)
