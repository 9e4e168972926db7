"""Ops whose arguments are functions: ``torch.ops.higher_order.cond`` and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pellucid._package.lazy_exports import take_offers

if TYPE_CHECKING:
    from pellucid._higher_order_ops import register_library

REGISTRY: dict[str, HigherOrderOperator] = {}


class HigherOrderOperator:
    """A callable with a name that graphs record; subclasses define ``__call__``."""

    namespace = "higher_order"

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.__module__ = "torch.ops.higher_order"
        self.__qualname__ = name
        REGISTRY[name] = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the op computes."""
        raise NotImplementedError(f"{self._name} does not define __call__")

    def name(self) -> str:
        """The name, as ``torch.ops.higher_order`` has it."""
        return self._name

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<HigherOrderOperator(name='{self._name}')>"

    def __deepcopy__(self, memo: dict[int, Any]) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return by_name, (self._name,)


def by_name(name: str) -> HigherOrderOperator:
    """A registered op. Raises AttributeError if there is none."""
    register_library()
    if name not in REGISTRY:
        raise AttributeError(f"there is no higher-order op {name!r}")
    return REGISTRY[name]


take_offers("_ops.higher_order", globals())
