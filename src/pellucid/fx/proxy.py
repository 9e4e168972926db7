"""``torch.fx.proxy``: Proxies, the values with which a program is traced.

A Proxy records operations on it as Nodes of its Tracer's Graph: operators and methods
here, functions through ``__torch_function__``. ``_symbolic_trace.py`` runs the
program.
"""

from __future__ import annotations

import enum
import inspect
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

import pellucid
from pellucid._ops.higher_order import HigherOrderOperator
from pellucid.fx import traceback as fx_traceback
from pellucid.fx._asserts import is_assert
from pellucid.fx._operators import magic_methods
from pellucid.fx._operators import reflectable_magic_methods as reflectable
from pellucid.fx.graph import Graph
from pellucid.fx.node import BaseArgumentTypes as base_types
from pellucid.fx.node import Node, map_aggregate

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]


class TraceError(ValueError):
    """Raised when the program does something that a graph cannot express."""


class Scope:
    """The path and type of the module whose ``forward`` is running."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A context in which ``scope`` is ``current_scope``."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = Scope(scope.module_path, scope.module_type)
        scope.module_path = current_scope.module_path
        scope.module_type = current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exception: object) -> None:
        self._scope.module_path = self._before.module_path
        self._scope.module_type = self._before.module_type


class TracerBase:
    """Records operations on Proxies as Nodes."""

    graph: Graph
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: dict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Makes the Node, with the current metadata and the module stack."""
        if kind == "call_function" and self.check_mutable_operations:
            _refuse_mutation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        scope = getattr(self, "scope", None)
        if scope is not None:
            self.node_name_to_scope[node.name] = (scope.module_path, scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(fx_traceback.get_current_meta())
        elif "custom" in fx_traceback.current_meta:
            node.meta["custom"] = fx_traceback.current_meta["custom"]
        if getattr(self, "module_stack", None):
            node.meta.setdefault("nn_module_stack", dict(self.module_stack))
        return node

    def proxy(self, node: Node) -> Any:
        """A Proxy of ``node``."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Any] | None = None,
    ) -> Any:
        """Makes a Node from arguments that contain Proxies; returns its Proxy."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args_, tuple) or not isinstance(kwargs_, dict):
            raise AssertionError("create_arg must keep tuples and dicts")
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        proxy = (proxy_factory_fn or self.proxy)(node)
        if self.record_stack_traces and not proxy.node.stack_trace:
            proxy.node.stack_trace = "".join(_users_frames())
        return proxy

    def create_arg(self, a: Any) -> Any:
        """An argument in the form that Nodes store. Raises NotImplementedError for a
        value that a graph cannot express.
        """
        if type(a) in _PLAIN:
            return a
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(element) for element in a]
            return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
        if isinstance(a, list):
            return [self.create_arg(element) for element in a]
        if isinstance(a, dict):
            return _dict_argument(self, a)
        if isinstance(a, slice):
            return slice(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*map(self.create_arg, (a.start, a.stop, a.step)))
        if is_dataclass(a) and not isinstance(a, type):
            values = {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)}
            return self.create_node("call_function", a.__class__, (), values)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        if isinstance(a, type):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Called for a Proxy's truth value: ``if``, ``while``, ``not``, ``assert``."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow"
            + _where_the_user_is()
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called where a Proxy is iterated over."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is "
            "used in a loop or as a *args or **kwargs function argument: the number of "
            "elements is not known while a program is traced" + _where_the_user_is()
        )

    def keys(self, obj: Proxy) -> Any:
        """Called for ``**proxy``."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Appends to an existing graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope = {}


class Proxy:
    """A symbolic value of a traced program, represented by its Node."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        # An object that is being copied or unpickled has no node yet.
        if k in ("tracer", "node") or (k.startswith("__") and k.endswith("__")):
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        import copy

        state = {key: copy.deepcopy(v, memo) for key, v in self.__dict__.items()}
        copied = object.__new__(type(self))
        copied.__dict__.update(state)
        return copied

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy(
            "call_method", "__call__", (self, *args), kwargs
        )

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        count = _unpacked_count(caller)
        if count is not None:
            return (operator.getitem(self, i) for i in range(count))
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            frame = sys._getframe(1)
            if is_assert(frame):
                self.tracer.create_proxy(
                    "call_function", pellucid._assert, (self, "Assertion error"), {}
                )
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys, for ``**proxy``."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this "
            "call to be recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(a: Any) -> Any:
            if isinstance(a, cls):
                tracers[a.tracer] = None
            return a

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to "
                f"trace "
                f"operations {orig_method}"
            )
        tracer = next(iter(tracers))
        name = getattr(orig_method, "__name__", "")
        if name == "__get__":
            attribute = orig_method.__self__.__name__
            return tracer.create_proxy(
                "call_function", getattr, (args[0], attribute), {}
            )
        if pellucid.overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", name, args, kwargs)
        if isinstance(orig_method, HigherOrderOperator):
            raise RuntimeError(
                f"Unable to symbolically trace HigherOrderOperators: {orig_method}"
            )
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """``proxy.name``: recorded as a method call if it is called, else as a read."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the read; made at first use."""
        if self._node is None:
            read = (self.root, self.attr)
            self._node = self.tracer.create_proxy(
                "call_function", getattr, read, {}
            ).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy(
            "call_method", self.attr, (self.root, *args), kwargs
        )


