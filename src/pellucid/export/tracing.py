"""``export``: a module's program for all sizes of its ranges, as an ExportedProgram."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid import Tensor
from pellucid.export.dims import symbols_of
from pellucid.export.program import (
    CallSpec,
    ExportedProgram,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    Range,
)
from pellucid.func import functional_call
from pellucid.fx.experimental.symbolic_trace import (
    SizeError,
    note_guards,
    trace_specialised,
)
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import Guard, ShapeEnv, Symbol

__all__ = ["decomposed", "export", "register_dataclass"]

_FAR = 1 << 40  # represents a size without a maximum, where guards are checked


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: Sequence[str] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """The program of ``mod`` for these arguments.

    Sizes in ``dynamic_shapes`` (by parameter, then by dimension) stay open within the
    range of their ``Dim``; the program is traced at several sizes of every range, and
    refused, with the line, where it is not one program for all of them. ``strict`` is
    the same either way: Python runs, ops are recorded.

    Raises TypeError for arguments in no tuple, ValueError where a path of the program
    holds for a part of a range only.

    Example::

        batch = Dim("batch", max=1024)
        program = export(model, (x,), dynamic_shapes={"x": {0: batch}})
        program.module()(other_x)
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an nn.Module, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise TypeError(f"Expecting `args` to be a tuple of inputs, got {type(args)}.")
    kwargs = dict(kwargs or {})
    parameters = dict(mod.named_parameters())
    buffers = dict(mod.named_buffers())
    names = [*parameters, *buffers]
    leaves, in_spec = pytree.tree_flatten((args, kwargs))
    out_specs: list[pytree.TreeSpec] = []

    def program(*flat: Any) -> Any:
        own = dict(zip(names, flat[: len(names)], strict=True))
        given, given_kwargs = pytree.tree_unflatten(list(flat[len(names) :]), in_spec)
        result = functional_call(mod, own, given, given_kwargs)
        flat_result, spec = pytree.tree_flatten(result)
        out_specs.append(spec)
        return tuple(flat_result)

    env = ShapeEnv()
    sizes = symbols_of(mod.forward, args, kwargs, dynamic_shapes, env, len(names))
    values = (*parameters.values(), *buffers.values(), *leaves)
    try:
        graph_module = trace_specialised(program, values, sizes, env, pre_dispatch=True)
    except SizeError:
        note_guards(program, values, sizes, env, pre_dispatch=True)
        _check_guards(env)  # the condition says more than the difference
        raise
    _check_guards(env)
    specs = _input_specs(mod, list(parameters), list(buffers), leaves, args, kwargs)
    symbols = {s.name: s for s in env.symbols.values()}
    ranges = [
        Range(s.name, index - len(names), dim, s.lower, s.upper)
        for (index, dim), s in sizes.items()
        if s.name in symbols
    ]
    constants = _lift_constants(graph_module, specs)
    stored = {**parameters, **buffers}
    for spec in specs:
        if spec.kind is InputKind.BUFFER and not spec.persistent:
            constants[str(spec.target)] = stored.pop(str(spec.target))
    _name_inputs(graph_module, specs, leaves)
    return ExportedProgram(
        graph_module,
        ExportGraphSignature(specs, _output_specs(graph_module)),
        stored,
        constants,
        CallSpec(in_spec, out_specs[-1]),
        ranges,
        env.guards,
        (args, kwargs),
    )


def register_dataclass(
    cls: type[Any], *, serialized_type_name: str | None = None
) -> None:
    """Makes a dataclass a nest of its fields, for arguments and results of exported
    modules. ``serialized_type_name``: its name in stored programs.

    Example::

        @dataclass
        class Batch:
            x: torch.Tensor
            mask: torch.Tensor

        register_dataclass(Batch)
    """
    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)


