"""``torch.fx.graph``: ``Graph``, the nodes of a program in order.

The nodes form a circular list that starts at ``_root``; ``_by_target`` indexes them by
kind and target. ``_codegen.py`` generates source. Read ``node.py`` first.
"""

from __future__ import annotations

import contextlib
import copy
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pellucid
from pellucid.fx import _pytree as fx_pytree
from pellucid.fx._checks import lint as _lint
from pellucid.fx._codegen import CodeGen as CodeGen
from pellucid.fx._codegen import PythonCode as PythonCode
from pellucid.fx._codegen import _PyTreeCodeGen as _PyTreeCodeGen
from pellucid.fx._codegen import _PyTreeInfo as _PyTreeInfo
from pellucid.fx._names import Namespace as _Namespace
from pellucid.fx._names import register_custom_builtin as _register_custom_builtin
from pellucid.fx._names import snake_case as _snake_case
from pellucid.fx._operators import inplace_methods as inplace_methods
from pellucid.fx._operators import magic_methods as magic_methods
from pellucid.fx._operators import (
    reflectable_magic_methods as reflectable_magic_methods,
)
from pellucid.fx.node import Argument, Node, Target, map_arg
from pellucid.utils import _pytree as pytree

__all__ = ["CodeGen", "Graph", "PythonCode"]

_GAP = 1 << 64  # between the sort keys of neighbours
_register_custom_builtin("inf", "from math import inf", float("inf"))
_register_custom_builtin("nan", "from math import nan", float("nan"))
_register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
_register_custom_builtin("torch", "import pellucid as torch", pellucid)
_register_custom_builtin("device", "from pellucid import device", pellucid.device)
_register_custom_builtin(
    "fx_pytree", "import pellucid.fx._pytree as fx_pytree", fx_pytree
)
_register_custom_builtin("pytree", "import pellucid.utils._pytree as pytree", pytree)


class _node_list:
    """The nodes of a Graph in order; nodes may be erased during iteration."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, direction = self.graph._root, self.direction
        current = getattr(root, direction)
        while current is not root:
            if not current._erased:
                yield current
            current = getattr(current, direction)

    def __reversed__(self) -> _node_list:
        other = "_prev" if self.direction == "_next" else "_next"
        return _node_list(self.graph, other)


class _InsertPoint:
    """A context that changes the insertion point."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        self.graph._insert = self.orig_insert


