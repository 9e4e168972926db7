"""Decorators of pipes: registration as methods, and determinism."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pellucid.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

_is_deterministic = [False]


class functional_datapipe:
    """Registers a pipe class as a method of all pipes:
    ``@functional_datapipe("map")``.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Any) -> Any:
        kinds = [k for k in (IterDataPipe, MapDataPipe) if _makes(cls, k)]
        if not kinds:
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
        kinds[0].register_datapipe_as_function(self.name, cls)
        return cls


def _makes(cls: Any, kind: type) -> bool:
    return isinstance(cls, type) and issubclass(cls, kind)


class guaranteed_datapipes_determinism:
    """A context in which pipes that are ``non_deterministic`` refuse to be made."""

    def __init__(self) -> None:
        self._before = _is_deterministic[0]
        _is_deterministic[0] = True

    def __enter__(self) -> None:
        """Does nothing: the context is entered by its constructor."""

    def __exit__(self, *error: object) -> None:
        _is_deterministic[0] = self._before


class non_deterministic:
    """Marks a pipe class whose order may differ from run to run, always or if a
    function of the arguments returns True.
    """

    def __init__(self, arg: type | Callable[..., bool]) -> None:
        self.cls = arg if isinstance(arg, type) else None
        self._differs: Callable[..., bool] = (
            (lambda *args, **kwargs: True) if isinstance(arg, type) else arg
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            self.cls = args[0]
            return self
        if _is_deterministic[0] and self._differs(*args, **kwargs):
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic with these arguments; it "
                "cannot be made inside guaranteed_datapipes_determinism"
            )
        return self.cls(*args, **kwargs)


def argument_validation(f: Any) -> Any:
    """``f`` itself: the types of pipes are not checked."""
    return f


def runtime_validation(f: Any) -> Any:
    """``f`` itself: the types of samples are not checked."""
    return f


@contextmanager
def runtime_validation_disabled() -> Iterator[None]:
    """A context in which the types of samples are not checked, as they never are."""
    yield
