"""``torch.fx.passes.operator_support``: the nodes that a backend supports."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pellucid
from pellucid.fx.node import Node
from pellucid.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target
from pellucid.nn import Module

__all__ = [
    "OpSupports",
    "OperatorSupport",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]

Submodules = Mapping[str, Module]
IsNodeSupported = Callable[[Submodules, Node], bool]
# None, or the dtypes of each argument by position and of those by name.
SupportedArguments = tuple[Sequence[Sequence[Any]], Mapping[str, Sequence[Any]]] | None


class OperatorSupportBase(abc.ABC):
    """The interface that a partitioner uses."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        """Whether the backend runs the node."""


class OperatorSupport(OperatorSupportBase):
    """Support by a table: the name of a target (``tools_common.get_node_target``) to
    the dtypes that its arguments may have, or None for all.

    Nodes that call nothing are supported. Dtypes are read from
    ``meta["tensor_meta"]``.
    """

    def __init__(
        self, support_dict: Mapping[str, SupportedArguments] | None = None
    ) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        """Whether the table has the node's target and the dtypes of its inputs."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        supported = self._support_dict[target]
        if supported is None:
            return True
        by_position, by_name = supported
        given = [*zip(node.args, by_position, strict=False)]
        given += [(node.kwargs.get(name), dtypes) for name, dtypes in by_name.items()]
        return all(_dtype_of(value) in dtypes for value, dtypes in given)


def _dtype_of(value: Any) -> Any:
    if not isinstance(value, Node):
        return None
    return getattr(value.meta.get("tensor_meta"), "dtype", None)


class _ByFunction(OperatorSupportBase):
    def __init__(self, function: IsNodeSupported) -> None:
        self._function = function

    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        return self._function(submodules, node)


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Support by a function of submodules and node."""
    return _ByFunction(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """The intersection of supports."""
    return _ByFunction(
        lambda modules, node: all(
            each.is_node_supported(modules, node) for each in op_support
        )
    )


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """The union of supports."""
    return _ByFunction(
        lambda modules, node: any(
            each.is_node_supported(modules, node) for each in op_support
        )
    )


class OpSupports:
    """Supports that exclude some nodes, for ``chain``."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: pellucid.dtype) -> OperatorSupportBase:
        """Excludes nodes that read a tensor of ``dtype``."""
        return _ByFunction(
            lambda _, node: all(_dtype_of(n) != dtype for n in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Excludes nodes of these names."""
        return _ByFunction(lambda _, node: node.name not in disallow_set)
