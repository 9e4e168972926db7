"""Matches calls of a graph with patterns of a backend's table.

A pattern is nested and begins with its last call, and so are the nodes of a match:
``(relu, (norm, conv))``. The root is the node with the weight and the inputs: the
innermost by default.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pellucid.ao.quantization.backend_config import (
    BackendConfig,
    BackendPatternConfig,
    ObservationType,
)
from pellucid.ao.quantization.fake_quantize import FakeQuantizeBase
from pellucid.ao.quantization.observer import ObserverBase
from pellucid.fx import Graph, Node
from pellucid.nn import Module
from pellucid.nn.utils.parametrize import type_before_parametrizations

Modules = dict[str, Any]


class MatchAllNode:
    """A wildcard of patterns: any argument."""


def is_observer(module: Any) -> bool:
    """Whether a module is an observer or a fake quantizer."""
    return isinstance(module, ObserverBase | FakeQuantizeBase)


def is_observer_node(node: Any, modules: Modules) -> bool:
    """Whether a node calls an observer."""
    is_call = isinstance(node, Node) and node.op == "call_module"
    return is_call and is_observer(modules[str(node.target)])


def matches(node: Any, pattern: Any, modules: Modules, is_last: bool = True) -> bool:
    """Whether a node with its inputs matches a pattern; inner nodes have one user."""
    call, *operands = pattern if isinstance(pattern, tuple) else (pattern,)
    if call is MatchAllNode or node == pattern:
        return True
    if not isinstance(node, Node) or not node.op.startswith("call"):
        return False
    if not is_last and len(node.users) > 1:
        return False
    if called(node, modules) != (node.op, call):
        return False
    if call is getattr:
        return bool(node.args[1] == operands[0])
    if not operands:
        return True
    return len(operands) == len(node.args) and all(
        matches(argument, operand, modules, is_last=False)
        for argument, operand in zip(node.args, operands, strict=True)
    )


def called(node: Node, modules: Modules) -> tuple[str, Any]:
    """(op, target): the class of a module, else the function or the name."""
    if node.op != "call_module":
        return node.op, node.target
    return node.op, type_before_parametrizations(modules[str(node.target)])


def nodes_of(node: Any, pattern: Any) -> Any:
    """The nodes of a match, nested like the pattern."""
    if not isinstance(pattern, tuple) or pattern[0] is getattr:
        return node
    inner = (nodes_of(a, p) for a, p in zip(node.args, pattern[1:], strict=True))
    return (node, *inner)


def leaves(nodes: Any) -> Iterator[Any]:
    """The leaves of nested tuples, in order."""
    if not isinstance(nodes, tuple):
        yield nodes
        return
    for each in nodes:
        yield from leaves(each)


@dataclass
class Match:
    """Nodes that match a pattern, or call a module that the user configures."""

    last: Node
    nodes: Any
    pattern: Any = None
    config: BackendPatternConfig | None = None
    shares_observer: bool = False
    is_custom: bool = False
    is_standalone: bool = False

    @property
    def root(self) -> Node:
        """The node with the weight and the inputs."""
        getter = self.config and self.config._root_node_getter
        found: Node = getter(self.nodes) if getter else list(leaves(self.nodes))[-1]
        return found

    def members(self) -> Iterator[Node]:
        """Its nodes, without other arguments in the pattern."""
        return (each for each in leaves(self.nodes) if isinstance(each, Node))


class PatternTable:
    """A backend's patterns by their last call, longer ones first."""

    def __init__(self, backend: BackendConfig, only_fusions: bool = False) -> None:
        self._by_call: dict[Any, list[tuple[Any, BackendPatternConfig]]] = {}
        ordered = sorted(backend.by_pattern.items(), key=lambda item: -_size(item[0]))
        for pattern, config in ordered:
            if only_fusions and config.fuser_method is None:
                continue
            call = pattern[0] if isinstance(pattern, tuple) else pattern
            self._by_call.setdefault(call, []).append((pattern, config))

    def match(self, node: Node, modules: Modules) -> Match | None:
        """The longest pattern that ends with a node."""
        if not node.op.startswith("call"):
            return None
        for pattern, config in self._by_call.get(called(node, modules)[1], ()):
            if matches(node, pattern, modules):
                return Match(node, nodes_of(node, pattern), pattern, config)
        return None


def _size(pattern: Any) -> int:
    if not isinstance(pattern, tuple):
        return 1
    return 1 + sum(map(_size, pattern[1:]))


def find(graph: Graph, modules: Modules, table: PatternTable) -> dict[Node, Match]:
    """The match of each node, searched from the end of the graph."""
    found: dict[Node, Match] = {}
    for node in reversed(graph.nodes):
        match = None if node in found else table.match(node, modules)
        if match is not None:
            found |= dict.fromkeys(match.members(), match)
    return found


def find_observed(
    graph: Graph, modules: Modules, backend: BackendConfig
) -> dict[Node, Match]:
    """``find`` for all patterns, with whether their results share an observer."""
    found = find(graph, modules, PatternTable(backend))
    tensorless = without_tensors(graph, modules)
    for match in {id(match): match for match in found.values()}.values():
        match.shares_observer = _shares(match, tensorless)
    return found


def _shares(match: Match, tensorless: set[Node]) -> bool:
    assert match.config is not None
    kind = match.config.observation_type
    by_tensors = match.config._num_tensor_args_to_observation_type
    if by_tensors:
        inputs = [each for each in match.root.args if isinstance(each, Node)]
        count = sum(each not in tensorless for each in inputs)
        if count not in by_tensors:
            raise AssertionError(
                f"the backend config defines how {match.pattern} is observed with "
                f"{sorted(by_tensors)} tensors; {match.root} has {count}"
            )
        kind = by_tensors[count]
    return kind is ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT


def without_tensors(graph: Graph, modules: Modules) -> set[Node]:
    """Nodes that do not return tensors: sizes, and numbers computed from them."""
    found: set[Node] = set()
    for node in graph.nodes:
        if _is_tensorless(node, modules, found):
            found.add(node)
    return found


def _is_tensorless(node: Node, modules: Modules, known: set[Node]) -> bool:
    if node.op == "call_module":
        return is_observer_node(node, modules) and node.args[0] in known
    if node.op not in ("call_function", "call_method"):
        return False
    if node.target is operator.getitem:
        return node.args[0] in known
    if node.target is getattr:
        return node.args[1] in ("ndim", "shape")
    if node.op == "call_method" and node.target == "size":
        return True
    return all(_is_number(argument, known) for argument in node.args)


def _is_number(argument: Any, known: set[Node]) -> bool:
    if isinstance(argument, list):
        return all(each in known for each in argument if isinstance(each, Node))
    return isinstance(argument, int) or (
        isinstance(argument, Node) and argument in known
    )


def module_names(model: Module) -> Modules:
    """All submodules by name, including duplicate names."""
    return dict(model.named_modules(remove_duplicate=False))
