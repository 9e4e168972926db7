"""``Library``: adds ops and kernels to the dispatcher, and removes them.

Public through ``library.py``; ``custom_ops.py`` builds on it.
"""

from __future__ import annotations

import difflib
import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pellucid import _C
from pellucid._ops import ops
from pellucid._ops.tags import TAGS_OF_LIBRARIES
from pellucid._ops.waiting import KERNELS_WITHOUT_OP

_KINDS = ("DEF", "FRAGMENT", "IMPL")
_ALIAS_ANALYSES = ("", "FROM_SCHEMA", "CONSERVATIVE")
# Of TorchScript's own ops.
_RESERVED = ("prim",)
# Modes see what the kernel at these keys calls.
_DECOMPOSED = ("", "CompositeImplicitAutograd")

# The dispatch keys at which libraries registered kernels, by op ("mine::f"; "" for
# kernels of every op).
KERNEL_KEYS: defaultdict[str, list[str]] = defaultdict(list)
# The runtime's namespaces, and all with a library of the kind DEF; one is allowed.
_OURS = ("aten", "pellucid")
_DEFINED_NAMESPACES = {*_OURS}


def fallthrough_kernel() -> None:
    """As a kernel: the next lower key's kernel runs in its place."""
    raise NotImplementedError("fallthrough_kernel is a mark for Library.impl")


@dataclass(eq=False)
class _Kernel:
    """One registration; `tokens` are the runtime's, none until the op is defined."""

    op: str
    key: str
    function: Callable[..., Any]
    with_keyset: bool
    tokens: list[int] = field(default_factory=list)

    def install(self) -> None:
        given = None if self.function is fallthrough_kernel else self.function
        keys = [self.key]
        if self.key in _DECOMPOSED and self.op and given is not None:
            keys.append("Decompose")
        for key in keys:
            token = _C._register_kernel(self.op, key, given, self.with_keyset)
            self.tokens.append(token)

    def remove(self) -> None:
        KERNEL_KEYS[self.op].remove(self.key)
        for token in self.tokens:
            _C._remove_kernel(token)
        if self in KERNELS_WITHOUT_OP[self.op]:
            KERNELS_WITHOUT_OP[self.op].remove(self)


@dataclass
class _Holdings:
    """The registrations of a library, removed at its end."""

    kernels: list[_Kernel] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    namespace: str = ""

    def release(self) -> None:
        for kernel in self.kernels:
            kernel.remove()
        for op in self.ops:
            _C._undefine_op(op)
            TAGS_OF_LIBRARIES.pop(op, None)
            _forget_packet(op)
        _DEFINED_NAMESPACES.discard(self.namespace)
        self.__init__()  # type: ignore[misc]


