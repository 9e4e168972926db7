"""A segment: deferred calls, and the key that selects the function that runs them.

A value is a numbered tensor: an input of the segment, which has data, or a result,
which has none. Arguments are stored with ``Value`` and ``Number`` in place of tensors
and numbers, so that a call can run on twins without data, run on results of other
calls, or become a node.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.nn import Parameter


class Value(NamedTuple):
    """A placeholder for a tensor."""

    number: int


class Number(NamedTuple):
    """A placeholder for an int or float."""

    place: int


class Call(NamedTuple):
    """One call; ``results`` has the structure of its return value."""

    func: Any
    description: Any
    args: Any
    kwargs: Any
    results: Any
    writes: bool
    place: Any


class NotRecordable(Exception):
    """Raised for an argument that a graph cannot represent."""


_CONSTANTS: Final = (
    *(type(None), bool, str, bytes, complex, type(Ellipsis)),
    *(pellucid.dtype, pellucid.device, pellucid.layout, pellucid.memory_format),
)
_UNUSED: Final = (
    2  # references to a result that the program dropped: ours, getrefcount's
)


class Segment:
    """The calls recorded since the last graph break."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.tensors: list[Tensor | None] = []  # inputs; None for results
        self.twins: list[Tensor] = []  # without data; of a result, the result
        self.numbers: list[int | float] = []
        self.sizes: list[int] = []  # of the inputs, in order
        self.key: list[Any] = []
        self.written: set[int] = set()
        self.grad_mode = pellucid.is_grad_enabled()
        self.last_grad_mode = self.grad_mode
        self._known: dict[int, int] = {}

    def find(self, tensor: Tensor) -> int | None:
        """The number of a tensor, if it has one."""
        return self._known.get(id(tensor))

    def is_result(self, tensor: Tensor) -> bool:
        number = self._known.get(id(tensor))
        return number is not None and self.tensors[number] is None

    def inputs(self) -> Iterator[tuple[int, Tensor]]:
        """Numbers and tensors, in order of first use."""
        for number, tensor in enumerate(self.tensors):
            if tensor is not None:
                yield number, tensor

    def held_results(self) -> list[int]:
        """The results that the program still holds."""
        twins, tensors = self.twins, self.tensors
        return [
            number
            for number in range(len(twins))
            if tensors[number] is None and sys.getrefcount(twins[number]) > _UNUSED
        ]

    # Recording

    def mark(self) -> tuple[int, ...]:
        """A mark for ``forget``."""
        parts = (self.key, self.numbers, self.sizes, self.tensors)
        return tuple(map(len, parts))

    def forget(self, mark: tuple[int, ...]) -> None:
        """Discards what was stored since the mark."""
        keys, numbers, sizes, tensors = mark
        del self.key[keys:], self.numbers[numbers:], self.sizes[sizes:]
        for number in range(tensors, len(self.tensors)):
            for tensor in (self.tensors[number], self.twins[number]):
                self._known.pop(id(tensor), None)
        del self.tensors[tensors:], self.twins[tensors:]

    def store(self, value: Any) -> Any:
        """``value`` with placeholders for tensors and numbers; extends the key."""
        kind = type(value)
        if kind is int or kind is float:
            self.key.append(kind)
            self.numbers.append(value)
            return Number(len(self.numbers) - 1)
        if isinstance(value, Tensor):
            number = self._known.get(id(value))
            number = self._add_input(value) if number is None else number
            self.key.append(number)
            return Value(number)
        if isinstance(value, _CONSTANTS):
            self.key.append((kind, value))
            return value
        if kind is slice:
            self.key.append(slice)
            return slice(*map(self.store, (value.start, value.stop, value.step)))
        if kind is dict:
            self.key.append((dict, tuple(value)))
            return {name: self.store(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            self.key.append((kind, len(value)))
            stored = [self.store(item) for item in value]
            return stored if kind is list else tuple(stored)
        if isinstance(value, pellucid.Generator):
            self.key.append(value)
            return value
        raise NotRecordable(f"an argument is a {kind.__name__}")

    def _add_input(self, tensor: Tensor) -> int:
        if type(tensor) not in (Tensor, Parameter) or tensor.is_sparse:
            raise NotRecordable(f"a tensor is a {type(tensor).__name__}")
        if tensor.device.type != "cpu":
            raise NotRecordable(f"a tensor is on {tensor.device}")
        dense = tensor.is_contiguous()
        self.key.append(
            (
                *(type(tensor), tensor.dtype, tensor.dim(), tensor.requires_grad),
                None if dense else tensor.stride(),
            )
        )
        self.sizes.extend(tensor.shape)
        return self._add(tensor, _twin(tensor))

    def _add(self, tensor: Tensor | None, twin: Tensor) -> int:
        number = len(self.twins)
        self.tensors.append(tensor)
        self.twins.append(twin)
        self._known[id(twin)] = number
        if tensor is not None:
            self._known[id(tensor)] = number
        return number

    def take_results(self, result: Any) -> tuple[Any, Any]:
        """The result of a call on twins: for the program, and with placeholders."""
        if isinstance(result, Tensor):
            if type(result) is not Tensor:
                raise NotRecordable(f"a result is a {type(result).__name__}")
            number = self._known.get(id(result))
            number = self._add(None, result) if number is None else number
            original = self.tensors[number]
            return result if original is None else original, Value(number)
        if not isinstance(result, tuple | list):
            return result, None
        pairs = [self.take_results(item) for item in result]
        stored = [place for _, place in pairs]
        if all(a is b for (a, _), b in zip(pairs, result, strict=True)):
            return result, stored
        return type(result)(item for item, _ in pairs), stored

    # Running

    def run(self) -> dict[int, Tensor]:
        """The values, computed by running the calls in order."""
        values: dict[int, Any] = dict(self.inputs())
        for call in self.calls:
            args = self.fill(call.args, values.__getitem__)
            kwargs = self.fill(call.kwargs, values.__getitem__)
            note_results(call.results, call.func(*args, **kwargs), values)
        return values

    def fill(self, stored: Any, tensor_of: Callable[[int], Any]) -> Any:
        """Stored arguments with placeholders replaced by tensors and numbers."""
        return fill(stored, tensor_of, self.numbers.__getitem__)


def fill(stored: Any, tensor_of: Any, number_of: Any) -> Any:
    """``stored`` with Values and Numbers replaced by the functions."""
    kind = type(stored)
    if kind is Value:
        return tensor_of(stored.number)
    if kind is Number:
        return number_of(stored.place)
    if kind is tuple:
        return tuple(fill(item, tensor_of, number_of) for item in stored)
    if kind is list:
        return [fill(item, tensor_of, number_of) for item in stored]
    if kind is dict:
        return {k: fill(item, tensor_of, number_of) for k, item in stored.items()}
    if kind is slice:
        parts = (stored.start, stored.stop, stored.step)
        return slice(*(fill(part, tensor_of, number_of) for part in parts))
    return stored


def note_results(stored: Any, result: Any, values: dict[int, Any]) -> None:
    """Stores the tensors of a result under their numbers."""
    if type(stored) is Value:
        values[stored.number] = result
    elif type(stored) is list:
        for place, item in zip(stored, result, strict=True):
            note_results(place, item, values)


def _twin(tensor: Tensor) -> Tensor:
    """The twin of a tensor, without data; a leaf only if the tensor is one."""
    twin = pellucid.empty_strided(
        tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta"
    )
    if not tensor.requires_grad:
        return twin
    if tensor.is_leaf:
        return twin.requires_grad_()
    source = pellucid.empty((), dtype=tensor.dtype, device="meta", requires_grad=True)
    with pellucid.enable_grad():
        return twin.copy_(source)