class ParameterProxy(Proxy):
    """The Proxy of a parameter, whose ``shape``, ``size()``, ``dim()`` are
    constants.
    """

    def __init__(
        self, tracer: TracerBase, node: Node, name: str, param: pellucid.Tensor
    ) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, pellucid.nn.Parameter):
            raise AssertionError(f"{name} is a {type(param).__name__}, not a parameter")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's."""
        return self.param.shape

    def size(self, *dim: int) -> Any:
        """The parameter's."""
        return self.param.size(*dim)

    def dim(self) -> int:
        """The parameter's."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The parameter's."""
        return self.param.ndim

    def numel(self) -> int:
        """The parameter's."""
        return self.param.numel()

    def nelement(self) -> int:
        """The parameter's."""
        return self.param.nelement()


_PLAIN = frozenset({int, float, bool, str, complex, type(None)})


def _dict_argument(tracer: TracerBase, a: dict[Any, Any]) -> dict[Any, Any]:
    made = {}
    for key, value in a.items():
        key = tracer.create_arg(key)

        def refuse(node: Node, key: Any = key) -> NoReturn:
            raise RuntimeError(
                "Keys for dictionaries used as an argument cannot contain a Node. Got "
                f"key: {key}"
            )

        _each_node(key, refuse)
        made[key] = tracer.create_arg(value)
    return made


def _each_node(value: Any, function: Callable[[Node], Any]) -> None:
    map_aggregate(value, lambda x: function(x) if isinstance(x, Node) else x)


def _refuse_mutation(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    from pellucid.fx.operator_schemas import check_for_mutable_operation

    check_for_mutable_operation(target, args, kwargs)


def _is_own(filename: str) -> bool:
    return filename.startswith(_FX_FOLDER)


_FX_FOLDER = __file__.rsplit("proxy.py", 1)[0]


def _users_frames() -> list[str]:
    stack = traceback.extract_stack()
    is_of_library = (
        _is_own(frame.filename) or "/pellucid/nn/modules/" in frame.filename
        for frame in stack
    )
    kept = [f for f, skip in zip(stack, is_of_library, strict=True) if not skip]
    return traceback.format_list(kept)


def _where_the_user_is() -> str:
    """The line of the program that could not be traced."""
    for frame in reversed(traceback.extract_stack()):
        if not _is_own(frame.filename):
            return (
                f'\n  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n'
                f"    {frame.line}"
            )
    return ""


def _unpacked_count(frame: Any) -> int | None:
    """The number of names in ``a, b = proxy``, if the caller is such a statement."""
    import dis

    if frame is None:
        return None
    instructions = dis.get_instructions(frame.f_code)
    current = next((i for i in instructions if i.offset == frame.f_lasti), None)
    if current is not None and current.opname == "UNPACK_SEQUENCE":
        return current.arg
    return None


def _operator_method(name: str) -> Callable[..., Any]:
    target = getattr(operator, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    call.__name__ = f"__{name.strip('_')}__"
    return call


def _reflected_method(name: str) -> Callable[..., Any]:
    target = getattr(operator, name)

    def call(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    call.__name__ = f"__r{name.strip('_')}__"
    return call


for _name in magic_methods:
    if hasattr(operator, _name):
        _method = _operator_method(_name)
        setattr(Proxy, _method.__name__, _method)
for _name in reflectable:
    if hasattr(operator, _name) and _name != "getitem":
        _method = _reflected_method(_name)
        setattr(Proxy, _method.__name__, _method)
del _name, _method
