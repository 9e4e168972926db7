"""``pipeline``: splits a model into stages. The model is exported, ``pipe_split`` marks
the ends of stages in its graph, and each stage becomes a module that takes the previous
stage's results. Values read by a later stage pass through the stages in between.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from operator import getitem
from typing import Any, NamedTuple

import pellucid as torch
from pellucid import nn
from pellucid.distributed.pipelining.stage import PipelineStage
from pellucid.export.exported_program import ExportedProgram, program_state
from pellucid.export.tracing import export
from pellucid.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from pellucid.fx.experimental.proxy_tensor import get_proxy_mode
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule, _assign_attr, _get_attr
from pellucid.fx.node import Node, has_side_effect, map_arg
from pellucid.utils import _pytree as pytree

__all__ = ["Pipe", "SplitPoint", "build_stage", "pipe_split", "pipeline"]

_ALIAS: Any = torch.ops.aten.alias.default


@has_side_effect
def pipe_split() -> None:
    """Ends a stage while ``pipeline`` traces a model; otherwise does nothing."""
    mode = get_proxy_mode()
    if mode is not None and mode.enable_tracing:
        mode.tracer.graph.call_function(pipe_split)


class SplitPoint(Enum):
    """Whether a stage begins before a submodule runs, or after it."""

    BEGINNING = 1
    END = 2


@dataclass
class PipeInfo:
    """Facts about the whole pipeline, for ``build_stage``."""

    graph: Graph
    num_stages: int
    has_loss_and_backward: bool = False


class Pipe(nn.Module):
    """A model as a chain of stages; calling it runs them in order.

    ``split_gm`` has them as ``submod_pp_0``, ``submod_pp_1`` and so on. Parameters keep
    their names in the model. A parameter that several stages read is copied, and
    ``replicated_params`` has its names by stage: their gradients must be added.
    """

    has_loss_and_backward = False
    loss_spec: Any = None

    def __init__(self, split_gm: GraphModule, num_stages: int) -> None:
        super().__init__()
        self.split_gm, self.num_stages = split_gm, num_stages
        self.replicated_params = _separated(dict(split_gm.named_children()))

    @staticmethod
    def from_tracing(
        mod: nn.Module,
        example_args: tuple[Any, ...],
        example_kwargs: Mapping[str, Any] | None = None,
        split_policy: Callable[[GraphModule], GraphModule] | None = None,
    ) -> Pipe:
        """Builds a Pipe from a model that calls ``pipe_split``, or to whose graph
        ``split_policy`` adds calls. ``example_args`` are those of one microbatch.
        """
        program = export(mod, example_args, example_kwargs)
        graph_module = _with_attributes(program)
        if split_policy is not None:
            graph_module = split_policy(graph_module)
        stages = _Cut(graph_module).stages(program)
        return Pipe(_chained(stages), len(stages))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the model."""
        result = self.get_stage_module(0)(*args, **kwargs)
        for index in range(1, self.num_stages):
            given = result if isinstance(result, tuple) else (result,)
            result = self.get_stage_module(index)(*given)
        return result

    def get_stage_module(self, stage_idx: int) -> nn.Module:
        """The module of a stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(
                f"Invalid stage index {stage_idx}! The pipe has {self.num_stages}"
            )
        stage: nn.Module = self.split_gm.get_submodule(_name(stage_idx))
        return stage

    def info(self) -> PipeInfo:
        """Facts for ``build_stage``."""
        return PipeInfo(self.split_gm.graph, self.num_stages)

    def build_stage(
        self, stage_index: int, device: Any, group: Any = None
    ) -> PipelineStage:
        """Builds this process's stage, for a schedule."""
        module = self.get_stage_module(stage_index)
        return build_stage(module, stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Prints the code of the stages."""
        for index in range(self.num_stages):
            self.get_stage_module(index).print_readable()

    def __str__(self) -> str:
        return self.split_gm.__str__()

    __repr__ = __str__


def build_stage(
    stage_module: nn.Module,
    stage_index: int,
    pipe_info: PipeInfo,
    device: Any,
    group: Any = None,
) -> PipelineStage:
    """Builds a stage of a Pipe, whose module may have been wrapped."""
    module = stage_module.to(device)
    return PipelineStage(module, stage_index, pipe_info.num_stages, device, group=group)


def pipeline(
    module: nn.Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: Mapping[str, Any] | None = None,
    split_spec: Mapping[str, SplitPoint] | None = None,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:
    """Builds a Pipe of ``module``, traced with the arguments of one microbatch.

    Stages end at calls of ``pipe_split()``, at the submodules in ``split_spec``, or at
    the calls that ``split_policy`` adds to the graph. Example::

        pipe = pipeline(model, (x,), split_spec={"layers.2": SplitPoint.BEGINNING})
        stage = pipe.build_stage(rank, device)
        output = ScheduleGPipe(stage, 4).step(batch)
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError(
            "Cannot specify both `split_spec` and `split_policy`. Please use only one "
            "of them."
        )
    with _split_at(module, split_spec or {}):
        return Pipe.from_tracing(module, mb_args, mb_kwargs, split_policy)


@contextlib.contextmanager
def _split_at(module: nn.Module, spec: Mapping[str, SplitPoint]) -> Iterator[None]:
    """A context in which the submodules call ``pipe_split``."""
    with contextlib.ExitStack() as stack:
        for name, point in spec.items():
            part = _part(module, name)
            if point is SplitPoint.BEGINNING:
                hook = part.register_forward_pre_hook(lambda *_: pipe_split())
            elif point is SplitPoint.END:
                hook = part.register_forward_hook(lambda *_: pipe_split())
            else:
                raise ValueError(
                    f"Unknown split point type {point!r} of {name!r}: give "
                    "SplitPoint.BEGINNING or SplitPoint.END"
                )
            stack.callback(hook.remove)
        yield


def _part(module: nn.Module, name: str) -> nn.Module:
    try:
        part: nn.Module = module.get_submodule(name)
    except AttributeError as error:
        raise AttributeError(
            f"Specified target {name} referenced nonexistent module: {error}"
        ) from None
    return part


# From a program to stages


def _name(index: int) -> str:
    return f"submod_pp_{index}"


def _with_attributes(program: ExportedProgram) -> GraphModule:
    """The program's graph, which reads parameters, buffers and constants by name."""
    state, graph, holder = program_state(program), Graph(), nn.Module()
    made: dict[Node, Any] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in state:
            name, value = state[node.name]
            _assign_attr(value, holder, name)
            made[node] = graph.get_attr(name)
            made[node].meta = dict(node.meta)
        elif node.op == "get_attr":  # a subgraph
            value = _get_attr(program.graph_module, str(node.target))
            _assign_attr(value, holder, str(node.target))
            made[node] = graph.node_copy(node, made.__getitem__)
        else:
            made[node] = graph.node_copy(node, made.__getitem__)
    return GraphModule(holder, graph)


class _Stage(NamedTuple):
    module: GraphModule
    num_outputs: int


class _Cut:
    """The nodes of a graph by the stage that runs them."""

    def __init__(self, graph_module: GraphModule) -> None:
        self._module = graph_module
        self._inputs: list[Node] = []
        self._runs: list[list[Node]] = [[]]
        self._place: dict[Node, int] = {}
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                self._inputs.append(node)
                self._place[node] = 0
            elif node.target is pipe_split:
                if self._runs[-1]:  # drop stages without ops
                    self._runs.append([])
            elif node.op not in ("get_attr", "output"):
                self._runs[-1].append(node)
                self._place[node] = len(self._runs) - 1
        if not self._runs[-1] and len(self._runs) > 1:
            self._runs.pop()
        self._result = graph_module.graph.output_node()
        self._last_use = self._last_uses()

    def _last_uses(self) -> dict[Node, int]:
        found: dict[Node, int] = {}
        last = len(self._runs) - 1
        for index, nodes in enumerate(self._runs):
            found |= {read: index for node in nodes for read in node.all_input_nodes}
        return found | dict.fromkeys(self._result.all_input_nodes, last)

    def _passed(self, index: int) -> list[Node]:
        """The values passed to a stage: all that it and later stages read."""
        return [
            node
            for node, place in self._place.items()
            if place <= index < self._last_use.get(node, -1)
        ]

    def stages(self, program: ExportedProgram) -> list[_Stage]:
        """The module of each stage."""
        return [self._stage(index, program) for index in range(len(self._runs))]

    def _stage(self, index: int, program: ExportedProgram) -> _Stage:
        is_first, is_last = index == 0, index == len(self._runs) - 1
        given = self._inputs if is_first else self._passed(index - 1)
        graph, holder = Graph(), nn.Module()
        made: dict[Node, Node] = {}
        for node in given:
            made[node] = graph.placeholder(node.name)
            made[node].meta = dict(node.meta)

        def value(node: Node) -> Node:
            if node not in made:  # a parameter, under its original name
                name = str(node.target)
                _assign_attr(_get_attr(self._module, name), holder, name)
                made[node] = graph.get_attr(name)
                made[node].meta = dict(node.meta)
            return made[node]

        for node in self._runs[index]:
            made[node] = graph.node_copy(node, value)
        if is_last:
            graph.output(map_arg(self._result.args[0], value))
            count = 1
        else:
            passed = [
                graph.call_function(_ALIAS, (made[node],)) if node in given
                else made[node]
                for node in self._passed(index)
            ]  # fmt: skip
            graph.output(tuple(passed) if len(passed) != 1 else passed[0])
            count = len(passed)
        if is_first or is_last:
            _set_containers(graph, [n.name for n in given], program, is_first, is_last)
        return _Stage(GraphModule(holder, graph), count)


def _set_containers(
    graph: Graph, names: list[str], program: ExportedProgram, takes: bool, gives: bool
) -> None:
    """Makes the first stage take the model's arguments and the last return its
    result.
    """
    spec = program.call_spec.in_spec
    flat = pytree.tree_flatten((tuple(range(len(names))), {}))[1]
    if takes and spec != flat:
        names = _argument_names(program)
    info = _PyTreeInfo(
        ["self", *names],
        spec if takes else flat,
        program.call_spec.out_spec if gives else None,
    )
    graph.set_codegen(_PyTreeCodeGen(info))


def _argument_names(program: ExportedProgram) -> list[str]:
    whole = next(e for e in program.module_call_graph if e.fqn == "")
    assert whole.signature is not None and whole.signature.forward_arg_names is not None
    return whole.signature.forward_arg_names


def _chained(stages: list[_Stage]) -> GraphModule:
    """A module that calls the stages in order."""
    graph, holder = Graph(), nn.Module()
    given: list[Node] = []
    result: Node | None = None
    for index, stage in enumerate(stages):
        holder.add_module(_name(index), stage.module)
        if index == 0:
            inputs = stage.module.graph.find_nodes(op="placeholder")
            given = [graph.placeholder(node.name) for node in inputs]
        result = graph.call_module(_name(index), tuple(given))
        given = [result]
        if stage.num_outputs != 1:
            given = [
                graph.call_function(getitem, (result, k))
                for k in range(stage.num_outputs)
            ]
    graph.output(result)
    return GraphModule(holder, graph)


def _separated(stages: dict[str, nn.Module]) -> list[dict[str, str]]:
    """Copies a parameter that several stages share; returns its names by stage."""
    users: dict[Any, dict[str, str]] = {}
    for stage, module in stages.items():
        for name, parameter in module.named_parameters():
            users.setdefault(parameter, {})[stage] = name
    shared = [names for names in users.values() if len(names) > 1]
    for names in shared:
        for stage, name in names.items():
            owner, _, last = name.rpartition(".")
            module = stages[stage].get_submodule(owner)
            setattr(module, last, copy.deepcopy(getattr(module, last)))
    return shared
