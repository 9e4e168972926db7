"""``torch.fx.symbolic_trace``: runs a program with Proxies and records its calls.

Users subclass ``Tracer`` to choose which modules are leaves and how attributes and
arguments become nodes. While it runs, module calls, reads of parameters and wrapped
functions are patched (``_patches.py``).
"""

from __future__ import annotations

import copy
import functools as functools
import math
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pellucid
from pellucid.fx import _arguments
from pellucid.fx._arguments import PH as PH
from pellucid.fx._arguments import PHBase as PHBase
from pellucid.fx._arguments import PHWithMeta as PHWithMeta
from pellucid.fx._compatibility import compatibility as compatibility
from pellucid.fx._patches import Patcher as _Patcher
from pellucid.fx._patches import (
    _wrapped_fns_to_patch as _wrapped_fns_to_patch,
)
from pellucid.fx._patches import (
    _wrapped_methods_to_patch as _wrapped_methods_to_patch,
)
from pellucid.fx._patches import autowrap_check as _autowrap_check
from pellucid.fx._patches import patch_module_class
from pellucid.fx._patches import patch_wrapped_functions as _patch_wrapped_functions
from pellucid.fx._patches import wrap as wrap
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node, map_aggregate
from pellucid.fx.proxy import (
    ParameterProxy,
    Proxy,
    Scope,
    ScopeContextManager,
    TracerBase,
)
from pellucid.jit import ScriptObject as ScriptObject
from pellucid.nn import Module, Parameter, Sequential

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

# Called by libraries' tracers that patch modules themselves.
_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__

_is_tracing = False


def is_fx_tracing() -> bool:
    """Whether a Tracer is running a program."""
    return _is_tracing


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A metaclass that records construction with Proxies as a call of the class."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        new: Any = cls.__new__
        made = new(cls, *args, **kwargs)
        if not isinstance(made, cls):
            raise TypeError(f"{cls.__name__}.__new__ did not return a {cls.__name__}")
        found: list[Proxy] = []
        map_aggregate(
            (args, kwargs), lambda a: found.append(a) if isinstance(a, Proxy) else a
        )
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        made.__init__(*args, **kwargs)
        return made


