"""Modules that run an exported program: ``unflatten`` and ``ExportedProgram.module``.

``module`` gives one graph that owns the parameters and buffers; ``unflatten`` rebuilds
the submodules, so they can be replaced. The nodes of a submodule's call are consecutive
and record the calls that contain them (``fx/experimental/module_stack.py``). A
submodule's inputs are the outside values that its nodes read, its outputs the values
that outside nodes read; parameters and buffers have their original owners. Several
calls with equal graphs share one module.
"""

from __future__ import annotations

import abc
import operator
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple, NoReturn

import pellucid
from pellucid import SymInt, Tensor
from pellucid._package.calls import offered
from pellucid.export.exported_program import (
    ExportedProgram,
    ModuleCallSignature,
    check_sizes,
    program_state,
)
from pellucid.export.graph_signature import InputKind, OutputKind, TensorArgument
from pellucid.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule, _assign_attr
from pellucid.fx.node import Node, map_aggregate
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree

__all__ = [
    "ExportedModule",
    "FlatArgsAdapter",
    "InterpreterModule",
    "UnflattenedModule",
    "unflatten",
]


_SIZE: Any = pellucid.ops.aten.sym_size.int
_WRITE: Any = pellucid.ops.aten.copy_.default
_DETACH: Any = pellucid.ops.aten.detach.default


class InterpreterModule(GraphModule):
    """A submodule of an unflattened program; it may be replaced by another module."""


class UnflattenedModule(InterpreterModule):
    """An exported program with its original module hierarchy."""


class ExportedModule(GraphModule):
    """An exported program as one graph that owns its parameters and buffers.

    ``train`` and ``eval`` raise: layers such as dropout were exported in one mode.
    """

    def train(self, mode: bool = True) -> NoReturn:
        raise NotImplementedError(
            f"Calling {'train' if mode else 'eval'}() is not supported yet: the graph "
            "holds the ops of the mode that the module had when it was exported."
        )


class FlatArgsAdapter(abc.ABC):
    """Converts arguments in other containers to a program's flat arguments; for
    ``unflatten``.
    """

    @abc.abstractmethod
    def adapt(
        self,
        target_spec: pytree.TreeSpec,
        input_spec: pytree.TreeSpec,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any | None = None,
    ) -> list[Any]:
        """The leaves for ``target_spec``, from those of ``input_spec``."""

    def get_flat_arg_paths(self) -> list[str]:
        """Names of the arguments; not used here."""
        return []


def unflatten(
    module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
) -> Any:
    """A module equivalent to the program, with its submodules under their original
    names. A replacement for a submodule receives the tensors that the submodule reads,
    in order of first use; for submodules in ``preserve_module_call_signature`` it
    receives the original arguments. ``flat_args_adapter`` converts arguments whose
    containers differ from those at export.

    Raises ValueError for a program whose nodes do not record their modules.

    Example::

        whole = unflatten(export(model, (x,)))
        whole.head = nn.Linear(64, 10)
        whole(x)
    """
    if not module.module_call_graph:
        raise ValueError(
            "this program does not record its modules; export the module again"
        )
    made = _Parts(module, UnflattenedModule).whole()
    made.register_forward_pre_hook(
        _InputCheck(module, flat_args_adapter), with_kwargs=True
    )
    return made


@offered.into("export.exported_program.ExportedProgram")
def module(self: ExportedProgram, check_guards: bool = True) -> ExportedModule:
    """The program as one GraphModule: parameters, buffers and constants are its
    attributes, its arguments those of the exported module. ``check_guards``: whether a
    call checks sizes.
    """
    made: ExportedModule = _Parts(self, ExportedModule).whole()
    if check_guards:
        made.register_forward_pre_hook(_InputCheck(self, None), with_kwargs=True)
    return made


