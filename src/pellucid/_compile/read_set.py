"""The read set: the Python objects that a call can read, found by observing a call.

A replay (replays.py) is correct as long as Python would do the same again. One call
runs under ``sys.setprofile``; the objects that the called functions can name, and all
objects reachable from these, are the *read set*. It may be larger than what was read,
never smaller: if an object could be read in an unknown way, there is no read set, but a
reason. So C functions, C types and special attributes that the program uses must be
among those listed here. ``_C.ReadSet`` compares the read set with the current state.
"""

from __future__ import annotations

import abc
import collections
import contextlib
import dataclasses
import dis
import functools
import gc
import importlib
import itertools
import operator
import sys
import types
import typing
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import pellucid
import pellucid_compiler
from pellucid import _C, Tensor
from pellucid._compile import state
from pellucid._compile.tensor_members import (
    OF_PLACE,
    QUERIES,
    TENSOR_PROPERTIES,
    is_op,
)
from pellucid._package.lazy import LazyModule, LazyValue

# C functions whose results depend only on their arguments. They may change lists and
# dicts among these: changes of the read set are detected.
_PURE_FUNCTIONS: Final = frozenset(
    f"builtins.{name}"
    for name in (
        *("abs", "all", "any", "callable", "divmod", "getattr", "hasattr"),
        *("isinstance", "issubclass", "iter", "len", "max", "min", "next", "pow"),
        *("round", "sorted", "sum"),
    )
)
# Of pure functions, those that call an argument or read attributes by computed names:
# only the package may call them. These, and `getattr`, `hasattr` and `iter`, are
# functions of modules or methods of these types.
_OF_THE_PACKAGE: Final = frozenset(("call", "format", "format_map"))
_SORT: Final = frozenset(("max", "min", "sort", "sorted"))
_OWNERS: Final = (types.ModuleType, str, list)
_PURE_METHODS: Final = (
    *(dict, list, set, tuple, str, int),
    *(float, bool, complex, slice, range, types.MappingProxyType),
)
_PURE_MODULES: Final = frozenset({"math", "operator", "_operator", "cmath"})
# What `isinstance` asks of abstract classes: depends on what is registered with them.
_OF_ABSTRACT_CLASSES: Final = frozenset(
    ("_abc._abc_instancecheck", "_abc._abc_subclasscheck")
)
# The same for the runtime: they read only their arguments, or words of the thread,
# which are compared, as is what they write to these.
_RUNTIME: Final = frozenset(
    (
        *("_timeline_is_on", "__enter__", "__exit__", "is_grad_enabled"),
        *("_enter_region", "__instancecheck__", "_reduction_number"),
        *("_torch_dispatch_modes", "_pre_dispatch_modes", "tensor", "as_tensor"),
        *("_autocast_state", "_set_autocast", "_nest_autocast", "_forget_casts"),
    )
)
_OF_ANALYSIS: Final = (sys.getprofile, sys.setprofile, _C._begin_call_capture)
_CONTEXTS: Final = (
    *(pellucid.no_grad, pellucid.enable_grad, pellucid.set_grad_enabled),
    pellucid.inference_mode,
)
# Tensor methods that are neither ops nor queries; replays compare what they change.
_COMPARED_METHODS: Final = frozenset(("backward", "requires_grad_"))
# Queries whose answers a replay checks.
_QUERIES: Final = QUERIES - OF_PLACE
# The same of all attributes of tensors.
_TENSOR_ATTRIBUTES: Final = _QUERIES | TENSOR_PROPERTIES | {"grad"}
# Names that the program must not use: other attributes of tensors, and access to
# objects that is not visible by name. The package's own functions read them only where
# they do not affect results.
_REFUSED_NAMES: Final = (
    OF_PLACE
    | frozenset(
        (
            *("_version", "data", "grad_fn", "_base", "data_ptr", "storage"),
            *("untyped_storage", "_storage", "id", "register_hook", "retain_grad"),
            *("retains_grad", "set_", "resize_", "resize_as_"),
            *("register_post_accumulate_grad_hook", "_backward_hooks"),
            *("_post_accumulate_grad_hooks", "__dict__", "vars", "globals"),
            *("eval", "exec", "__getattribute__", "gc", "weakref"),
            *("inspect", "_getframe", "output_nr", "_cdata", "sys", "locals"),
        )
    )
    | frozenset(
        name
        for kind in Tensor.__mro__
        for name, value in vars(kind).items()
        if isinstance(value, types.GetSetDescriptorType)
    )
) - _TENSOR_ATTRIBUTES
# Special attributes that the program may name, besides tensor queries: others may lead
# to objects, or to calls, that are not observed.
_SPECIAL_NAMES: Final = frozenset(
    f"__{name.strip('_')}__" for name in operator.__all__ if name != "call"
) | frozenset(
    (
        *("__enter__", "__exit__", "__getattr__", "__init__", "__post_init__"),
        *("__iter__", "__name__", "__next__", "__qualname__"),
        *("__setattr__", "__delattr__", "__repr__", "__str__", "__format__"),
    )
)
# C types that the program may name: creating an object of them has no effect, reads
# only the arguments, and calls none of these.
_PURE_TYPES: Final = (
    *(object, type, super, bool, int, float, complex, str, bytes, list, tuple, dict),
    *(set, frozenset, range, slice, zip, enumerate, reversed, type(None)),
    *(collections.OrderedDict, collections.deque, types.GenericAlias),
    types.ModuleType,
)
_IMMUTABLE: Final = (
    *(type(None), object),
    *(bool, int, float, complex, str, bytes, range, slice, types.CodeType),
    *(type(Ellipsis), type(NotImplemented)),
    *(pellucid.dtype, pellucid.device, pellucid.layout, pellucid.memory_format),
    *(pellucid.Size, pellucid.qscheme),
)
_DESCRIPTORS: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    collections._tuplegetter,  # type: ignore[attr-defined]
)
# Instructions that push an object and call nothing.
_PLAIN_LOADS: Final = frozenset(
    f"LOAD_{kind}" for kind in ("CONST", "FAST", "DEREF", "GLOBAL", "CLOSURE")
)
# Profilers do not see calls of these.
_UNSEEN_CALLS: Final = (
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)
_PARTS_OF_THE_RUNTIME: Final = frozenset(("OverloadSet", "Generator"))
_CACHED: Final = functools._lru_cache_wrapper
_DICTS: Final = (dict, collections.OrderedDict, collections.defaultdict)
_NEVER_READ: Final = ("typing", "pellucid.torch_version")
_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_MOST_OBJECTS: Final = 50_000


