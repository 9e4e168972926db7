"""Records one run of a model as a graph: its ops in the scopes of their modules.

The run is recorded below autograd, so the nodes are the executed ops.
Names are paths, as in PyTorch: ``Net/Linear[fc]/addmm_2`` for an op,
``Net/Linear[fc]/weight`` for a parameter, ``input/x``, ``output/output.1``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.versions_pb2 import VersionDef

import pellucid
from pellucid.nn.modules._module_path import ModuleScope
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils._pytree import tree_leaves
from pellucid.utils.tensorboard._numbers import shape_message

_PRODUCER = 22  # the version of graphs in PyTorch's TensorBoard files


def graph(model: Any, args: Any, verbose: bool = False) -> tuple[GraphDef, RunMetadata]:
    """The ops of ``model(*args)`` in evaluation mode, and the metadata of the run."""
    if not isinstance(model, pellucid.nn.Module):
        raise AttributeError(
            f"add_graph needs an nn.Module, given {type(model).__name__}"
        )
    if args is None:
        raise RuntimeError("add_graph runs the model: it needs input_to_model")
    single = isinstance(args, (pellucid.Tensor, dict))
    inputs = (args,) if single else tuple(args)
    nodes = _Nodes(model)
    nodes.add_inputs(model, inputs)
    with _evaluation(model), pellucid.no_grad(), _Scopes(nodes), _Ops(nodes):
        result = model(*inputs)
    nodes.add_outputs(result)
    definition = GraphDef(node=nodes.made, versions=VersionDef(producer=_PRODUCER))
    if verbose:
        print(definition)
    device = DeviceStepStats(device="/device:CPU:0")
    return definition, RunMetadata(step_stats=StepStats(dev_stats=[device]))


class _Nodes:
    """The nodes so far, the node of each tensor, the current scope."""

    def __init__(self, model: Any) -> None:
        self.made: list[NodeDef] = []
        self.scopes = [type(model).__name__]  # of the modules that run
        self.scope_of = dict(_scopes_of(model))
        # Tensors are kept alive, so that ids stay unique.
        self._sources: dict[int, tuple[str, Any]] = {}
        self._unused = dict(_named_tensors(model, self.scope_of))

    def add(self, name: str, op: str, of: Iterable[str], shape: Any, note: str) -> None:
        shapes = AttrValue.ListValue(shape=[shape_message(shape)])
        attributes = {"_output_shapes": AttrValue(list=shapes)}
        attributes["attr"] = AttrValue(s=note.encode())
        self.made.append(NodeDef(name=name, op=op, input=of, attr=attributes))

    def add_inputs(self, model: Any, inputs: tuple[Any, ...]) -> None:
        names = inspect.signature(model.forward).bind(*inputs).arguments
        for name, value in names.items():
            tensors = _tensors(value)
            for index, tensor in enumerate(tensors):
                full = f"input/{name}" + (f".{index + 1}" if len(tensors) > 1 else "")
                self.add(full, "IO Node", (), tensor.shape, "")
                self._sources[id(tensor)] = full, tensor

    def add_op(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        sources = [self._source(tensor) for tensor in _tensors((args, kwargs))]
        op = func.name().split(".")[0]
        name = f"{self.scopes[-1]}/{op.split('::')[-1]}_{len(self.made)}"
        results = _tensors(result)
        shape = results[0].shape if results else ()
        self.add(name, op, sources, shape, _settings(func, args, kwargs))
        for tensor in results:
            self._sources[id(tensor)] = name, tensor

    def add_outputs(self, result: Any) -> None:
        for index, tensor in enumerate(_tensors(result)):
            of = [self._source(tensor)]
            name = f"output/output.{index + 1}"
            self.add(name, "IO Node", of, tensor.shape, "")

    def _source(self, tensor: Any) -> str:
        """The node of a tensor; created now for parameters and constants."""
        if id(tensor) not in self._sources:
            constant = f"{self.scopes[-1]}/constant_{len(self.made)}"
            name = self._unused.pop(id(tensor), "")
            op = "prim::GetAttr" if name else "prim::Constant"
            self.add(name or constant, op, (), tensor.shape, "")
            self._sources[id(tensor)] = name or constant, tensor
        return self._sources[id(tensor)][0]


class _Scopes(ModuleScope):
    """Tracks the running module for the nodes."""

    def __init__(self, nodes: _Nodes) -> None:
        super().__init__()
        self.nodes = nodes

    def _enter_module(self, module: Any, inputs: Any) -> None:
        outer = self.nodes.scopes[-1]
        self.nodes.scopes.append(self.nodes.scope_of.get(id(module), outer))

    def _leave_module(self, module: Any, inputs: Any, output: Any) -> None:
        self.nodes.scopes.pop()


class _Ops(TorchDispatchMode):
    """Makes a node for each op that runs."""

    def __init__(self, nodes: _Nodes) -> None:
        super().__init__()
        self.nodes = nodes

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.nodes.add_op(func, args, kwargs, result)
        return result


def _tensors(values: Any) -> list[pellucid.Tensor]:
    return [each for each in tree_leaves(values) if isinstance(each, pellucid.Tensor)]


def _scopes_of(model: Any) -> Iterator[tuple[int, str]]:
    """Each module with its path, of class and name: Net/Sequential[body]/Linear[0]."""
    paths = {"": type(model).__name__}
    for name, module in model.named_modules():
        if name:
            outer, _, last = name.rpartition(".")
            paths[name] = f"{paths[outer]}/{type(module).__name__}[{last}]"
        yield id(module), paths[name]


def _named_tensors(model: Any, scopes: dict[int, str]) -> Iterator[tuple[int, str]]:
    for module in model.modules():
        for held in (module._parameters, module._buffers):
            for name, tensor in held.items():
                if tensor is not None:
                    yield id(tensor), f"{scopes[id(module)]}/{name}"


def _settings(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Arguments other than tensors, by name."""
    names = (argument.name for argument in func._schema.arguments)
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    kept = {name: value for name, value in given.items() if not _tensors(value)}
    return ", ".join(f"{name}={value}" for name, value in kept.items())


@contextmanager
def _evaluation(model: Any) -> Iterator[None]:
    """A scope in evaluation mode; restores every module's mode."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
