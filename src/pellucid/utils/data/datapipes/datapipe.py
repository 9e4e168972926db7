"""The base classes of pipes: iterable and indexed."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any, ClassVar, TypeVar

from pellucid.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


class DataChunk(list[Any]):
    """A batch: a list of samples, which may be batches again."""

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The samples in brackets."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[Any]:
        """An iterator over the list's samples."""
        yield from self.items


class _Pipe:
    """The common base: registered functions as methods, and pickling."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    reduce_ex_hook: ClassVar[Callable[..., Any] | None] = None
    getstate_hook: ClassVar[Callable[..., Any] | None] = None

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return partial(type(self).functions[name], self)
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    @classmethod
    def register_function(cls, function_name: str, function: Any) -> None:
        """Makes ``pipe.function_name(...)`` call ``function(pipe, ...)``."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: Any = 0
    ) -> None:
        """Makes ``pipe.function_name(...)`` a pipe of this class, which reads it."""
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is "
                "already taken"
            )
        cls.register_function(function_name, cls_to_register)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Any) -> None:
        """Sets a function that replaces pickling, for traversals of pipes."""
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = hook_fn

    @classmethod
    def set_getstate_hook(cls, hook_fn: Any) -> None:
        """Sets a function that transforms the pickled state of pipes."""
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = hook_fn

    def __getstate__(self) -> Any:
        state = self.__dict__
        hook = type(self).getstate_hook
        return state if hook is None else hook(state)

    def __reduce_ex__(self, protocol: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        make = copyreg.__newobj__  # type: ignore[attr-defined]
        return make, (type(self),), self.__getstate__()

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(_Pipe, IterableDataset[_T_co]):
    """A pipe that is iterated: subclasses define ``__iter__``.

    A new iterator starts from the beginning and invalidates the previous one.

    Example::

        >>> from pellucid.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).batch(2))
        [[0, 1], [2, 3], [4]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__iter__" in vars(cls):
            made: Any = vars(cls)["__iter__"]
            cls.__iter__ = _with_one_iterator(made)  # type: ignore[method-assign]

    def reset(self) -> None:
        """Called before each new iterator; subclasses reset their state here."""

    def _claim_iterator(self) -> int:
        """The number of a new iterator; invalidates the previous ones."""
        number = (self._valid_iterator_id or 0) + 1
        self._valid_iterator_id = number
        self.reset()
        return number


def _with_one_iterator(make: Callable[[Any], Iterator[Any]]) -> Any:
    """Wraps ``__iter__``, so that a new iterator invalidates the previous one."""

    @wraps(make)
    def __iter__(self: Any) -> Iterator[Any]:
        return _checked(self, make(self), self._claim_iterator())

    return __iter__


def _checked(pipe: Any, samples: Iterator[Any], number: int) -> Iterator[Any]:
    samples = iter(samples)
    while True:
        if pipe._valid_iterator_id != number:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been "
                f"created from the same IterDataPipe: {pipe!r}\n"
                "Use `.fork()` where several readers need it."
            )
        try:
            sample = next(samples)
        except StopIteration:
            return
        except Exception as error:
            if not hasattr(error, "__notes__"):
                error.add_note(f"This exception is thrown by __iter__ of {pipe!r}")
            raise
        yield sample


class DFIterDataPipe(IterDataPipe[_T_co]):
    """A pipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[_T_co]):
    """A pipe that is indexed: subclasses define ``__getitem__``, and ``__len__``."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class _DataPipeSerializationWrapper:
    """A wrapper that is pickled as the bytes of a pipe's pickle."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getstate__(self) -> bytes:
        import pickle

        return pickle.dumps(self._datapipe)

    def __setstate__(self, state: bytes) -> None:
        import pickle

        self._datapipe = pickle.loads(state)

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(
                f"{type(self).__name__} instance doesn't have valid length"
            ) from error


class _IterDataPipeSerializationWrapper(
    _DataPipeSerializationWrapper, IterDataPipe[Any]
):
    def __init__(self, datapipe: IterDataPipe[Any]) -> None:
        super().__init__(datapipe)

    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe[Any]):
    def __getitem__(self, idx: Any) -> Any:
        return self._datapipe[idx]