class Unreadable(Exception):
    """The reason why there is no read set."""


class Watch:
    """Records the Python and C functions that run in a scope, on this thread."""

    def __init__(self) -> None:
        self.codes: dict[types.CodeType, dict[str, Any]] = {}  # to their globals
        self.refused: str | None = None
        self.asks_abstract_classes = False
        self._collects = False

    def __enter__(self) -> Watch:
        # Collects garbage first: its finalizers do not belong to the call.
        self._collects = gc.isenabled()
        gc.disable()
        sys.setprofile(self._see)
        return self

    def __exit__(self, *error: object) -> None:
        if sys.getprofile() == self._see:  # otherwise the call has set the program's
            sys.setprofile(None)
        if self._collects:
            gc.enable()

    def _see(self, frame: types.FrameType, event: str, function: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code.co_filename != __file__:
                self.codes.setdefault(code, frame.f_globals)
        elif event == "c_call" and self.refused is None:
            if _is_pure(function) and (
                is_own(frame.f_code) or _is_visible(function, frame)
            ):
                return
            module = getattr(function, "__module__", None)
            if f"{module}.{function.__name__}" in _OF_ABSTRACT_CLASSES:
                self.asks_abstract_classes = True
                return
            name = getattr(function, "__qualname__", repr(function))
            self.refused = f"{name} may do more than compute"


def _is_pure(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    owner = getattr(function, "__self__", None)
    name = function.__name__
    if function in _OF_ANALYSIS or (owner is tuple and name == "__new__"):
        return True
    if isinstance(owner, Tensor):
        return name in _QUERIES or name in _COMPARED_METHODS or is_op(name)
    if isinstance(owner, _PURE_METHODS) or type(owner) in _DICTS:
        return not _is_of_numpy(type(owner))
    if isinstance(owner, types.ModuleType):
        qualified = f"{module}.{name}"
        return (
            qualified in _PURE_FUNCTIONS
            or module in _PURE_MODULES
            or (module == "pellucid._C" and name in _RUNTIME)
        )
    kind = type(owner)
    if kind.__module__.partition(".")[0] != "pellucid":
        return False
    if kind in _CONTEXTS and name == "clone":
        return True
    return kind.__name__ == "OverloadSet" or name in _RUNTIME


def _is_visible(function: Any, frame: types.FrameType) -> bool:
    """Whether a pure function that the program calls in ``frame`` calls none of its
    arguments, and reads attributes only by names in the code.
    """
    name = function.__name__
    if not isinstance(function.__self__, _OWNERS) or _is_ours(function):
        return True
    if name in _OF_THE_PACKAGE:
        return False
    if name not in ("getattr", "hasattr", "iter", *_SORT):
        return True
    instructions = dis.get_instructions(frame.f_code)
    before = [i for i in instructions if i.offset <= frame.f_lasti]
    call = before.pop()
    number = max(k for k, i in enumerate(before) if i.opname != "PRECALL")
    last = before[number]
    name_at = number - (name == "getattr" and call.arg == 3)  # before a plain default
    after = (*before[name_at:], call)
    if call.opname != "CALL" or any(i.is_jump_target for i in after):
        return False
    if name == "getattr":
        named = before[name_at]
        is_plain = name_at == number or last.opname in _PLAIN_LOADS
        return (
            is_plain and named.opname == "LOAD_CONST" and not _refused([named.argval])
        )
    if name == "hasattr":
        return last.opname == "LOAD_CONST"
    if name == "iter":
        return call.arg == 1
    return (
        last.opname != "KW_NAMES" or "key" not in frame.f_code.co_consts[last.arg or 0]
    )


def is_own(code: types.CodeType) -> bool:
    """Whether it is code of this package or its engine, of ``contextlib``, or the
    interpreter's code for ``from a import b``, which reads modules by names that are in
    the read set.
    """
    is_of_contexts = code.co_filename == contextlib.__file__
    return (
        code.co_filename.startswith(_FOLDERS) or is_of_contexts or code is _FROM_IMPORT
    )


_FROM_IMPORT: Final = importlib._bootstrap._handle_fromlist.__code__  # type: ignore[attr-defined]
_CONTEXTS_OF_GENERATORS: Final = tuple(
    vars(contextlib._GeneratorContextManager)[name].__code__
    for name in ("__enter__", "__exit__")
)
_FOLDERS: Final = tuple(
    str(package.__file__).rpartition("/")[0] + "/"
    for package in (pellucid, pellucid_compiler)
)


class Reads:
    """The read set of a call of ``function`` with ``objects`` among its arguments.

    ``entries`` is the argument of ``_C.ReadSet``. Of what can be reached, ``tensors``
    are all tensors, and ``known`` the containers and the objects of ``classes``; other
    objects of these were made by the call. ``unowned`` are the objects that only the
    call refers to.
    """

    def __init__(
        self, watch: Watch, function: Callable[..., Any], objects: Iterable[Any]
    ) -> None:
        if watch.refused:
            raise Unreadable(watch.refused)
        self.entries: list[tuple[Any, ...]] = []
        self.tensors: list[Tensor] = []
        self.codes = frozenset(watch.codes)
        self.handles_errors = any(map(_handles_errors, watch.codes))
        self._watch = watch
        self._found: dict[int, Any] = {}
        self._waiting: list[Any] = []
        self._weak: list[Any] = []  # what weak references refer to
        self._ran: set[types.CodeType] = set()
        self._user_names: set[str] = set()
        self._unread = ["__annotations__", "__doc__", "__weakref__"]
        if not any(c.co_filename == dataclasses.__file__ for c in watch.codes):
            self._unread += ["__dataclass_fields__", "__dataclass_params__"]
        self._names: set[str] = {"__getattr__", "forward", "__call__", "__missing__"}
        for code in watch.codes:
            self._check_code(code)
            self._names.update(code.co_names)
            texts = [c for c in code.co_consts if isinstance(c, str)]  # for getattr
            if not is_own(code):
                self._user_names.update(code.co_names, texts)
            self._names.update(texts)
            self._visit_imports(code)
        self._waiting += [function, *_shared_roots()]
        self._walk()
        self.unowned = [
            o for o in objects if id(o) not in self._found and not _is_plain(o)
        ]
        self._waiting += objects
        self._walk()
        self._reach_all_that_ran()
        if any(id(o) not in self._found for o in self._weak if o is not None):
            raise Unreadable("it reads an object that only a weak reference leads to")
        self.entries.append(("names", vars(state.config()), ("disable",)))
        if watch.asks_abstract_classes:
            self.entries.append(("result", abc.get_cache_token))
        constants = [c for code in watch.codes for c in code.co_consts]
        self.classes = set(filter(_may_be_made_again, self._found.values()))
        self.known = [
            o
            for o in (*self._found.values(), *constants)
            if issubclass(type(o), tuple)
            or type(o) in (list, dict)
            or type(o) in self.classes
        ]

    def covers(self, watch: Watch) -> bool:
        """Whether another call ran nothing but what was observed."""
        known = self._watch
        return watch.codes.keys() <= self.codes and (
            known.asks_abstract_classes or not watch.asks_abstract_classes
        )

    def _check_code(self, code: types.CodeType) -> None:
        if is_own(code):
            return
        if refused := _refused(code.co_names):
            raise Unreadable(f"{code.co_qualname} reads {min(refused)}")
        if any(i.opname == "MATCH_CLASS" for i in dis.get_instructions(code)):
            raise Unreadable(f"{code.co_qualname} matches a class")

    def _visit_imports(self, code: types.CodeType) -> None:
        imported = _imported(code)
        if imported:
            self._visit_names(sys.modules, imported, imported)

    def _walk(self) -> None:
        while self._waiting:
            found = self._waiting.pop()
            if id(found) in self._found:
                continue
            self._found[id(found)] = found
            if len(self._found) > _MOST_OBJECTS:
                raise Unreadable("it reaches too many objects")
            self._visit(found)

    def _visit(self, found: Any) -> None:
        kind = type(found)  # for a proxy, `isinstance` sees the wrapped type
        if issubclass(kind, Tensor):
            self._visit_tensor(found)
        elif kind in _IMMUTABLE or _is_of_numpy(kind):
            return
        elif kind is LazyModule:
            return  # nothing of it was read: that would have executed it
        elif kind is LazyValue:
            if found.is_used():  # by the program; otherwise nothing is read through it
                self._waiting.append(found.__wrapped__)
        elif kind in _DICTS:
            self._visit_dict(found)
        elif kind is list:
            self.entries.append(("list", found))
            self._waiting += found
        elif kind is set:
            self.entries.append(("set", found))
            self._waiting += found
        elif kind in (tuple, frozenset):
            self._waiting += found
        elif issubclass(kind, tuple) and not kind.__dictoffset__:
            self.entries.append(("class", found))
            self._waiting += [kind, *found]
        elif kind is types.FunctionType:
            self._visit_function(found)
        elif kind is types.MethodType:
            self._check_descriptor(found.__func__)
            self._waiting += [found.__self__, found.__func__]
        elif kind is types.BuiltinFunctionType:
            if not isinstance(found.__self__, types.ModuleType):
                self._waiting.append(found.__self__)
        elif kind in _UNSEEN_CALLS and found.__name__ not in _SPECIAL_NAMES:
            raise Unreadable(f"a call of {found.__qualname__} is not observed")
        elif kind is types.MethodWrapperType:
            self._waiting.append(found.__self__)
        elif issubclass(kind, types.ModuleType):
            self._visit_module(found)
        elif issubclass(kind, type):
            self._visit_class(found)
        elif issubclass(kind, _DESCRIPTORS):
            return
        elif issubclass(kind, property):
            self._check_descriptor(found.fget)
            self._waiting += [found.fget, found.fset, found.fdel]
        elif issubclass(kind, (staticmethod, classmethod)):
            self._check_descriptor(found.__func__)
            self._waiting.append(found.__func__)
        elif kind is weakref.ReferenceType:
            self._weak.append(found())
        elif kind is types.GenericAlias:
            self._waiting.append(found.__origin__)
        elif kind.__module__ in _NEVER_READ and kind is not typing.NewType:
            return
        elif kind is _CACHED and _is_own_function(found.__wrapped__):
            self._waiting.append(found.__wrapped__)  # its result never changes
        elif kind is _C.CompiledFunction:
            raise Unreadable("it calls a compiled callable")
        elif kind is _C.overridable:
            self._waiting.append(found.__wrapped__)
        elif kind in _CONTEXTS[:2] and "prev" not in self._user_names:
            return  # its only state is the previous mode
        elif kind.__name__ in _PARTS_OF_THE_RUNTIME and _is_ours(kind):
            return
        else:
            self._visit_instance(found)

    def _visit_dict(self, found: dict[Any, Any]) -> None:
        self.entries.append(("dict", found))
        self._waiting += [*found, *found.values()]
        if type(found) is collections.defaultdict:
            member = vars(collections.defaultdict)["default_factory"]
            self.entries.append(("members", found, (member,)))
            self._waiting.append(found.default_factory)
            self._check_descriptor(found.default_factory)
        if type(found) is collections.OrderedDict:
            self.entries.append(("class", found))  # whether it has attributes
            if len(found) > 1:  # its order has no version
                self.entries.append(("order", found))

    def _visit_tensor(self, tensor: Tensor) -> None:
        if type(tensor) not in (Tensor, pellucid.nn.Parameter, pellucid.nn.Buffer):
            raise Unreadable(f"it reads a tensor of the class {type(tensor).__name__}")
        self.tensors.append(tensor)
        self.entries.append(("class", tensor))
        self._waiting += [type(tensor), tensor.__dict__]

    def _visit_function(self, function: Any) -> None:
        self._waiting.append(function.__dict__)
        self.entries.append(("function", function))
        if function.__code__ not in self._watch.codes:
            return  # only its identity can be read
        self._ran.add(function.__code__)
        self._waiting += function.__defaults__ or ()
        if function.__kwdefaults__:
            self._waiting.append(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            self.entries.append(("cell", cell))
            with suppress(ValueError):  # empty, and compared as such
                self._waiting.append(cell.cell_contents)
        names = _global_names(function.__code__)
        called = () if is_own(function.__code__) else names
        self._visit_names(function.__globals__, names, called)
        self._visit_names(function.__builtins__, names, called)

    def _visit_names(
        self, namespace: dict[str, Any], names: Iterable[str], called: Iterable[str]
    ) -> None:
        """Adds the entries of a namespace that are read by name. The program may call
        those named in ``called``; the package calls its C types as it should.
        """
        chosen = tuple(sorted(set(names)))
        self.entries.append(("names", namespace, chosen))
        self._waiting += [
            namespace[n]
            for n in chosen
            if n in namespace and (n in called or not _is_of_c(namespace[n]))
        ]

    def _visit_module(self, module: types.ModuleType) -> None:
        namespace = vars(module)
        self.entries.append(("class", module))
        self._check_descriptor(namespace.get("__getattr__"))
        self._visit_names(namespace, self._names, self._user_names)
        if type(module) is not types.ModuleType:
            self._waiting.append(type(module))

    def _visit_class(self, found: type) -> None:
        if _is_of_c(found):  # never changes
            if found not in _PURE_TYPES and not issubclass(found, BaseException):
                name = f"{found.__module__}.{found.__qualname__}"
                raise Unreadable(f"{name} may do more than compute")
            return
        if not found.__flags__ & _HEAP_TYPE:
            return
        self.entries.append(("type", found))
        bases = (type(found), *found.__mro__[1:])
        self._waiting += [c for c in bases if not (_is_ours(found) and _is_of_c(c))]
        for name, value in vars(found).items():
            if name in self._names or name.startswith("__"):
                if _is_ours(found) and (
                    isinstance(value, _DESCRIPTORS) or _is_of_c(value)
                ):
                    continue
                if isinstance(value, str) or name in ("__dict__", *self._unread):
                    continue
                if name.startswith("__"):
                    self._check_descriptor(value)
                self._waiting.append(value)

    def _check_descriptor(self, value: Any) -> None:
        """Refuses C functions that the interpreter calls implicitly, which are not
        observed.
        """
        if isinstance(value, types.BuiltinFunctionType) and not _is_ours(value):
            raise Unreadable(f"the interpreter calls {value.__name__}")

    def _visit_instance(self, found: Any) -> None:
        kind = type(found)
        if not _has_known_state(kind):
            raise Unreadable(f"it reads an object of the class {kind.__qualname__}")
        self.entries.append(("class", found))
        self._waiting.append(kind)
        if slots := _slots(kind):
            self.entries.append(("members", found, slots))
            for slot in slots:
                with suppress(AttributeError):  # empty, and compared as such
                    self._waiting.append(slot.__get__(found))
        if not kind.__dictoffset__:
            return
        own = found.__dict__
        self.entries.append(("dict", own))
        for name, value in own.items():
            is_read = name.startswith("_") and not _is_special(name)  # perhaps by C
            if is_read or name in self._names:
                self._waiting.append(value)

    def _reach_all_that_ran(self) -> None:
        """Handles functions without a known owner: those created during the call are
        parts of others, and the runtime calls the package's own (bodies of composites).
        """
        for code in self._watch.codes:
            if code in self._parts_of_known():
                continue
            if not is_own(code):
                raise Unreadable(f"{code.co_qualname} was called in a hidden way")
            self._ran.add(code)
            self._visit_names(self._watch.codes[code], _global_names(code), ())
            self._walk()

    def _parts_of_known(self) -> set[types.CodeType]:
        known = set(self._ran)
        waiting = list(self._ran)
        while waiting:
            for part in waiting.pop().co_consts:
                if isinstance(part, types.CodeType) and part not in known:
                    known.add(part)
                    waiting.append(part)
        return known


def _imported(code: types.CodeType) -> set[str]:
    """The modules that code may import; of the program's also the packages that lead
    to them.
    """
    found: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for k, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME":
            module = instruction.argval
            found.add(module)
            if not is_own(code):
                if instructions[k - 2].argval:  # the level
                    raise Unreadable(f"{code.co_qualname} imports from its own package")
                found.update(itertools.accumulate(module.split("."), "{}.{}".format))
        elif instruction.opname == "IMPORT_FROM":  # perhaps a module
            found.add(f"{module}.{instruction.argval}")
    return found


def _is_plain(found: Any) -> bool:
    """Whether no memory to speak of is reachable from an object."""
    if type(found) in (tuple, frozenset):
        return all(map(_is_plain, found))
    return type(found) in _IMMUTABLE


def _is_ours(found: Any) -> bool:
    return str(found.__module__).partition(".")[0] in ("pellucid", "pellucid_compiler")


def _is_own_function(found: Any) -> bool:
    if type(found) is types.BuiltinFunctionType:
        return bool(found.__module__) and _is_ours(found)
    return type(found) is types.FunctionType and is_own(found.__code__)


def _refused(names: Iterable[str]) -> set[str]:
    """Those of the names of attributes and globals that the program must not use."""
    names = set(names)
    special = {n for n in names if _is_special(n)}
    return names & _REFUSED_NAMES | special - _SPECIAL_NAMES - _QUERIES


def _is_of_numpy(kind: type) -> bool:
    """Whether it is a class of NumPy's numbers."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(kind, (numpy.number, numpy.bool_))


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_of_c(found: Any) -> bool:
    """Whether it is a type that C code defines, outside of this package."""
    if not issubclass(type(found), type) or _is_ours(found):
        return False
    if not found.__flags__ & _HEAP_TYPE:
        return True
    methods = (types.WrapperDescriptorType, types.MethodDescriptorType)
    return any(
        isinstance(value, methods) and value.__objclass__ is found
        for value in vars(found).values()
    )


def _slots(kind: type) -> tuple[types.MemberDescriptorType, ...]:
    """The slots of a class and of its bases, also those that a subclass hides."""
    return tuple(
        value
        for c in reversed(kind.__mro__)
        if c.__flags__ & _HEAP_TYPE
        for value in vars(c).values()
        if isinstance(value, types.MemberDescriptorType) and value.__objclass__ is c
    )


def _may_be_made_again(found: Any) -> bool:
    """Whether it is a class of the program whose instances consist of a dict alone."""
    if not issubclass(type(found), type) or _is_ours(found):
        return False
    c_classes = [c for c in found.__mro__ if not c.__flags__ & _HEAP_TYPE]
    is_more = c_classes != [object] or any("__del__" in vars(c) for c in found.__mro__)
    has_dict = found.__dictoffset__ and not _slots(found) and _has_known_state(found)
    return bool(has_dict and not is_more)


def _has_known_state(kind: type) -> bool:
    """Whether its instances have a dict and slots, but no other state that changes."""
    base = next(c for c in kind.__mro__ if not c.__flags__ & _HEAP_TYPE)
    slots = _slots(kind)
    has_state = bool(kind.__dictoffset__ or slots)
    if base not in (object, _C.ModuleBase, int, float, str) or not has_state:
        return False
    words = [kind.__weakrefoffset__ and not base.__weakrefoffset__]
    words.append(kind.__dictoffset__ > 0 and not base.__dictoffset__)
    size = base.__basicsize__ + 8 * (len(slots) + sum(map(bool, words)))
    is_proxy = any(
        "__getattribute__" in vars(c)
        or "__class__" in vars(c)
        or isinstance(vars(c).get("__dict__"), property)
        for c in kind.__mro__
        if c.__flags__ & _HEAP_TYPE
    )
    has_more = kind.__basicsize__ != size or kind.__itemsize__ != base.__itemsize__
    return not (is_proxy or has_more)


def _handles_errors(code: types.CodeType) -> bool:
    """Whether the program handles exceptions."""
    if code in _CONTEXTS_OF_GENERATORS or code.co_filename.startswith(_FOLDERS):
        return False  # the former hand errors to the generator
    if code.co_name == "__exit__":
        return True
    instructions = list(dis.get_instructions(code))
    starts = (k for k, i in enumerate(instructions) if i.opname == "PUSH_EXC_INFO")
    return any(instructions[k + 1].opname != "WITH_EXCEPT_START" for k in starts)


def _global_names(code: types.CodeType) -> set[str]:
    """Global names used by a function and its nested functions."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if "GLOBAL" in instruction.opname or instruction.opname.endswith("_NAME")
    }
    if any(i.opname == "IMPORT_NAME" for i in dis.get_instructions(code)):
        names.add("__import__")
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            names |= _global_names(part)
    return names


def _shared_roots() -> list[Any]:
    """The Python state that the runtime itself reads in every call."""
    from pellucid.nn.modules import _calls

    hooks = [d for name, d in vars(_calls).items() if name.startswith("_global_")]
    return [*hooks, state._stance, Tensor]
