"""What a program's ops read of each other: results that repeat earlier ones, and
elements that nothing reads.

Runs in a child process (`child.py`). Every op outside of backward passes is a node.
Its *number* is a hash of the op, its arguments and the numbers of the tensors that it
reads: equal numbers are equal values, so the later op repeats the earlier one, also
through views and with a graph. `needed.py` then goes backwards from what is read.
Times are of the CPU, without this module's own. `rules/unread.py` and
`rules/repeated_work.py` read the answer.
"""

from __future__ import annotations

import sys
import time
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from types import FrameType
from typing import Any

import pellucid as torch
from pellucid import _C
from pellucid.overrides import TorchFunctionMode
from pellucid.profiler._timeline.log import Line
from pellucid.utils._python_dispatch import TorchDispatchMode

Place = tuple[str, int]
SECONDS = 1.5  # of the CPU, at the most
_OPS, _HELD = 40_000, 1 << 29  # ops and bytes after which enough is seen
_HASHED = 1 << 20  # bytes of a tensor from outside that is known by its contents
_FRAMES = 40


@dataclass(frozen=True)
class View:
    """A tensor as a part of a storage: ``key`` of that, and its geometry."""

    key: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any


@dataclass
class Node:
    """An op that ran: ``arguments`` with tensors as `View`; ``results``; ``index``:
    the arguments of an op that indexes; ``has_graph``: a backward pass may read it;
    ``alive``: weak references to what it returned; ``stack``: the program's lines, the
    innermost first.
    """

    op: Any
    arguments: tuple[Any, ...]
    results: list[View]
    stack: tuple[Place, ...]
    seconds: float
    is_again: bool
    has_graph: bool = False
    index: Any = None
    alive: list[Any] = field(default_factory=list)

    @property
    def reads(self) -> list[View]:
        """The tensors among its arguments."""
        return list(_views(self.arguments))


@dataclass
class Stored:
    """A storage: the number of its contents at a version; ``owner`` keeps its address
    from being used again; ``maker``: the place of its node, -1 without; ``is_written``:
    an op wrote into it later; ``cuts``: the parts taken of it, with their lines.
    """

    number: int
    version: int
    owner: Any
    maker: int = -1
    is_written: bool = False
    cuts: list[tuple[float, Place]] = field(default_factory=list)


class Enough(BaseException):
    """Ends the run."""


