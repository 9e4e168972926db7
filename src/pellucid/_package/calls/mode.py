"""``Mode``: the base of the modes of ``overrides`` and ``utils._python_dispatch``."""

from __future__ import annotations

from types import TracebackType
from typing import Any, ClassVar, Self


class Mode:
    """A scope that intercepts calls while it is on one of the thread's stacks of
    modes.
    """

    _push: ClassVar[staticmethod[[Any], None]]
    _pop: ClassVar[staticmethod[[], Any]]

    def __enter__(self) -> Self:
        self._push(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """A new mode, to be entered with ``with``."""
        return cls(*args, **kwargs)