class Tracer(TracerBase):
    """Runs a module's ``forward`` (or a function) and records its calls.

    Subclasses override ``is_leaf_module`` to choose which modules become one node, and
    ``call_module``, ``create_arg``, ``create_proxy``, ``getattr``, ``to_bool``,
    ``iter`` and ``keys`` to change how other things are recorded.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in module.__dict__.items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids |= {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = {}
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self._counters: dict[str, int] = {}

    # Methods that subclasses override

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of ``m`` is one node: True for the library's layers."""
        package = m.__module__.replace("pellucid", "torch", 1)
        is_of_library = package.startswith(("torch.nn", "torch.ao.nn"))
        return is_of_library and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a submodule of the root."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self,
        m: Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Called for each call of a module: a node for a leaf, else its ``forward``."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            count = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{count}" if count else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = count + 1
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key)

    def getattr(
        self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]
    ) -> Any:
        """Called for each read of a parameter, buffer or submodule of a module."""
        is_buffer = self.proxy_buffer_attributes and isinstance(
            attr_val, pellucid.Tensor
        )
        if isinstance(attr_val, Parameter):
            return self._stored_proxy(
                attr_val, self.root.named_parameters(), parameter_proxy_cache
            )
        if is_buffer:
            return self._stored_proxy(
                attr_val, self.root.named_buffers(), parameter_proxy_cache
            )
        return attr_val

    def _stored_proxy(
        self, value: pellucid.Tensor, named: Any, cache: dict[str, Any]
    ) -> Any:
        name = next((name for name, stored in named if stored is value), None)
        if name is None:
            return value
        if name not in cache:
            is_constant = self.param_shapes_constant and isinstance(value, Parameter)

            def make(node: Node) -> Any:
                return ParameterProxy(self, node, name, value)

            factory = make if is_constant else None
            cache[name] = self.create_proxy(
                "get_attr", name, (), {}, proxy_factory_fn=factory
            )
        return cache[name]

    def create_arg(self, a: Any) -> Any:
        """Extends the base class's by parameters and buffers, the module's tensors,
        modules that are passed as values, and constants.
        """
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, pellucid.Tensor):
            return self._tensor_argument(a)
        if isinstance(a, Module):
            return self._module_argument(a)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            args = tuple(self.create_arg(element) for element in a)
            return self.create_node("call_function", a.__class__, args, {})
        if isinstance(type(a), ProxyableClassMeta):
            return self._stored_object(a)
        return super().create_arg(a)

    def _module_argument(self, module: Module) -> Node:
        for name, other in self.root.named_modules():
            if other is module:
                return self.create_node("get_attr", name, (), {})
        name = self.get_fresh_qualname("_module_constant_")
        setattr(self.root, name, module)
        return self.create_node("get_attr", name, (), {})

    def _tensor_argument(self, a: pellucid.Tensor) -> Node:
        for name, buffer in self.root.named_buffers():
            if a is buffer:
                return self.create_node("get_attr", name, (), {})
        name = self.tensor_attrs.get(a, "")
        if not name:
            name = self.get_fresh_qualname("_tensor_constant")
            self.tensor_attrs[a] = name
            setattr(self.root, name, a)
        return self.create_node("get_attr", name, (), {})

    def _stored_object(self, a: Any) -> Node:
        name = self.tensor_attrs.get(a, "")
        if not name:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            self.tensor_attrs[a] = name
            setattr(self.root, name, a)
        return self.create_node("get_attr", name, (), {})

    def get_fresh_qualname(self, prefix: str) -> str:
        """``prefix`` with the first number that makes an unused attribute name of the
        root.
        """
        number = self._counters.get(prefix, 0)
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._counters[prefix] = number + 1
        return f"{prefix}{number}"

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Placeholders for the parameters of ``root_fn``; returns the function that
        takes them and the values to call it with.
        """
        return _arguments.of_root(self, root_fn, is_module, concrete_args)

    def _proxy_placeholder(
        self, name: str, default: tuple[Any, ...], type_expr: Any
    ) -> Any:
        return self.create_proxy("placeholder", name, default, {}, type_expr=type_expr)

    # The trace

    def trace(
        self,
        root: Module | Callable[..., Any],
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> Graph:
        """The Graph of a module or function. Parameters with a value in
        ``concrete_args`` are constants (containers may hold ``fx.PH`` for inputs).
        """
        global _is_tracing
        was_tracing, _is_tracing = _is_tracing, True
        try:
            return self._trace(root, concrete_args)
        finally:
            _is_tracing = was_tracing

    def _trace(self, root: Any, concrete_args: Any) -> Graph:
        if isinstance(root, Module):
            function = self._function_of(root)
        else:
            self.root, function = Module(), root
        self.root_module_name = self.root._get_name()
        self.submodule_paths = {
            module: name for name, module in self.root.named_modules()
        }
        self.graph = Graph(tracer_cls=type(self))
        if hasattr(function, "__code__"):
            code = function.__code__
            self.graph._co_fields = {
                "co_name": code.co_name,
                "co_filename": code.co_filename,
                "co_firstlineno": code.co_firstlineno,
            }
        self.tensor_attrs: dict[Any, str] = {}
        self._collect_tensors(self.root, [])
        if not isinstance(function, FunctionType):
            raise AssertionError(f"{function} is not a Python function")
        names = function.__globals__
        is_module = isinstance(root, Module)
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        cache: dict[str, Any] = {}
        with _Patcher() as patcher:
            patch_module_class(patcher, self, cache)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, names, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
            result = self.create_arg(function(*args))
        annotation = _arguments.return_annotation(function)
        self.create_node("output", "output", (result,), {}, type_expr=annotation)
        self.submodule_paths = None
        return self.graph

    def _function_of(self, root: Module) -> Callable[..., Any]:
        self.root = root
        if not hasattr(type(root), self.traced_func_name):
            raise AssertionError(
                f"traced_func_name={self.traced_func_name} doesn't exist in "
                f"{type(root).__name__}"
            )
        function: Callable[..., Any] = getattr(type(root), self.traced_func_name)
        return function

    def _collect_tensors(self, module: Module, prefix: list[str]) -> None:
        for name, value in module.__dict__.items():
            is_object = isinstance(type(value), ProxyableClassMeta)
            if isinstance(value, pellucid.Tensor) or is_object:
                self.tensor_attrs[value] = ".".join([*prefix, name])
        for name, child in module.named_children():
            self._collect_tensors(child, [*prefix, name])

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        copied = type(self).__new__(type(self))
        for key, value in self.__dict__.items():
            is_shared = key in {"_autowrap_search"}
            copied.__dict__[key] = (
                copy.copy(value) if is_shared else copy.deepcopy(value, memo)
            )
        return copied


def symbolic_trace(
    root: Module | Callable[..., Any],
    concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
) -> GraphModule:
    """A GraphModule of the calls that ``root`` makes.

    Parameters with a value in ``concrete_args`` are constants, which lets the program
    branch on them. Raises ``TraceError``, with the line, where it branches on an input.

    Example::

        traced = symbolic_trace(model)
        print(traced.code)
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    is_module = isinstance(root, Module)
    name = root.__class__.__name__ if is_module else getattr(root, "__name__", "")
    return GraphModule(tracer.root, graph, name)
