"""``get_ctx``: the context of functions given to ``register_fake``.

Whoever runs ops on tensors without data and knows symbolic sizes (a FakeTensorMode)
sets the context by ``use_context``. Used by ``custom_ops.py`` and ``register.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class FakeContext(Protocol):
    """The interface of ``get_ctx``'s result."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that only the data tells, within the given range."""


class _WithoutSizes:
    """The context of a call on ``device="meta"``: there are no symbolic sizes."""

    def __init__(self, qualname: str) -> None:
        self._qualname = qualname

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        raise RuntimeError(
            f"Attempted to call get_ctx() for the meta implementation for "
            f"{self._qualname}: on device='meta' no size can depend on data\nUse a "
            "FakeTensorMode, or call the op on tensors with data."
        )

    new_size = create_unbacked_symint = new_dynamic_size


_running: list[FakeContext] = []
_makers: list[Callable[[str], FakeContext]] = []


def get_ctx() -> FakeContext:
    """The context of the function given to ``register_fake`` that runs now; its
    ``new_dynamic_size(min=0, max=None)`` is a size that only the data tells.

    RuntimeError outside of such a function.
    """
    if not _running:
        raise RuntimeError(
            "get_ctx() can only be called inside of a function that was given to "
            "register_fake"
        )
    return _running[-1]


@contextmanager
def use_context(maker: Callable[[str], FakeContext]) -> Iterator[None]:
    """For a block, ``maker(op's name)`` makes what ``get_ctx`` gives."""
    _makers.append(maker)
    try:
        yield
    finally:
        _makers.pop()


def fake_kernel(qualname: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel for tensors without data that runs ``function``."""

    def run(*args: Any, **kwargs: Any) -> Any:
        maker: Callable[[str], FakeContext] = _makers[-1] if _makers else _WithoutSizes
        _running.append(maker(qualname))
        try:
            return function(*args, **kwargs)
        finally:
            _running.pop()

    return run