def _input_specs(
    mod: Module,
    parameters: list[str],
    buffers: list[str],
    leaves: list[Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> list[InputSpec]:
    stored = set(mod.state_dict())
    specs = [
        InputSpec(InputKind.PARAMETER, f"p_{_flat(name)}", name) for name in parameters
    ]
    specs += [
        InputSpec(InputKind.BUFFER, f"b_{_flat(name)}", name, name in stored)
        for name in buffers
    ]
    names = _user_names(mod.forward, args, kwargs)
    if len(names) != len(leaves):
        names = [f"input_{i + 1}" for i in range(len(leaves))]
    return specs + [InputSpec(InputKind.USER_INPUT, name) for name in names]


def _flat(name: str) -> str:
    return name.replace(".", "_")


def _user_names(forward: Any, args: Any, kwargs: Mapping[str, Any]) -> list[str]:

    parameters = list(inspect.signature(forward).parameters.values())
    plain = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    names: list[str] = []
    for name, value in [*zip(plain, args, strict=False), *kwargs.items()]:
        count = len(pytree.tree_leaves(value))
        names += [name] if count == 1 else [f"{name}_{i}" for i in range(count)]
    return names


def _name_inputs(
    module: GraphModule, specs: list[InputSpec], leaves: list[Any]
) -> None:
    """Give placeholders the names of what they receive, and note what was expected."""
    nodes = module.graph.find_nodes(op="placeholder")
    space = module.graph._graph_namespace
    for node, spec in zip(nodes, specs, strict=True):
        spec.arg = space.create_name(spec.arg, None)
        node.name = spec.arg
        node.target = spec.arg
    user = [
        n for n, s in zip(nodes, specs, strict=True) if s.kind is InputKind.USER_INPUT
    ]
    for node, leaf in zip(user, leaves, strict=True):
        is_tensor = isinstance(leaf, Tensor)
        node.meta["expected"] = tuple(Tensor.size(leaf)) if is_tensor else leaf
    module.recompile()


def _output_specs(module: GraphModule) -> list[OutputSpec]:
    values = module.graph.output_node().args[0]
    return [
        OutputSpec(OutputKind.USER_OUTPUT, v.name if isinstance(v, Node) else repr(v))
        for v in values
    ]


def _lift_constants(module: GraphModule, specs: list[InputSpec]) -> dict[str, Tensor]:
    """Turn tensors that the program holds into inputs in front of the user's."""
    constants: dict[str, Tensor] = {}
    inputs = module.graph.find_nodes(op="placeholder")
    place = sum(s.kind is not InputKind.USER_INPUT for s in specs)
    for node in module.graph.find_nodes(op="get_attr"):
        name = str(node.target)
        value = getattr(module, name)
        if not isinstance(value, Tensor):  # the graph of a function
            continue
        if name not in constants:
            constants[name] = value
            before = inputs[place] if place < len(inputs) else node
            with module.graph.inserting_before(before):
                made = module.graph.placeholder(f"c_{_flat(name)}")
            made.meta = dict(node.meta)
            specs.insert(place, InputSpec(InputKind.CONSTANT_TENSOR, made.name, name))
            place += 1
            inputs = module.graph.find_nodes(op="placeholder")
        node.replace_all_uses_with(made)
        module.graph.erase_node(node)
    for name in constants:
        delattr(module, name)
    module.recompile()
    return constants


# Guards


def _check_guards(env: ShapeEnv) -> None:
    """Raise ValueError for a condition that is false somewhere in the ranges; an
    optional symbol's range becomes the part where it is true.
    """
    failing = []
    for guard in env.guards:
        if any(not guard.holds(point) for point in _corners(env, guard)):
            failing.append(guard)
    if failing:
        lines = [_explain(guard, env) for guard in failing[:3]]
        raise ValueError("Constraints violated!\n" + "\n".join(lines))


def _corners(env: ShapeEnv, guard: Guard) -> list[dict[str, int]]:
    """The example and the ends of the ranges of the guard's symbols."""
    names = sorted(guard.left.free_symbols | guard.right.free_symbols)
    points = [env.var_to_val]
    for name in names:
        symbol = env.symbols[name]
        ends = (max(symbol.lower, 2), min(symbol.upper, _FAR))
        middle = (ends[0] + ends[1]) // 2
        points += [
            {**p, name: e} for p in list(points) for e in (*ends, middle, ends[0] + 1)
        ]
    return [p for p in points if all(_is_within(env.symbols[n], p[n]) for n in names)]


def _is_within(symbol: Symbol, value: int) -> bool:
    return symbol.lower <= value <= symbol.upper


def _explain(guard: Guard, env: ShapeEnv) -> str:
    names = sorted(guard.left.free_symbols | guard.right.free_symbols)
    about = ", ".join(f"{n} = {env.symbols[n].source}" for n in names)
    advice = ""
    if len(names) == 1 and str(guard.left) == names[0] and guard.right.is_number:
        limit = guard.right.value({})
        bound = {
            "<": f"max={limit - 1}",
            "<=": f"max={limit}",
            ">": f"min={limit + 1}",
            ">=": f"min={limit}",
        }.get(guard.sign)
        if bound:
            advice = f"\n    Suggested fix: {names[0]} = Dim('{names[0]}', {bound})"
    return (
        f"  - Not all values of {about} in the specified range satisfy {guard}\n"
        f"    at {guard.place}{advice}"
    )


def decomposed(
    program: ExportedProgram, table: Mapping[Any, Any] | None
) -> ExportedProgram:
    """The program traced again, into the ops that composites are made of."""
    signature = program.graph_signature
    stored = {**program.constants, **program.state_dict}
    if program.example_inputs is None:
        raise ValueError("run_decompositions needs the program's example_inputs")
    leaves = pytree.tree_leaves(program.example_inputs)
    user = iter(leaves)
    values = tuple(
        next(user) if s.kind is InputKind.USER_INPUT else stored[str(s.target)]
        for s in signature.input_specs
    )
    offset = len(values) - len(leaves)
    env, sizes, made = ShapeEnv(), {}, {}
    for r in program.ranges:
        if r.name not in made:
            hint = Tensor.size(leaves[r.input])[r.dim]
            made[r.name] = env.new_symbol(hint, r.name, r.lower, r.upper, r.name)
        sizes[r.input + offset, r.dim] = made[r.name]
    graph_module = trace_specialised(
        lambda *flat: tuple(program.graph_module(*flat)),
        *(values, sizes, env),
        decomposition_table=dict(table or {}),
    )
    specs = [
        InputSpec(s.kind, s.arg, s.target, s.persistent) for s in signature.input_specs
    ]
    constants = {**program.constants, **_lift_constants(graph_module, specs)}
    _name_inputs(graph_module, specs, leaves)
    return ExportedProgram(
        graph_module,
        ExportGraphSignature(specs, _output_specs(graph_module)),
        program.state_dict,
        constants,
        program.call_spec,
        program.ranges,
        program.guards,
        program.example_inputs,
    )
