"""``Stateful``: objects that ``save`` and ``load`` handle by their own methods."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """An object with a state."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state."""


StatefulT = TypeVar("StatefulT", bound=Stateful)