class Library:
    """A namespace to which ops and kernels are added.

    ``kind`` is "DEF" (the one library that owns a new namespace), "FRAGMENT" (adds
    ops to any) or "IMPL" (adds kernels to ops of others). What a library added ends
    with it: keep it in a module's global. Raises ValueError for another kind or a
    reserved namespace, RuntimeError for a second "DEF".

    Example::

        library = torch.library.Library("mine", "DEF")
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", lambda x: x * 2, "CPU")
        torch.ops.mine.double(torch.ones(2))
    """

    __module__ = "pellucid.library"
    _FALLTHROUGH: Final = staticmethod(fallthrough_kernel)

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(
                f"Unsupported kind: {kind}\nA library is {', '.join(_KINDS)}."
            )
        if ns in _RESERVED and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace: choose another one")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._held = _Holdings()
        if kind == "DEF":
            if ns in _DEFINED_NAMESPACES:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the "
                    f"namespace {ns}: Library({ns!r}, 'DEF') exists already\n"
                    "Use 'FRAGMENT' to add ops to it, 'IMPL' to add kernels."
                )
            _DEFINED_NAMESPACES.add(ns)
            self._held.namespace = ns
        self._end = weakref.finalize(self, self._held.release)
        self._end.atexit = False

    def __repr__(self) -> str:
        return (
            f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"
        )

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Adds an op; returns its qualified name. Aliases are read from the schema.

        RuntimeError for a library of the kind "IMPL", an op that is defined already,
        another ``alias_analysis`` than "", "FROM_SCHEMA" or "CONSERVATIVE".
        """
        name = schema.partition("(")[0].strip()
        if alias_analysis not in _ALIAS_ANALYSES:
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{name}"): Cannot define an operator inside of a '
                "TORCH_LIBRARY_IMPL block: give the library the kind 'FRAGMENT'"
            )
        full_name: str = _C._define_op(schema, self.ns)
        self._held.ops.append(full_name)
        TAGS_OF_LIBRARIES[full_name] = _as_tuple(tags)
        _forget_packet(full_name)
        for kernel in KERNELS_WITHOUT_OP.pop(full_name, []):
            kernel.install()
        return full_name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: Any = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Makes ``fn`` the op's kernel for a dispatch key.

        The op is named, or given as an overload; it may be defined later: a warning
        says so where the namespace is the runtime's. A kernel ``with_keyset`` gets the
        DispatchKeySet that chose it first. The newest kernel of a key runs, with a
        warning; with ``allow_override=False`` RuntimeError instead. TypeError for what
        is not callable, RuntimeError for an op of another namespace.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = self._full_name(op_name)
        key = getattr(dispatch_key or self.dispatch_key, "name", None)
        key = key or dispatch_key or self.dispatch_key
        if not allow_override and key in KERNEL_KEYS[name]:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from "
                f"python overriding {name}'s behavior for {key} dispatch key and "
                f"{self.ns} namespace."
            )
        if key in KERNEL_KEYS[name]:
            warnings.warn(
                f"{name} has a kernel for {key or 'every key'} already, from a "
                "library; the new one takes its place as long as it exists",
                stacklevel=2,
            )
        self._add(_Kernel(name, key, fn, with_keyset))

    def fallback(
        self,
        fn: Callable[..., Any],
        dispatch_key: Any = "",
        *,
        with_keyset: bool = False,
    ) -> None:
        """Makes ``fn(op, *args, **kwargs)`` the kernel of every op at a dispatch key
        where the op has none of its own.

        RuntimeError for a library of another namespace than "_", AssertionError
        without a key.
        """
        key = getattr(dispatch_key, "name", dispatch_key) or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(
                "Fallback can only be registered using library fragment on the global "
                f'namespace "_" but it is {self.ns}'
            )
        if not key:
            raise AssertionError("a fallback needs a dispatch key")
        self._add(_Kernel("", key, fn, with_keyset))

    def _full_name(self, op_name: Any) -> str:
        given = getattr(op_name, "_full_name", op_name)
        if not isinstance(given, str):
            raise RuntimeError(
                "impl should be passed either a name or an OpOverload object as the "
                f"first argument, not {type(op_name).__name__}"
            )
        name = given if "::" in given else f"{self.ns}::{given}"
        if name.partition("::")[0] != self.ns:
            raise RuntimeError(
                f'impl("{given}", ...): Explicitly provided namespace does not match '
                f"the library's, {self.ns}\nUse Library("
                f"{name.partition('::')[0]!r}, 'IMPL') for this op."
            )
        return name.removesuffix(".default")

    def _add(self, kernel: _Kernel) -> None:
        if kernel.op and not _C._overloads(kernel.op.partition(".")[0]):
            _C._dispatch_key_parse(kernel.key or "Undefined")
            KERNELS_WITHOUT_OP[kernel.op].append(kernel)
            if self.ns in _OURS:
                _warn_of_unknown(kernel.op)
        else:
            kernel.install()
        KERNEL_KEYS[kernel.op].append(kernel.key)
        self._held.kernels.append(kernel)

    def _destroy(self) -> None:
        """Removes the ops and kernels that the library added."""
        self._held.release()


def _warn_of_unknown(op: str) -> None:
    """A kernel for an op that the runtime does not define may be a slip of the pen."""
    close = difflib.get_close_matches(op, [row[0] for row in _C._list_ops()], 3)
    warnings.warn(
        f"there is no op {op}: the kernel waits until a library defines it"
        + (f"; similar names: {', '.join(close)}" if close else ""),
        stacklevel=4,
    )


def _as_tuple(tags: Any) -> tuple[Any, ...]:
    return tuple(tags) if isinstance(tags, (list, tuple)) else (tags,)


def _forget_packet(full_name: str) -> None:
    """Torch.ops looks up the overloads of the name again."""
    namespace, _, name = full_name.partition("::")
    vars(getattr(ops, namespace)).pop(name.partition(".")[0], None)


@contextmanager
def scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A Library whose ops and kernels end with the block."""
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library._destroy()


def register_torch_dispatch(
    op: Any,
    torch_dispatch_class: type,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """What one op is to the tensors of one subclass, or under one mode, in place of its
    ``__torch_dispatch__``: ``func(mode or class, op, types, args, kwargs)``; a
    decorator without ``func``.

    Example::

        @torch.library.register_torch_dispatch("mine::double", MyMode)
        def double_in_my_mode(mode, func, types, args, kwargs):
            return func(*args, **kwargs) + 1
    """
    name = getattr(op, "_qualname", None) or getattr(op, "_full_name", op)
    if not isinstance(name, str) or not _C._overloads(name.partition(".")[0]):
        raise ValueError(
            f"register_torch_dispatch: {op!r} is not a defined op: give an "
            "overload, a custom op or 'namespace::name'"
        )

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _C._register_dispatch_rule(name, torch_dispatch_class, function)
        return function

    return register if func is None else register(func)
