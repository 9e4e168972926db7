"""``_SplitterBase``: cuts a graph into parts for a device and parts for the CPU.

An ``OperatorSupportBase`` says which calls the device runs. Lowering tools derive from
the splitter; ``split_by_tags`` makes the modules.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.operator_support import OperatorSupportBase
from pellucid.fx.passes.shape_prop import ShapeProp
from pellucid.fx.passes.split_utils import split_by_tags
from pellucid.fx.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    get_node_target,
    is_node_output_tensor,
)
from pellucid.nn import Module

__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "SplitResult",
    "Subgraph",
    "generate_inputs_for_submodules",
]


class FxNetSplitterInternalError(Exception):
    """A graph without calls, or a splitter that found no order of its parts."""


@dataclass
class Subgraph:
    """Nodes of one part; ``is_acc``: for the device."""

    is_acc: bool
    nodes: list[Node]
    device_ordinal: int | None = None


class SplitResult(NamedTuple):
    """The module of parts, and example inputs of each part by name."""

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


class _SplitterSettingBase:
    """``min_acc_module_size``: smaller parts for the device go to the CPU;
    ``skip_fusion``: calls that exchange no tensors may be parted; ``allow_non_tensor``:
    parts for the device may take and give other values; ``max_acc_splits``: at most so
    many parts for it (-1: any number).
    """

    def __init__(
        self,
        min_acc_module_size: int = 1,
        skip_fusion: bool = False,
        allow_non_tensor: bool = False,
        max_acc_splits: int = -1,
    ) -> None:
        self.min_acc_module_size = min_acc_module_size
        self.skip_fusion, self.allow_non_tensor = skip_fusion, allow_non_tensor
        self.max_acc_splits = max_acc_splits


class FxNetAccNodesFinder:
    """The calls that the device runs; unless ``allow_non_tensor``, fewer, so that only
    tensors are exchanged with it.
    """

    def __init__(
        self,
        module: GraphModule,
        operator_support: OperatorSupportBase,
        allow_non_tensor: bool,
    ) -> None:
        self.module, self.operator_support = module, operator_support
        self.allow_non_tensor = allow_non_tensor
        self.acc_nodes: set[Node] = set()

    def __call__(self) -> set[Node]:
        parts = dict(self.module.named_modules())
        calls = [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]
        self.acc_nodes = {
            n for n in calls if self.operator_support.is_node_supported(parts, n)
        }
        if not self.allow_non_tensor:
            others = [n for n in calls if n not in self.acc_nodes]
            self._give_up_users(n for n in others if not is_node_output_tensor(n))
            while given := [n for n in self.acc_nodes if self._gives_other(n)]:
                self.acc_nodes -= set(given)
                self._give_up_users(given)
        return self.acc_nodes

    def _gives_other(self, node: Node) -> bool:
        """Whether a part for the CPU would read a value of it that is not a tensor."""
        users = set(node.users)
        return not is_node_output_tensor(node) and not users <= self.acc_nodes

    def _give_up_users(self, nodes: Iterable[Node]) -> None:
        waiting = list(nodes)
        while waiting:
            for user in waiting.pop(0).users:
                if user in self.acc_nodes:
                    self.acc_nodes.remove(user)
                    if not is_node_output_tensor(user):
                        waiting.append(user)


def generate_inputs_for_submodules(
    model: Module,
    inputs: Sequence[Any],
    target_submodules: Iterable[str],
    deepcopy: bool = False,
) -> dict[str, Any]:
    """The arguments of the submodules, by name, when the model is called."""
    found: dict[str, Any] = {}
    names = {part: name for name, part in model.named_modules()}
    wanted = set(target_submodules)

    def note(module: Module, args: Any) -> None:
        found[names[module]] = copy.deepcopy(args) if deepcopy else args

    handles = [
        part.register_forward_pre_hook(note)
        for part, name in names.items()
        if name in wanted
    ]
    try:
        model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


class _SplitterBase:
    """``splitter()`` is a module of parts, ``_run_on_acc_0``, ``_run_on_cpu_1``, ...,
    in an order in which each has its inputs.

    Example::

        splitter = _SplitterBase(traced, (x,), support, _SplitterSettingBase())
        parts = splitter()
    """

    def __init__(
        self,
        module: GraphModule,
        sample_input: Sequence[Any],
        operator_support: OperatorSupportBase,
        settings: _SplitterSettingBase,
        non_acc_submodule_name: str = "_run_on_cpu_",
        return_tuple: bool = False,
        nodes_finder: FxNetAccNodesFinder | None = None,
    ) -> None:
        ShapeProp(module).propagate(*sample_input)
        self.module, self.sample_input = module, sample_input
        self.operator_support, self.settings = operator_support, settings
        finder = nodes_finder or FxNetAccNodesFinder(
            module, operator_support, settings.allow_non_tensor
        )
        self.acc_nodes = finder()
        self.fusions: dict[Node, set[Node]] = {}
        if not settings.skip_fusion:
            self.fusions = FxNetAccFusionsFinder(module, self.acc_nodes)()
        self.deps = self.find_deps()
        for node, fused in self.fusions.items():  # all inputs of a fusion precede it
            self.deps[node] = set().union(*(self.deps[n] for n in fused)) - fused
        self.non_acc_submodule_name = non_acc_submodule_name
        self.tags: list[str] = []
        self._return_tuple = return_tuple

    def find_deps(self) -> dict[Node, set[Node]]:
        """The calls whose results each call reads."""
        return {
            node: {n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS}
            for node in self.module.graph.nodes
            if node.op in CALLABLE_NODE_OPS
        }

    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """Parts for the device and for the CPU in turns, each as large as possible."""
        waiting = list(self.deps)
        if not waiting:
            raise FxNetSplitterInternalError("Couldn't create subgraphs")
        done: set[Node] = set()
        first = next(n for n in waiting if self.deps[n] <= done)
        cpu_starts = [n for n in waiting if not self.deps[n] and not self._is_acc(n)]
        is_acc = not cpu_starts and self._is_acc(first)
        parts: list[Subgraph] = []
        while waiting:
            nodes: list[Node] = []
            while node := self._next(waiting, done, is_acc):
                waiting.remove(node)
                done.add(node)
                nodes.append(node)
            if not nodes:
                raise FxNetSplitterInternalError("Subgraph can't be empty")
            parts.append(Subgraph(is_acc, nodes))
            is_acc = not is_acc
        return parts

    def _is_acc(self, node: Node) -> bool:
        return node in self.acc_nodes

    def _next(
        self, waiting: Sequence[Node], done: set[Node], is_acc: bool
    ) -> Node | None:
        ready = (n for n in waiting if self._is_acc(n) == is_acc)
        return next((n for n in ready if self.deps[n] <= done), None)

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """Gives parts for the device that are too small to the CPU's parts."""
        least = self.settings.min_acc_module_size
        result: list[Subgraph] = []
        for part in subgraphs:
            is_small = part.is_acc and len(part.nodes) < least
            if is_small:
                print(
                    "Eliminating acc subgraph because it's smaller than the "
                    f"threshold: {len(part.nodes)} < {least}"
                )
            is_acc = part.is_acc and not is_small
            if not is_acc and result and not result[-1].is_acc:
                result[-1].nodes += part.nodes
            else:
                result.append(Subgraph(is_acc, list(part.nodes)))
        return result

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Notes at each node the name of its part."""
        for part in subgraphs:
            prefix = "_run_on_acc_" if part.is_acc else self.non_acc_submodule_name
            self.tags.append(f"{prefix}{len(self.tags)}")
            node: Any
            for node in part.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError(f"Node {node} was already tagged")
                node.tag = self.tags[-1]

    def split(self, remove_tag: bool = False) -> GraphModule:
        """The module of the tagged parts."""
        made: GraphModule = split_by_tags(
            self.module, self.tags, return_tuple=self._return_tuple
        )
        if remove_tag:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del node.tag
        return made

    def __call__(self) -> GraphModule:
        parts = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        count = sum(part.is_acc for part in parts)
        print(f"Got {count} acc subgraphs and {len(parts) - count} non-acc subgraphs")
        limit = self.settings.max_acc_splits
        if 0 < limit < count:
            raise ValueError(
                f"Cannot fulfill max_acc_splits limit: {count} parts, at most {limit}"
            )
        self.tag(parts)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """The module of parts, and the inputs of each part for the sample."""
        module = self()
        names = [name for name, _ in module.named_children()]
        inputs = generate_inputs_for_submodules(module, self.sample_input, names)
        return SplitResult(module, inputs, self.non_acc_submodule_name)

    def node_support_preview(self, dump_graph: bool = False) -> str:
        """Prints and returns which calls the device runs, by type of their inputs."""
        parts = dict(self.module.named_modules())
        kinds: dict[bool, dict[str, set[Any]]] = {
            True: defaultdict(set),
            False: defaultdict(set),
        }
        for node in self.deps:
            is_supported = self.operator_support.is_node_supported(parts, node)
            target = get_node_target(parts, node)
            kinds[is_supported][target].add(_dtypes(node))
        text = ""
        for is_supported, name in ((True, "Supported"), (False, "Unsupported")):
            text += f"\n{name} node types in the model:\n"
            for target, dtypes in kinds[is_supported].items():
                for args, kwargs in sorted(dtypes, key=str):
                    text += f"{target}: ({args}, {dict(kwargs)})\n"
        print(text)
        return text


def _dtypes(node: Node) -> tuple[Any, Any]:
    """The dtypes of the tensors that a call reads: by place, by keyword."""

    def dtype_of(value: Any) -> Any:
        known = value.meta.get("tensor_meta") if isinstance(value, Node) else None
        return getattr(known, "dtype", None)

    args = [dtype_of(value) for value in node.args]
    while args and args[-1] is None:
        args.pop()
    kwargs = ((k, dtype_of(v)) for k, v in node.kwargs.items())
    return tuple(args), tuple(sorted((k, d) for k, d in kwargs if d is not None))
