"""``torch.fx.interpreter``: runs a graph node by node.

``Interpreter`` is for passes that observe values; ``Transformer`` builds a new graph by
running with Proxies.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any, cast

from pellucid.fx import traceback as fx_traceback
from pellucid.fx._symbolic_trace import Tracer
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node, map_aggregate, map_arg
from pellucid.fx.proxy import Proxy
from pellucid.nn import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a GraphModule node by node; subclasses override a method per kind of node.

    Example::

        class CountCalls(fx.Interpreter):
            calls = 0

            def run_node(self, n):
                self.calls += 1
                return super().run_node(n)

        CountCalls(traced).run(x)
    """

    def __init__(
        self,
        module: Module,
        garbage_collect_values: bool = True,
        graph: Graph | None = None,
    ) -> None:
        self.module: Any = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = self.module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        if garbage_collect_values:
            self.user_to_last_uses = _last_uses(self.graph)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The result for ``args``; nodes with a value in ``initial_env`` are
        skipped.
        """
        self.env = dict(initial_env) if initial_env is not None else {}
        if enable_io_processing:
            args = tuple(self.graph.process_inputs(*args))
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _add_place(error, node)
                raise
            if self.garbage_collect_values:
                for read in self.user_to_last_uses.get(node, []):
                    del self.env[read]
            if node.op == "output":
                result = self.env[node]
                if enable_io_processing:
                    result = self.graph.process_outputs(result)
                return result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Like ``run`` with a list, which it empties, so that inputs can be freed."""
        nodes = self.graph.find_nodes(op="placeholder")
        env = dict(zip(nodes, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    @contextlib.contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node):
            yield

    def run_node(self, n: Node) -> Any:
        """The value of one node; its inputs are in ``env``."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # One method for each kind of node

    def placeholder(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The next argument of ``run``, or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not "
                "passed in!"
            ) from None

    def get_attr(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of a function."""
        if isinstance(target, str):
            raise AssertionError(f"call_function of the name {target!r}")
        return target(*args, **kwargs)

    def call_method(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of a method of ``args[0]``."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the program returns."""
        return args[0]

    # Helpers for subclasses

    def fetch_attr(self, target: str) -> Any:
        """A value of the module by its dotted name."""
        value: Any = self.module
        parts = target.split(".")
        for index, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(parts[: index + 1])}"
                )
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(
        self, n: Node
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of a node's arguments."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        return cast(tuple[Any, ...], args), cast(dict[str, Any], kwargs)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """``args`` with Nodes replaced by values."""

        def load(read: Node) -> Any:
            if read not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {read}! Run "
                    f"Graph.lint() to "
                    "diagnose such issues"
                )
            return self.env[read]

        return map_arg(args, load)


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(graph.nodes):
        for read in node._input_nodes:
            if read not in seen:
                seen.add(read)
                found.setdefault(node, []).append(read)
    return found


def _add_place(error: BaseException, node: Node) -> None:
    text = f"While executing {node.format_node()}"
    if node.stack_trace:
        text += f"\nOriginal traceback:\n{node.stack_trace}"
    if not error.args:
        error.args = (text,)
    elif isinstance(error.args[0], str) and type(error) is not KeyError:
        error.args = (f"{error.args[0]}\n\n{text}", *error.args[1:])


class Transformer(Interpreter):
    """Builds a new graph from one: overridden methods receive Proxies.

    Example::

        class SwapNegForRelu(fx.Transformer):
            def call_function(self, target, args, kwargs):
                if target is torch.neg:
                    target = torch.relu
                return super().call_function(target, args, kwargs)

        other = SwapNegForRelu(traced).transform()
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A placeholder of the new graph."""
        default = next(iter(args)) if args else inspect.Signature.empty
        has_default = default is not inspect.Signature.empty
        value = default if has_default else ...
        node = self.new_graph.placeholder(target, default_value=value)
        return Proxy(node, self.tracer)

    def get_attr(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A read of an attribute, in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a module, in the new graph."""
        submodule = self.fetch_attr(target)
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def call_function(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a function, in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new GraphModule."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(a: Any) -> Any:
                return a.node if isinstance(a, Proxy) else a

            old = self.graph.output_node()
            made = self.new_graph.output(map_aggregate(result, node_of))
            for key, value in old.meta.items():
                made.meta.setdefault(key, value)
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(Tracer):
    """Adds to the new graph; every module is a leaf."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.tensor_attrs: dict[Any, str] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """True"""
        return True