class _InputCheck:
    """A hook that raises for arguments of another structure or size."""

    def __init__(
        self, program: ExportedProgram, adapter: FlatArgsAdapter | None
    ) -> None:
        self.program, self.adapter = program, adapter

    def __call__(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        expected = self.program.call_spec.in_spec
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != expected and self.adapter is not None:
            leaves = self.adapter.adapt(expected, spec, leaves)
            if len(leaves) != expected.num_leaves:
                raise TypeError(
                    f"the flat_args_adapter returned {len(leaves)} arguments, and the "
                    f"program takes {expected.num_leaves}"
                )
            spec = expected
        if spec != expected:
            kind = ValueError if isinstance(module, ExportedModule) else TypeError
            raise kind(f"the exported program takes {expected}, and was given {spec}")
        check_sizes(self.program, leaves)
        return pytree.tree_unflatten(leaves, spec)


class _Part(NamedTuple):
    module: InterpreterModule
    inputs: list[Node]  # of the program


class _Scope:
    """The graph of a submodule under construction."""

    def __init__(self, path: str, state: dict[str, tuple[str, Tensor]]) -> None:
        self.path, self.state = path, state
        self.graph = Graph()
        self.values: dict[Node, Any] = {}
        self.attributes: dict[str, Any] = {}
        self.inputs: list[Node] = []

    def value(self, node: Node) -> Any:
        """The submodule's node for a node of the program."""
        if node not in self.values:
            name, tensor = self.state.get(node.name, ("", None))
            prefix = f"{self.path}." if self.path else ""
            if tensor is not None and name.startswith(prefix):
                own = name.removeprefix(prefix)
                self.attributes[own] = tensor
                self.values[node] = self.graph.get_attr(own)
            elif not self._add_size(node):
                self.add_input(node)
        return self.values[node]

    def _add_size(self, node: Node) -> bool:
        """Computes a dynamic size from the submodule's own inputs, if it follows from
        them.
        """
        size = node.meta.get("val")
        if not self.path or not isinstance(size, SymInt):
            return False
        if node.target != _SIZE:
            self.values[node] = self.graph.node_copy(node, self.value)
            return True
        for given in self.inputs:
            shape = given.meta.get("val") if isinstance(given, Node) else None
            for dim, known in enumerate(getattr(shape, "symbolic_shape", None) or ()):
                if str(known) == str(size):
                    place = (self.values[given], dim)
                    self.values[node] = self.graph.call_function(_SIZE, place)
                    return True
        return False

    def add_input(self, node: Any) -> None:
        """Adds an input; ``node`` may be a number passed to the call."""
        last = [n for n in self.graph.nodes if n.op == "placeholder"][-1:]
        first = next(iter(self.graph.nodes), None)
        name = node.name if isinstance(node, Node) else f"number_{len(self.inputs)}"
        place = (
            self.graph.inserting_after(last[0])
            if last
            else self.graph.inserting_before(first)
        )
        with place:
            made = self.graph.placeholder(name)
        self.inputs.append(node)
        if isinstance(node, Node):
            made.meta = dict(node.meta)
            self.values[node] = made

    def of(self, value: Any) -> Any:
        """An argument with the program's nodes replaced by the submodule's."""
        return map_aggregate(
            value, lambda x: self.value(x) if isinstance(x, Node) else x
        )

    def finish(self, outputs: Any, signature: ModuleCallSignature | None) -> None:
        self.graph.output(outputs)
        if signature is not None:
            names = ["self", *(signature.forward_arg_names or [])]
            info = _PyTreeInfo(names, signature.in_spec, signature.out_spec)
            self.graph.set_codegen(_PyTreeCodeGen(info))


class _Parts:
    """Builds the modules of one program; only an ``UnflattenedModule`` has parts."""

    def __init__(self, program: ExportedProgram, kind: type[GraphModule]) -> None:
        self.program, self.kind = program, kind
        self.has_parts = issubclass(kind, UnflattenedModule)
        self.state = program_state(program)
        self.nodes = {node.name: node for node in program.graph.nodes}
        entries = {e.fqn: e.signature for e in program.module_call_graph}
        self.signature = entries.pop("", None) or _plain_signature(program)
        self.signatures = {f"L__self__{k}": v for k, v in entries.items() if v}
        self.variants: dict[str, list[tuple[str, InterpreterModule]]] = {}

    def whole(self) -> Any:
        graph = self.program.graph
        scope = _Scope("", self.state)
        for node in graph.find_nodes(op="placeholder"):
            if node.name not in self.state:
                scope.add_input(node)
        body = [n for n in graph.nodes if n.op not in ("placeholder", "output")]
        self._copy(scope, body, 1)
        scope.finish(self._written_back(scope), self.signature)
        name = "UnflattenedModule" if self.has_parts else "GraphModule"
        made = self.kind(scope.attributes, scope.graph, name)
        if not self.has_parts:
            _assign_state(made, dict(self.state.values()), self.program)
        _unlist_buffers(made, self.program)
        _order_parts(made, [e.fqn for e in self.program.module_call_graph])
        return made

    def _written_back(self, scope: _Scope) -> list[Any]:
        """The results, after nodes that write new values to buffers and inputs; a
        result that is a new value is replaced by the tensor it was written to.
        """
        signature = self.program.graph_signature
        placeholders = {
            s.target if s.kind is InputKind.BUFFER else s.arg.name: s.arg.name
            for s in signature.input_specs
        }
        outputs: Any = self.program.graph.output_node().args[0]
        results: list[Any] = []
        for spec, output in zip(signature.output_specs, outputs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                results.append(scope.of([output])[0])
                continue
            owner = scope.value(self.nodes[placeholders[spec.target]])
            new = scope.value(output)
            if spec.kind is OutputKind.BUFFER_MUTATION:
                new = scope.graph.call_function(_DETACH, (new,))
            scope.values[output] = scope.graph.call_function(_WRITE, (owner, new))
        return results

    def _copy(self, scope: _Scope, nodes: Sequence[Node], depth: int) -> None:
        """``depth``: the number of enclosing calls outside this submodule."""

        def call(node: Node) -> str | None:
            if not self.has_parts:
                return None
            stack = list(node.meta.get("nn_module_stack", ()))
            return stack[depth] if len(stack) > depth else None

        for key, run in groupby(nodes, call):
            if key is not None:
                self._call(scope, key, list(run), depth)
                continue
            for node in run:
                if node.op == "get_attr":
                    target = str(node.target)
                    scope.attributes[target] = getattr(
                        self.program.graph_module, target
                    )
                scope.values[node] = scope.graph.node_copy(node, scope.value)

    def _call(self, scope: _Scope, key: str, run: list[Node], depth: int) -> None:
        name = run[0].meta["nn_module_stack"][key][0]
        inside = set(run)
        read = [n for n in run if any(user not in inside for user in n.users)]
        signature = self.signatures.get(key)
        part = None
        if signature is not None:
            part = self._with_signature(name, run, read, depth, signature)
        if part is None:
            signature, part = None, self._without(name, run, read, depth)
        module, target = self._shared(name, part.module)
        prefix = f"{scope.path}." if scope.path else ""
        if target.startswith(prefix):
            target = target.removeprefix(prefix)
        else:  # a submodule of another module that is called here
            target = target.replace(".", "_")
        scope.attributes[target] = module
        given = [scope.of(node) for node in part.inputs]
        if signature is None:
            called = scope.graph.call_module(target, tuple(given))
            self._take(scope, read, called, None if len(read) == 1 else called)
            return
        args, kwargs = pytree.tree_unflatten(given, signature.in_spec)
        called = scope.graph.call_module(target, args, kwargs)
        results = [self._node(a) for a in signature.outputs]
        leaves = None
        if not signature.out_spec.is_leaf():
            leaves = scope.graph.call_function(pytree.tree_leaves, (called,))
        self._take(scope, results, called, leaves, inside)

    def _take(
        self,
        scope: _Scope,
        results: Sequence[Any],
        called: Node,
        leaves: Node | None,
        inside: set[Node] | None = None,
    ) -> None:
        """Makes the results of a call available in the calling submodule."""
        for number, node in enumerate(results):
            if not isinstance(node, Node) or (inside and node not in inside):
                continue
            if leaves is None:
                scope.values[node] = called
            else:
                part = scope.graph.call_function(operator.getitem, (leaves, number))
                scope.values[node] = part
            scope.values[node].meta = {
                k: v for k, v in node.meta.items() if k != "nn_module_stack"
            }

    def _without(
        self, name: str, run: list[Node], read: list[Node], depth: int
    ) -> _Part:
        scope = _Scope(name, self.state)
        self._copy(scope, run, depth + 1)
        outputs = [scope.value(node) for node in read]
        scope.finish(outputs[0] if len(outputs) == 1 else tuple(outputs), None)
        return self._made(scope)

    def _with_signature(
        self,
        name: str,
        run: list[Node],
        read: list[Node],
        depth: int,
        signature: ModuleCallSignature,
    ) -> _Part | None:
        """None if the submodule has more inputs or outputs than its call had."""
        scope = _Scope(name, self.state)
        for argument in signature.inputs:
            scope.add_input(self._node(argument))
        count = len(scope.inputs)
        self._copy(scope, run, depth + 1)
        results = [self._node(a) for a in signature.outputs]
        outputs = scope.of(results)
        if len(scope.inputs) != count or any(n not in results for n in read):
            return None
        scope.finish(list(outputs), signature)
        return self._made(scope)

    def _node(self, argument: Any) -> Any:
        if isinstance(argument, TensorArgument):
            return self.nodes[argument.name]
        return argument.value

    def _made(self, scope: _Scope) -> _Part:
        module = InterpreterModule(scope.attributes, scope.graph, "InterpreterModule")
        return _Part(module, scope.inputs)

    def _shared(
        self, name: str, made: InterpreterModule
    ) -> tuple[InterpreterModule, str]:
        """The module of an earlier call with an equal graph, or this one, and its
        name.
        """
        variants = self.variants.setdefault(name, [])
        form = _form(made.graph)
        for number, (known, module) in enumerate(variants):
            if known == form:
                return module, f"{name}@{number}" if number else name
        variants.append((form, made))
        number = len(variants) - 1
        return made, f"{name}@{number}" if number else name


def _plain_signature(program: ExportedProgram) -> ModuleCallSignature:
    """That of a program from an old file, which does not name the arguments."""
    args, kwargs = program.call_spec.in_spec.children_specs
    names = [f"arg{i}" for i in range(args.num_children)]
    specs = program.call_spec.in_spec, program.call_spec.out_spec
    return ModuleCallSignature([], [], *specs, [*names, *kwargs.context])


def _form(graph: Graph) -> str:
    """The graph as text, independent of node names."""
    numbers = {node: f"%{k}" for k, node in enumerate(graph.nodes)}

    def shown(value: Any) -> Any:
        return map_aggregate(
            value, lambda x: numbers[x] if isinstance(x, Node) else repr(x)
        )

    return "\n".join(
        f"{n.op} {'' if n.op == 'placeholder' else n.target} "
        f"{'' if n.op == 'placeholder' else (shown(n.args), shown(dict(n.kwargs)))}"
        for n in graph.nodes
    )


def _assign_state(
    made: GraphModule, state: dict[str, Tensor], program: ExportedProgram
) -> None:
    """Gives ``made`` all tensors in their original order, read by a node or not:
    constants as plain attributes.
    """
    constants = program.graph_signature.lifted_tensor_constants
    own = {name.split(".")[0] for name in state}
    for kind in (made._parameters, made._buffers, made._modules):
        for name in own & kind.keys():
            del kind[name]
    for name, value in state.items():
        _assign_attr(value, made, name)
        if name in constants:
            owner, _, last = name.rpartition(".")
            holder = made.get_submodule(owner)
            del holder._buffers[last]
            setattr(holder, last, value)


def _unlist_buffers(made: Module, program: ExportedProgram) -> None:
    """Marks buffers as non-persistent that were not in the original ``state_dict``."""
    for part in made.modules():
        for name, buffer in part._buffers.items():
            if any(buffer is value for value in program.constants.values()):
                part._non_persistent_buffers_set.add(name)


def _order_parts(made: Module, names: list[str]) -> None:
    """Sorts submodules in their original order."""
    rank = {name: number for number, name in enumerate(names)}
    for path, part in list(made.named_modules()):
        prefix = f"{path}." if path else ""
        order = {name: rank.get(prefix + name, len(rank)) for name in part._modules}
        for name in sorted(order, key=order.__getitem__):
            part._modules[name] = part._modules.pop(name)