class Flow(TorchDispatchMode):
    """Records while it is entered, for some seconds of the CPU; then raises `Enough`.
    ``read``: the tensors that Python read.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        super().__init__()
        self._seconds, self._held, self._own = seconds, 0, 0.0
        self._fresh = count(1)
        self._numbers: dict[Any, int] = {}
        self._begin = time.process_time()
        self._files: dict[Any, bool] = {}
        self.nodes: list[Node] = []
        self.stored: dict[int, Stored] = {}
        self.read: list[View] = []

    @property
    def seconds(self) -> float:
        """Of the CPU, without this object's own."""
        return max(time.process_time() - self._begin - self._own, 1e-9)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        begin = time.process_time()
        if _C._current_graph_task_id() != -1:
            result = func(*args, **kwargs)
            self._forget(func, args, result)
            self._own += 1e-6
            return result
        if begin - self._begin > self._seconds or self._is_full():
            raise Enough
        arguments = self._known((*args, *sorted(kwargs.items())))
        drawn = torch.get_rng_state() if _may_draw(func) else None
        start = time.process_time()
        result = func(*args, **kwargs)
        end = time.process_time()
        is_random = drawn is not None and (
            kwargs.get("generator") is not None
            or not torch.equal(drawn, torch.get_rng_state())
        )
        given = args, kwargs, is_random or _is_undefined(func)
        self._note(func, arguments, given, result, end - start)
        self._own += time.process_time() - end + start - begin
        return result

    def _is_full(self) -> bool:
        return len(self.nodes) > _OPS or self._held > _HELD

    def _forget(self, func: Any, args: Any, result: Any) -> None:
        """What a backward pass made or wrote is new; its root is read."""
        for tensor in _tensors(result):
            if self._known_storage(tensor) is None:
                self._store(tensor, next(self._fresh))
        for tensor in written_by(func, args):
            self._write(tensor, next(self._fresh))
        if not self.read or func is torch.ops.aten.ones_like.default:
            self.read += [v for v in map(self.view, _tensors(args)) if v is not None]

    def view(self, tensor: Any) -> View | None:
        """A tensor's part of its storage, which is remembered; None of tensors without
        one.
        """
        try:
            storage = tensor.untyped_storage()
            key, offset = storage._cdata, tensor.storage_offset()
            strides = tuple(tensor.stride())
        except (RuntimeError, NotImplementedError):
            return None
        known = self.stored.get(key)
        version = -1 if tensor.is_inference() else tensor._version
        if known is None or (known.version != version and known.maker < 0):
            known = self._store(tensor, self._contents(tensor))
            assert known is not None
        elif known.version != version:  # written where this object did not see it
            known.number, known.version = next(self._fresh), version
            known.is_written = True
        return View(key, offset, tuple(tensor.shape), strides, tensor.dtype)

    def _contents(self, tensor: Any) -> int:
        """The number of a tensor from outside."""
        storage = tensor.untyped_storage()
        if storage.nbytes() > _HASHED or tensor.device.type != "cpu":
            return next(self._fresh)
        try:
            whole = torch.empty(0, dtype=torch.uint8).set_(storage)
            key = "contents", storage.nbytes(), zlib.crc32(whole.numpy().tobytes())
        except (RuntimeError, TypeError):
            return next(self._fresh)
        return self._number(key)

    def _number(self, key: Any) -> int:
        if key not in self._numbers:
            self._numbers[key] = next(self._fresh)
        return self._numbers[key]

    def _store(self, tensor: Any, number: int, maker: int = -1) -> Stored | None:
        try:
            storage = tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):
            return None
        version = -1 if tensor.is_inference() else tensor._version
        if storage._cdata not in self.stored:
            self._held += storage.nbytes()
        made = Stored(number, version, storage, maker)
        self.stored[storage._cdata] = made
        return made

    def _known_storage(self, tensor: Any) -> Stored | None:
        try:
            return self.stored.get(tensor.untyped_storage()._cdata)
        except (RuntimeError, NotImplementedError):
            return None

    def _known(self, value: Any) -> Any:
        """Arguments with views for tensors."""
        if isinstance(value, torch.Tensor):
            return self.view(value)
        if isinstance(value, list | tuple):
            return tuple(map(self._known, value))
        return value

    def _key(self, func: Any, arguments: Any) -> Any:
        """Equal for equal values; None of arguments that cannot be compared."""

        def key(value: Any) -> Any:
            if isinstance(value, View):
                return self.stored[value.key].number, value.offset, *_geometry(value)
            if isinstance(value, tuple):
                return tuple(map(key, value))
            return type(value), value

        made = func, key(arguments)
        try:
            hash(made)
        except TypeError:
            return None
        return made

    def _note(
        self, func: Any, arguments: Any, given: Any, result: Any, took: float
    ) -> None:
        args, kwargs, is_new = given
        key = None if is_new else self._key(func, arguments)
        is_again = key in self._numbers
        number = next(self._fresh) if key is None else self._number(key)
        written = written_by(func, args, kwargs)
        read = list(_views(arguments))
        keys = {view.key for view in read}
        outputs = [t for t in _tensors(result) if t is not None]
        stack = self._stack()
        node = Node(func, arguments, [], stack, took, is_again)
        place = len(self.nodes)
        for tensor in written or ():
            self._write(tensor, number)
        for k, tensor in enumerate(outputs):
            try:
                own = tensor.untyped_storage()._cdata
            except (RuntimeError, NotImplementedError):
                self.read += read  # nothing is known of what it reads
                continue
            if own in keys:
                self._cut(tensor, read, stack)
            else:
                self._store(tensor, self._number((number, k)), place)
                node.results.append(self.view(tensor))  # type: ignore[arg-type]
            if not written:
                node.alive.append((weakref.ref(tensor), self.view(tensor)))
        inputs = list(_tensors(args))
        if torch.is_grad_enabled():
            node.has_graph = any(tensor.requires_grad for tensor in inputs)
        if indexes(func):
            named = {name: _detached(value) for name, value in kwargs.items()}
            node.index = _detached(args[1:]), named
        if node.results or written or node.alive:
            self.nodes.append(node)

    def _write(self, tensor: Any, number: int) -> None:
        """A tensor's storage has other contents now."""
        known = self._known_storage(tensor)
        if known is not None:
            known.number = self._number((known.number, number, tensor.storage_offset()))
            known.version = -1 if tensor.is_inference() else tensor._version
            known.is_written = True

    def _cut(self, tensor: Any, read: list[View], stack: tuple[Place, ...]) -> None:
        """A view of a part: its line is where a part is taken."""
        for whole in read:
            known = self.stored[whole.key]
            size = max(size_of(whole), 1)
            if stack and whole.key == tensor.untyped_storage()._cdata:
                part = tensor.numel() / size
                if part < 1 and len(known.cuts) < 64:
                    known.cuts.append((part, stack[0]))

    def _stack(self) -> tuple[Place, ...]:
        frame: FrameType | None = sys._getframe(2)
        found: list[Place] = []
        for _ in range(_FRAMES):
            if frame is None:
                break
            code = frame.f_code
            is_user = self._files.get(code)
            if is_user is None:
                line = Line(code.co_filename, "", 0, 0)
                is_user = line.is_user and "-packages/" not in code.co_filename
                self._files[code] = is_user
            if is_user and frame.f_lineno is not None:
                found.append((code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return tuple(found)


class Reads(TorchFunctionMode):
    """Tells a flow which tensors Python reads: ops whose results are no tensors."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._flow = flow

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name in _OF_GEOMETRY or any(True for _ in _tensors(result)):
            return result
        begin = time.process_time()
        given = _tensors((args, tuple((kwargs or {}).values())))
        views = [self._flow.view(tensor) for tensor in given]
        self._flow.read += [view for view in views if view is not None]
        self._flow._own += time.process_time() - begin
        return result


# What Python asks of a tensor without its values; attributes come as ``__get__``.
_OF_GEOMETRY = frozenset(
    ("dim", "size", "stride", "numel", "__len__", "__get__", "is_floating_point")
)


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors in arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)


def _detached(value: Any) -> Any:
    """Arguments whose tensors are other objects: what is held here is not held."""
    if isinstance(value, list | tuple):
        return type(value)(map(_detached, value))
    return value.detach() if isinstance(value, torch.Tensor) else value


def _views(value: Any) -> Iterator[View]:
    if isinstance(value, View):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _views(one)


def _geometry(view: View) -> tuple[Any, ...]:
    return view.sizes, view.strides, view.dtype


def size_of(view: View) -> int:
    size = 1
    for length in view.sizes:
        size *= length
    return size


@cache
def _may_draw(func: Any) -> bool:
    """Whether an op may draw random numbers: dropout does not in evaluation."""
    return torch.Tag.nondeterministic_seeded in func.tags


@cache
def _is_undefined(func: Any) -> bool:
    """Whether an op's results are what was in memory."""
    name: str = func._schema.name
    return name.startswith(("aten::empty", "aten::new_empty"))


@cache
def _places_written(func: Any) -> tuple[tuple[int, str], ...]:
    return tuple(
        (place, argument.name)
        for place, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def written_by(func: Any, args: Any, kwargs: Any = None) -> list[Any]:
    """The tensors that an op writes."""
    found: list[Any] = []
    for place, name in _places_written(func):
        value = args[place] if place < len(args) else (kwargs or {}).get(name)
        found += _tensors(value)
    return found


def writes(func: Any) -> bool:
    """Whether an op writes into an argument."""
    return bool(_places_written(func))


@cache
def indexes(func: Any) -> bool:
    """Whether an op only picks elements of its first tensor, by a tensor of indices."""
    names = [
        argument.name
        for argument in func._schema.arguments
        if "Tensor" in str(argument.type)
    ]
    is_by_index = {"index", "indices"} & set(names)
    others = {"src", "source", "values", "value", "offsets", "output_size"} & set(names)
    return bool(is_by_index) and not others and not _places_written(func)
