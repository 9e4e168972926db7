"""``torch.fx.node``: one call in a Graph.

Nodes of a Graph form a circular list that starts at the Graph's root; ``users`` is kept
consistent with arguments. Read ``graph.py`` next.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pellucid
from pellucid import _C
from pellucid.fx._names import qualified_name as _get_qualified_name
from pellucid.fx._names import type_repr as _type_repr
from pellucid.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from pellucid.fx.graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
BaseArgumentTypes = (
    *(str, int, float, bool, complex, pellucid.dtype, pellucid.Tensor),
    *(pellucid.device, pellucid.memory_format, pellucid.layout, types.NoneType),
    *(_C._OpOverloadBase, range, types.EllipsisType),
)
base_types = BaseArgumentTypes
_KINDS = frozenset(
    {
        *("placeholder", "call_method", "call_module", "call_function"),
        *("get_attr", "output", "root"),
    }
)
_legal_ops = _KINDS
F = TypeVar("F", bound=Callable[..., Any])

# Functions whose calls are kept even without users.
_side_effectful_functions: set[Callable[..., Any]] = {
    pellucid._assert,
    operator.setitem,
}


def has_side_effect(fn: F) -> F:
    """Marks ``fn`` so that its calls are kept even without users; returns ``fn``."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Applies ``fn`` to every leaf of the tuples, lists, dicts and slices in ``a``."""
    if isinstance(a, tuple):
        mapped = [map_aggregate(element, fn) for element in a]
        return type(a)(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(element, fn) for element in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Applies ``fn`` to every Node in ``a``."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


_fx_map_arg, _fx_map_aggregate = map_arg, map_aggregate


class Node:
    """One call in a Graph.

    ``op`` says what kind: ``placeholder`` (an input, ``target`` its name), ``get_attr``
    (an attribute of the module, by its dotted name), ``call_function``, ``call_module``
    (by the module's dotted name), ``call_method`` (of ``args[0]``, by name) or
    ``output``. Arguments hold Nodes where the call takes their results.
    """

    _args: tuple[Argument, ...]
    _kwargs: dict[str, Argument]

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        if op not in _KINDS:
            raise AssertionError(f"{op!r} is not a kind of node: {sorted(_KINDS)}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                    f"{_typename(target)} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{_typename(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self._prev = self._next = self
        self._erased = False
        self._sort_key = 0
        self.meta: dict[str, Any] = {}
        self._update_args_kwargs(args, kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_prev": None, "_next": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # The order of the graph

    @property
    def next(self) -> Node:
        """The next node."""
        return self._next

    @property
    def prev(self) -> Node:
        """The previous node."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Moves ``x`` before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._set_sort_key(x)

    def append(self, x: Node) -> None:
        """Moves ``x`` after this node."""
        self._next.prepend(x)

    def _prepend(self, x: Node) -> None:
        self.prepend(x)

    def _remove_from_list(self) -> None:
        before, behind = self._prev, self._next
        before._next, behind._prev = behind, before

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # Arguments

    @property
    def args(self) -> tuple[Argument, ...]:
        """Positional arguments; assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """Keyword arguments; assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The Nodes in its arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace the positional argument ``idx``."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument before ``idx``."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def _update_args_kwargs(
        self, args: Sequence[Argument], kwargs: Mapping[str, Argument]
    ) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        inputs: dict[Node, None] = {}

        def note(node: Node) -> Node:
            inputs[node] = node.users[self] = None
            return node

        self._args = map_arg(tuple(args), note)
        self._kwargs = map_arg(dict(kwargs), note)
        self._input_nodes = inputs

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Makes its users read ``replace_with``, except those for which
        ``delete_user_cb`` is False. Returns the users that changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, "
                    "propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        hooks = self._replace_hooks()
        changed = []
        for user in list(self.users):
            if delete_user_cb is not None and not delete_user_cb(user):
                continue
            changed.append(user)
            for hook in hooks:
                hook(old=self, new=replace_with.name, user=user)
            user._replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replaces ``old_input`` by ``new_input`` in its arguments."""
        for hook in self._replace_hooks():
            hook(old=old_input, new=new_input.name, user=self)
        self._replace_input_with(old_input, new_input)

    def _replace_input_with(self, old_input: Node, new_input: Node) -> None:
        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def _replace_hooks(self) -> Sequence[Callable[..., Any]]:
        return getattr(self.graph.owning_module, "_replace_hooks", ())

    # Facts

    @property
    def stack_trace(self) -> str | None:
        """The stack trace of the call, if the tracer recorded it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it must be kept without users: it writes in place, draws random
        numbers (unless ``impure_random`` is False), or is an input or the output.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return _function_is_impure(self, impure_random)
        if self.op == "call_method":
            name = str(self.target)
            return name.endswith("_") and not name.endswith("__")
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError(
                    "self.graph.owning_module not set for purity check"
                )
            module = self.graph.owning_module.get_submodule(str(self.target))
            return bool(getattr(module, "_is_impure", False))
        return False

    def normalized_arguments(
        self,
        root: pellucid.nn.Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments by the names of the target's signature, or None."""
        from pellucid.fx import operator_schemas

        if self.op == "call_function":
            target: Any = self.target
            return operator_schemas.normalize_function(
                target,
                *(self.args, self.kwargs, arg_types, kwarg_types),
                normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            return operator_schemas.normalize_module(
                root,
                *(str(self.target), self.args, self.kwargs),
                normalize_to_only_use_kwargs,
            )
        return None

    # Printing

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def _pretty_print_target(self, target: Any) -> str:
        """``operator.add`` rather than ``_operator.add``"""
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module is None or isinstance(target, _C._OpOverloadBase):
            return _get_qualified_name(target)
        if module == "builtins":
            return f"builtins.{target.__name__}"
        if module == "_operator":
            return f"operator.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Its line in ``str(graph)``; appends the names of inputs and the annotation of
        the output to the given lists.
        """
        kind = f"{_type_repr(self.type)} " if self.type else ""
        users = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(str(self.target) + kind)
            kind = f": {kind}" if kind else ": "
            default = f"(default={self.args[0]})" if self.args else ""
            return (
                f"%{self.name} {kind}{users} = "
                f"placeholder[target={self.target}]{default}"
            )
        if self.op == "output":
            if self.type and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        target = self._pretty_print_target(self.target)
        head = f"%{self.name} : {kind}{users} = {self.op}[target={target}]"
        if self.op == "get_attr":
            return head
        return (
            f"{head}(args = {_format_arg(self.args)}, kwargs = "
            f"{_format_arg(self.kwargs)})"
        )


def _typename(target: Any) -> str:
    kind = type(target)
    return f"{kind.__module__}.{kind.__qualname__}"


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    """An argument as ``str(graph)`` prints it, Nodes with a percent sign."""
    formatter = getattr(arg, "_custom_fx_repr_fn", None)
    if formatter is not None:
        return str(formatter())
    if isinstance(arg, list | tuple):
        shown = [
            _format_arg(element, max_list_len)
            for index, element in enumerate(arg)
            if index < max_list_len
        ]
        if len(arg) > max_list_len:
            shown.append(f"...[total_len={len(arg)}]")
        inside = ", ".join(shown)
        if isinstance(arg, list):
            return f"[{inside}]"
        return f"({inside},)" if len(arg) == 1 else f"({inside})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def _function_is_impure(node: Node, impure_random: bool) -> bool:
    target: Any = node.target
    is_overload = isinstance(target, _C._OpOverloadBase)
    if target in _side_effectful_functions or "out" in node.kwargs:
        return True
    if is_overload and (target._schema.is_mutable or not target._schema.returns):
        return True
    if is_overload:
        return impure_random and pellucid.Tag.nondeterministic_seeded in target.tags
    if node.kwargs.get("inplace") is True:
        return True
    name = getattr(target, "__name__", "")
    if name.endswith("_") and getattr(target, "__module__", "").startswith("pellucid"):
        return not name.startswith("__") and not name.endswith("__")
    if not impure_random or not callable(target):
        return False
    return _draws(target)


def _draws(function: Any) -> bool:
    from pellucid._ops import packet_named

    overloads = packet_named(getattr(function, "__name__", "."))
    if overloads is None or not getattr(function, "__module__", "").startswith("pell"):
        return False
    default = getattr(overloads, overloads.overloads()[0])
    return pellucid.Tag.nondeterministic_seeded in default.tags