class Graph:
    """The calls of a program, in order.

    Example::

        graph = Graph()
        x = graph.placeholder("x")
        y = graph.call_function(torch.relu, (x,))
        graph.output(y)
        module = GraphModule({}, graph)
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._used_names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen: CodeGen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._by_target: dict[tuple[str, Any], dict[Node, None]] = {}

    @property
    def owning_module(self) -> Any:
        """The GraphModule that it belongs to."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _node_list:
        """Its nodes in order; ``reversed`` works."""
        return _node_list(self)

    def find_nodes(
        self, *, op: str, target: Target | None = None, sort: bool = True
    ) -> list[Node]:
        """The nodes of a kind (and ``target``), found by index."""
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes of call_function needs a target")
        if target is None:
            groups = [v for (kind, _), v in self._by_target.items() if kind == op]
            found = [node for group in groups for node in group]
        else:
            found = list(self._by_target.get(_lookup_key(op, target), ()))
        return sorted(found) if sort else found

    # Copies

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copies the nodes of ``g`` to the insertion point; ``val_map`` receives the
        copy of each and may hold values for inputs. Returns the value of the output.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = memo if memo else {}
        copied = Graph(tracer_cls=self._tracer_cls)
        values: dict[Node, Node] = {}
        output = copied.graph_copy(self, values, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen, memo)
        if output is not None:
            value, old = output
            new = copied.output(value, type_expr=old.type)
            new.meta = dict(old.meta)
        return copied

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """A copy of a node of another graph, with ``arg_transform`` of its inputs."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        copied = self.create_node(
            node.op, node.target, args, kwargs, node.name, node.type
        )
        copied.meta = dict(node.meta)
        return copied

    # Making nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A new node at the insertion point: the end, unless ``inserting_before`` or
        ``inserting_after`` is active.
        """
        if name is None:
            name = self._target_to_str(target)
        if not isinstance(args, tuple | None):
            raise AssertionError(f"args must be a tuple, not {type(args).__name__}")
        if not isinstance(kwargs, dict | None):
            raise AssertionError(f"kwargs must be a dict, not {type(kwargs).__name__}")
        name = self._graph_namespace.create_name(name, None)
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        hooks = getattr(self._owning_module, "_create_node_hooks", ())
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._note(node)
        self._len += 1
        for hook in hooks:
            hook(node)
        return node

    def placeholder(
        self, name: str, type_expr: Any | None = None, default_value: Any = ...
    ) -> Node:
        """An input of the program; ``*args`` and ``**kwargs`` are written so."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """An attribute of the module; warns if the module lacks it."""
        owner = self.owning_module
        if owner is not None and not _has_attribute(owner, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in "
                "the owning GraphModule! Call GraphModule.add_submodule to add the "
                "necessary submodule, GraphModule.add_parameter to add the necessary "
                "Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A call of a submodule by its dotted name."""
        owner = self.owning_module
        if owner is not None and not _has_attribute(owner, module_name):
            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference "
                "in the owning GraphModule! Call GraphModule.add_submodule to add the "
                "necessary submodule",
                stacklevel=2,
            )
        return self.create_node(
            "call_module", module_name, args, kwargs, None, type_expr
        )

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A call of a method of ``args[0]``."""
        return self.create_node(
            "call_method", method_name, args, kwargs, None, type_expr
        )

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name, type_expr
        )

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """What the program returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def output_node(self) -> Node:
        """The node that ``output`` made."""
        return self.find_nodes(op="output")[0]

    # Changing the order

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """A context in which new nodes are inserted before ``node``, by default before
        all nodes.
        """
        if n is None:
            return self.inserting_after(self._root)
        self._own(n, "before")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """A context in which new nodes are inserted after ``node``, by default at the
        end.
        """
        if n is None:
            return self.inserting_before(self._root)
        self._own(n, "after")
        return _InsertPoint(self, n.append)

    def _own(self, node: Node, where: str) -> None:
        if node.graph is not self:
            raise AssertionError(f"Node to insert {where} is not in graph.")

    def erase_node(self, to_erase: Node) -> None:
        """Removes a node without users."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had "
                f"{len(to_erase.users)} "
                f"users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(
                f"erase_node({to_erase}) on an already erased node", stacklevel=2
            )
            return
        for hook in getattr(self._owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        self._forget(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})

    def _set_sort_key(self, node: Node) -> None:
        """A key between those of the neighbours, which are already linked."""
        before, behind = node._prev, node._next
        low = before._sort_key if before is not self._root else None
        high = behind._sort_key if behind is not self._root else None
        if high is None:
            node._sort_key = _GAP if low is None else low + _GAP
        elif low is None:
            node._sort_key = high - _GAP
        elif high - low > 1:
            node._sort_key = low + min((high - low) // 2, 1 << 32)
        else:
            for index, other in enumerate(self.nodes):
                other._sort_key = (index + 1) * _GAP

    def _note(self, node: Node) -> None:
        key = _lookup_key(node.op, node.target)
        self._by_target.setdefault(key, {})[node] = None

    def _forget(self, node: Node) -> None:
        group = self._by_target.get(_lookup_key(node.op, node.target), {})
        if node not in group:  # its target was assigned
            group = next((g for g in self._by_target.values() if node in g), {})
        group.pop(node, None)

    # Passes over it

    def eliminate_dead_code(
        self,
        is_impure_node: Callable[[Node], bool] | None = None,
        impure_random: bool = True,
    ) -> bool:
        """Erases calls without users that neither write in place nor draw random
        numbers. Returns whether it erased any.
        """
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            if node.users:
                continue
            is_impure = (
                is_impure_node(node) or node.op in ("placeholder", "output")
                if is_impure_node
                else node.is_impure(impure_random)
            )
            if not is_impure:
                self.erase_node(node)
                changed = True
        return self._clean_submodules(changed)

    def _clean_submodules(self, changed: bool) -> bool:
        for node in self.nodes:
            if node.op != "get_attr" or self._owning_module is None:
                continue
            inner = getattr(self._owning_module, str(node.target), None)
            graph = getattr(inner, "graph", None)
            if isinstance(graph, Graph):
                changed = graph.eliminate_dead_code() or changed
        return changed

    def lint(self) -> None:
        """Raises RuntimeError if the nodes, their order or targets are invalid."""
        _lint(self)

    # Text

    def _target_to_str(self, target: Target | None) -> str:
        if callable(target):
            name = target.__name__
        elif isinstance(target, str):
            name = target
            if name.startswith("__") and name.endswith("__"):
                name = name[2:-2]
        else:
            raise AssertionError(f"{target} is neither a function nor a name")
        return _snake_case(name)

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        **options: Any,
    ) -> PythonCode:
        """The source of ``forward``; ``root_module`` is the name of the module in
        it.
        """
        namespace = _Namespace()

        def name_of(node: Node) -> str:
            return namespace.create_name(node.name, node)

        with self._names_by(name_of):
            return self._codegen._gen_python_code(
                self.nodes,  # type: ignore[arg-type]
                root_module,
                namespace,
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
                colored=colored,
                expanded_def=expanded_def,
            )

    @contextlib.contextmanager
    def _names_by(self, name_of: Callable[[Node], str]) -> Iterator[None]:
        before = {node: node._repr_fn for node in self.nodes}
        for node in self.nodes:
            node._repr_fn = name_of
        try:
            yield
        finally:
            for node, function in before.items():
                node._repr_fn = function

    def __str__(self) -> str:
        names: list[str] = []
        returned = [""]
        lines = [node.format_node(names, returned) for node in self.nodes]
        text = f"graph(){returned[0]}:"
        return text + "".join(f"\n    {line}" for line in lines if line)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        heads = ["opcode", "name", "target", "args", "kwargs"]
        rows = [
            [n.op, n.name, str(n.target), str(n.args), str(n.kwargs)]
            for n in self.nodes
        ]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [heads, ["-" * width for width in widths], *rows]
        for line in lines:
            cells = (c.ljust(w) for c, w in zip(line, widths, strict=True))
            print("  ".join(cells).rstrip())

    # The code generator

    def set_codegen(self, codegen: CodeGen) -> None:
        """Sets the CodeGen that generates ``forward``."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, from the arguments of ``forward``."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of ``forward``, from the value of the output node."""
        return self._codegen.process_outputs(out)

    def on_generate_code(
        self, make_transformer: Callable[[Any], Callable[[list[str]], list[str]]]
    ) -> Any:
        """Registers a transform of the body's lines, applied when code is generated.

        ``make_transformer(current)`` receives the current transformer, or None. As a
        context manager the result restores it.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_the_end() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until_the_end()


def _lookup_key(op: str, target: Any) -> tuple[str, Any]:
    return (op, target if op == "call_function" else str(target))


def _has_attribute(module: Any, name: str) -> bool:
    try:
        operator.attrgetter(name)(module)
    except AttributeError:
        return False
    return True
