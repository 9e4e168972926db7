"""Reads pickles without executing anything.

Called by ``serialization.load``. A pickle is a program for a stack machine. This
unpickler runs only the instructions that build plain data, and calls only a fixed list
of callables and the classes that the program allowed. Everything else is refused with
its name. Python's own unpickler imports and calls whatever a file names.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, NamedTuple

# Instructions whose argument is the value to push.
_PUSHED = frozenset([
    "INT", "LONG", "LONG1", "LONG4", "BININT", "BININT1", "BININT2", "FLOAT",
    "BINFLOAT", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES",
    "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "STRING", "BINSTRING",
    "SHORT_BINSTRING",
])  # fmt: skip
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": set,
}
_SMALL_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Constructor(NamedTuple):
    """An allowed function on the stack, called only by a call instruction."""

    name: str
    function: Callable[..., Any]


def known_function(value: Any) -> Any:
    """The object for a constructor that a pickle passes as an argument."""
    return value.function if isinstance(value, _Constructor) else value


class Unread:
    """An empty placeholder for an object that nothing reads."""


class Reader:
    """Runs one pickle.

    ``constructors`` maps "module name" to a function of the pickled arguments, or to a
    value that is not callable. ``persistent_load`` resolves a persistent id.
    ``allowed`` has the classes and functions, by the same names, that the program
    allows.
    """

    def __init__(
        self,
        constructors: dict[str, Any],
        persistent_load: Callable[[Any], Any],
        allowed: dict[str, Any],
    ) -> None:
        self._constructors = constructors
        self._persistent_load = persistent_load
        self._allowed = allowed
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def load(self, data: bytes) -> Any:
        """The object that ``data`` describes."""
        from pickletools import genops

        try:
            for opcode, argument, _ in genops(data):
                if opcode.name == "STOP":
                    return self._pop()
                self._run(opcode.name, argument)
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise UnpicklingError(f"the pickle is damaged: {error!r:.200}") from error
        raise UnpicklingError("the pickle is damaged: it does not end")

    def _run(self, name: str, argument: Any) -> None:
        if name in _PUSHED:
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name]())
        elif name in _SMALL_TUPLES:
            count = _SMALL_TUPLES[name]
            items = tuple(self._stack[-count:])
            if len(items) != count:
                raise IndexError("a tuple has more items than the stack")
            self._stack[-count:] = [items]
        else:
            handler = getattr(self, f"_op_{name.lower()}", None)
            if handler is None:
                raise UnpicklingError(
                    f"the pickle uses the instruction {name}, which may run code; "
                    "save tensors, numbers, strings and containers of them"
                )
            handler(argument)

    # The stack

    def _pop(self) -> Any:
        return self._stack.pop()

    def _pop_to_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _op_mark(self, _: None) -> None:
        self._marks.append(self._stack)
        self._stack = []

    def _op_pop(self, _: None) -> None:
        self._pop()

    def _op_pop_mark(self, _: None) -> None:
        self._pop_to_mark()

    def _op_proto(self, version: int) -> None:
        if version > 5:
            raise UnpicklingError(f"pickle protocol {version} is newer than 5")

    def _op_frame(self, _: int) -> None:
        """A hint for buffered reading."""

    # Memo

    def _op_memoize(self, _: None) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _op_put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    _op_binput = _op_long_binput = _op_put

    def _op_get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    _op_binget = _op_long_binget = _op_get

    # Containers

    def _op_tuple(self, _: None) -> None:
        items = tuple(self._pop_to_mark())
        self._stack.append(items)

    def _op_list(self, _: None) -> None:
        items = self._pop_to_mark()
        self._stack.append(items)

    def _op_dict(self, _: None) -> None:
        items = self._pop_to_mark()
        self._stack.append(dict(zip(items[::2], items[1::2], strict=True)))

    def _op_append(self, _: None) -> None:
        value = self._pop()
        self._top(list).append(value)

    def _op_appends(self, _: None) -> None:
        items = self._pop_to_mark()
        self._top(list).extend(items)

    def _op_setitem(self, _: None) -> None:
        value, key = self._pop(), self._pop()
        self._top(dict)[key] = value

    def _op_setitems(self, _: None) -> None:
        items = self._pop_to_mark()
        self._top(dict).update(zip(items[::2], items[1::2], strict=True))

    def _op_additems(self, _: None) -> None:
        items = self._pop_to_mark()
        self._top(set).update(items)

    def _op_frozenset(self, _: None) -> None:
        items = frozenset(self._pop_to_mark())
        self._stack.append(items)

    def _top(self, kind: type) -> Any:
        if not isinstance(self._stack[-1], kind):
            raise TypeError(f"{kind.__name__} expected on the stack")
        return self._stack[-1]

    # Names and calls

    def _op_global(self, name: str) -> None:
        self._push_named(name)

    def _op_stack_global(self, _: None) -> None:
        name, module = self._pop(), self._pop()
        self._push_named(f"{module} {name}")

    def _push_named(self, name: str) -> None:
        if name in self._allowed:
            self._stack.append(self._allowed[name])
            return
        if name not in self._constructors:
            raise UnpicklingError(
                f"the file holds an object of {name.replace(' ', '.')}, which loading "
                "would have to import and run: that is not done by default.\nSave "
                "state_dict() rather than the object itself, and load it into one "
                "you make; or allow the class by torch.serialization.add_safe_globals(["
                f"{name.rpartition(' ')[2]}]); or, for a file that you trust, load it "
                "with weights_only=False, which runs code from the file."
            )
        value = self._constructors[name]
        self._stack.append(_Constructor(name, value) if callable(value) else value)

    def _op_reduce(self, _: None) -> None:
        arguments = self._pop()
        self._stack.append(self._call(self._pop(), arguments))

    def _op_newobj(self, _: None) -> None:
        arguments, constructor = self._pop(), self._pop()
        if isinstance(constructor, type) and self._allows(constructor):
            self._stack.append(constructor.__new__(constructor, *arguments))
        else:
            self._stack.append(self._call(constructor, arguments))

    def _allows(self, value: Any) -> bool:
        return any(value is allowed for allowed in self._allowed.values())

    def _call(self, constructor: Any, arguments: Any) -> Any:
        if self._allows(constructor):
            return constructor(*arguments)
        if not isinstance(constructor, _Constructor):
            raise UnpicklingError(f"the pickle calls {constructor!r:.100}, a value")
        return constructor.function(*arguments)

    def _op_build(self, _: None) -> None:
        """Sets attributes of an OrderedDict, in which state dicts store metadata, and
        the state of allowed objects.
        """
        state, made = self._pop(), self._stack[-1]
        if isinstance(made, Unread):
            return
        if not self._allows(type(made)):
            vars(self._top(OrderedDict)).update(state)
        elif hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            vars(made).update(state)

    def _op_binpersid(self, _: None) -> None:
        self._stack.append(self._persistent_load(self._pop()))


class NamesOf(Reader):
    """Scans a pickle for names that would be refused; creates no objects."""

    def __init__(self, constructors: dict[str, Any], allowed: dict[str, Any]) -> None:
        super().__init__(constructors, lambda identifier: Unread(), allowed)
        self._unknown: dict[str, None] = {}

    def unknown(self, data: bytes) -> list[str]:
        """The names that are not allowed, as "module.name"."""
        self.load(data)
        return list(self._unknown)

    def _push_named(self, name: str) -> None:
        if name not in self._allowed and name not in self._constructors:
            self._unknown[name.replace(" ", ".")] = None
        self._stack.append(Unread())

    def _call(self, constructor: Any, arguments: Any) -> Any:
        return Unread()

    def _top(self, kind: type) -> Any:
        top = self._stack[-1]
        return kind() if isinstance(top, Unread) else top
