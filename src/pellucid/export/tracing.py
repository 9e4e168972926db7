"""``export``: traces a module for all sizes of its ranges into an ExportedProgram."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import SymInt, Tensor
from pellucid._compile import state
from pellucid._dynamo.exc import UserError, UserErrorType
from pellucid.export.dynamic_shapes import AdditionalInputs, shapes_of, symbols_of
from pellucid.export.exported_program import (
    CallSpec,
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    Range,
)
from pellucid.export.graph_signature import (
    Argument,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from pellucid.func import functional_call
from pellucid.fx.experimental.module_stack import ModuleStack
from pellucid.fx.experimental.proxy_tensor import trace_once
from pellucid.fx.experimental.size_nodes import SizeError, Sizes
from pellucid.fx.experimental.symbolic_trace import (
    note_guards,
    specialise,
    trace_specialised,
    unite,
)
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.shape_prop import _extract_tensor_metadata
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import DerivedSize, Guard, ShapeEnv, Symbol

if TYPE_CHECKING:
    from pellucid.export.draft import Assumptions

__all__ = [
    "export",
    "exported",
    "register_dataclass",
]

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

    Sizes in ``dynamic_shapes`` (by parameter, then by dimension) are dynamic within the
    range of their ``Dim`` (or are given by a ``ShapesCollection`` or
    ``AdditionalInputs``); the program is traced at several sizes of every range, and
    refused, with the source line, if the traces differ. ``strict`` has no effect:
    Python runs, ops are recorded. ``unflatten`` restores the original arguments and
    results of submodules in ``preserve_module_call_signature``.

    Raises TypeError unless the arguments are a tuple, ValueError if a path of the
    program is valid only for a part of a range.

    Example::

        batch = Dim("batch", max=1024)
        program = export(model, (x,), dynamic_shapes={"x": {0: batch}})
        program.module()(other_x)
    """
    shapes = shapes_of(dynamic_shapes, mod, args, kwargs)
    program = exported(mod, args, kwargs, shapes, preserve_module_call_signature)
    if isinstance(dynamic_shapes, AdditionalInputs):
        dynamic_shapes.verify(program)
    return program


def exported(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    preserve_module_call_signature: Sequence[str],
    assumed: Assumptions | None = None,
) -> ExportedProgram:
    """Implements ``export``; ``assumed`` holds a draft's assumptions."""
    with state.exporting():
        return _exported(
            *(mod, args, kwargs, dynamic_shapes),
            *(preserve_module_call_signature, assumed),
        )


def _exported(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    preserve_module_call_signature: Sequence[str],
    assumed: Assumptions | None,
) -> ExportedProgram:
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

    program.__name__ = GraphModule.__name__  # the class of the traced module
    env, modules = ShapeEnv(), ModuleStack(mod, preserve_module_call_signature)
    options: dict[str, Any] = {"pre_dispatch": True, "modules": modules}
    sizes = symbols_of(mod.forward, args, kwargs, dynamic_shapes, env, len(names))
    values = (*parameters.values(), *buffers.values(), *leaves)
    if assumed is not None:
        sizes = assumed.applied(env, sizes)
    if assumed is not None and assumed.values_are_examples:
        graph_module = trace_once(program, _copies(values), None, **options)
    else:
        graph_module = _traced(program, values, sizes, env, options)
    assert_operands(graph_module)
    specs = _input_specs(mod, list(parameters), list(buffers), leaves, args, kwargs)
    symbols = {s.name: s for s in env.symbols.values()}
    ranges = [
        _range(size, index - len(names), dim)
        for (index, dim), size in sizes.items()
        if size.name in symbols
    ]
    ranges += [
        Range(symbol.name, None, 0, symbol.lower, symbol.upper)
        for symbol in env.symbols.values()
        if symbol.is_unbacked
    ]
    constants = lift_constants(graph_module, specs, _plain_tensors(mod))
    stored = {**parameters, **buffers}
    for spec in specs:
        if spec.kind is InputKind.BUFFER and not spec.persistent:
            constants[str(spec.target)] = stored.pop(str(spec.target))
    name_inputs(graph_module, specs, leaves)
    note_tensors(graph_module)
    return ExportedProgram(
        graph_module,
        ExportGraphSignature(specs, output_specs(graph_module, specs)),
        stored,
        constants,
        CallSpec(in_spec, out_specs[-1]),
        ranges,
        env.guards,
        (args, kwargs),
        _calls_of_parts(mod, modules, in_spec, out_specs[-1]),
    )


def assert_operands(module: GraphModule) -> None:
    """Inserts an assertion before every conversion that its operand has the traced
    dtype and device."""
    aten = pellucid.ops.aten
    for target in (aten.to.dtype, aten.to.device, aten.to.dtype_layout):
        for node in module.graph.find_nodes(op="call_function", target=target):
            value = node.args[0].meta["val"]
            is_ = {"device": value.device, "layout": value.layout}
            with module.graph.inserting_before(node):
                made = module.graph.call_function(
                    aten._assert_tensor_metadata.default,
                    (node.args[0], None, None, value.dtype),
                    is_,
                )
            kept = ("nn_module_stack", "torch_fn", "stack_trace")
            made.meta = {key: node.meta[key] for key in kept if key in node.meta}
    module.recompile()


def _traced(
    program: Any,
    values: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    options: dict[str, Any],
) -> GraphModule:
    """The graph for all sizes. Ranges that are inferred are narrowed to the part in
    which the program takes the example's path.
    """
    is_known = not any(size.root.is_inferred for size in sizes.values())
    while True:
        try:
            if is_known:
                return _checked_trace(program, values, sizes, env, options)
            note_guards(program, values, sizes, env, **options)
            _check_guards(env)
            is_known = True
        except ConstraintError as error:
            if not all(_infer(guard, sizes, env) for guard in error.guards):
                raise
        env.forget_guards()


def _checked_trace(
    program: Any,
    values: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    options: dict[str, Any],
) -> GraphModule:
    try:
        graph_module = trace_specialised(program, values, sizes, env, **options)
    except SizeError:
        note_guards(program, values, sizes, env, **options)
        _check_guards(env)  # the condition is more informative than the difference
        raise
    _check_guards(env)
    return graph_module


def _infer(guard: Guard, sizes: Sizes, env: ShapeEnv) -> bool:
    """Makes a condition hold by what is inferred of its sizes: one symbol for two, a
    narrower range, or the example's number. False where their ranges are given.
    """
    names = sorted(guard.left.free_symbols | guard.right.free_symbols)
    symbols = [env.symbols[name] for name in names if name in env.symbols]
    bound = bound_of(guard)
    are_equal = guard.sign == "==" and [str(guard.left), str(guard.right)] in (
        names,
        names[::-1],
    )
    if are_equal and len(symbols) == 2 and all(s.is_inferred for s in symbols):
        unite(symbols, sizes, env)
        return True
    if bound is not None and symbols and symbols[0].is_inferred:
        end, limit = bound
        is_new = getattr(symbols[0], end) != limit
        setattr(symbols[0], end, limit)
        if is_new:
            return True
    given_up = next((s for s in symbols if s.is_optional), None)
    if given_up is not None:
        specialise(given_up, sizes, env)
    return given_up is not None or len(symbols) < len(names)


def _range(size: Symbol | DerivedSize, index: int, dim: int) -> Range:
    root = size.root
    made = Range(root.name, index, dim, root.lower, root.upper)
    if isinstance(size, DerivedSize):
        made.factor, made.offset = size.factor, size.offset
    return made


def _copies(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies of the inputs, since the program may write to them."""
    return tuple(
        v.detach().clone().requires_grad_(v.requires_grad)
        if isinstance(v, Tensor)
        else v
        for v in values
    )


def _calls_of_parts(
    mod: Module,
    modules: ModuleStack,
    in_spec: pytree.TreeSpec,
    out_spec: pytree.TreeSpec,
) -> list[ModuleCallEntry]:
    parts = dict(mod.named_modules())
    names = _argument_names(mod.forward, in_spec)
    whole = ModuleCallSignature([], [], in_spec, out_spec, names)
    entries = {name: ModuleCallEntry(name) for name in parts}
    entries[""] = ModuleCallEntry("", whole)
    for key, call in modules.calls.items():
        name = key.removeprefix("L__self__")
        if name:
            names = _argument_names(parts[name.split("@")[0]].forward, call.in_spec)
            given, results = _arguments(call.inputs), _arguments(call.outputs)
            signature = ModuleCallSignature(
                given, results, call.in_spec, call.out_spec, names
            )
            entries[name] = ModuleCallEntry(name, signature)
    return list(entries.values())


def _argument_names(forward: Any, in_spec: pytree.TreeSpec) -> list[str]:
    """Names for the positional arguments of a call, then those of its keywords."""
    args, kwargs = in_spec.children_specs
    parameters = inspect.signature(forward).parameters.values()
    plain = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    count = args.num_children
    names = plain[:count] if len(plain) >= count else [f"arg{i}" for i in range(count)]
    return [*names, *kwargs.context]


def _arguments(values: list[Any]) -> list[Argument]:
    return [
        _argument(v.meta.get("lifted", v) if isinstance(v, Node) else v) for v in values
    ]


def _argument(value: Any) -> Argument:
    if not isinstance(value, Node):
        return ConstantArgument("", value)
    is_size = isinstance(value.meta.get("val"), SymInt)
    return (SymIntArgument if is_size else TensorArgument)(value.name)


def register_dataclass(
    cls: type[Any], *, serialized_type_name: str | None = None
) -> None:
    """Registers a dataclass as a container of its fields, for arguments and results of
    exported modules. ``serialized_type_name`` is its name in stored programs.

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
        InputSpec(InputKind.PARAMETER, TensorArgument(f"p_{_flat(name)}"), name)
        for name in parameters
    ]
    specs += [
        InputSpec(
            InputKind.BUFFER, TensorArgument(f"b_{_flat(name)}"), name, name in stored
        )
        for name in buffers
    ]
    names = _user_names(mod.forward, args, kwargs)
    if len(names) != len(leaves):
        names = [f"input_{i + 1}" for i in range(len(leaves))]
    return specs + [
        InputSpec(
            InputKind.USER_INPUT,
            TensorArgument(name)
            if isinstance(leaf, Tensor)
            else ConstantArgument(name, leaf),
        )
        for name, leaf in zip(names, leaves, strict=True)
    ]


def _flat(name: str) -> str:
    return name.replace(".", "_")


def _user_names(forward: Any, args: Any, kwargs: Mapping[str, Any]) -> list[str]:
    names: list[str] = []
    plain: list[str] = []
    for parameter in inspect.signature(forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = range(max(0, len(args) - len(plain)))
            plain += [f"{parameter.name}_{i}" for i in rest]
            break
        plain.append(parameter.name)
    for name, value in [*zip(plain, args, strict=False), *kwargs.items()]:
        count = len(pytree.tree_leaves(value))
        names += [name] if count == 1 else [f"{name}_{i}" for i in range(count)]
    return names


def name_inputs(module: GraphModule, specs: list[InputSpec], leaves: list[Any]) -> None:
    """Names placeholders after their arguments, and records expected values."""
    nodes = module.graph.find_nodes(op="placeholder")
    space = module.graph._graph_namespace
    for node, spec in zip(nodes, specs, strict=True):
        if node.name != spec.arg.name:
            spec.arg.name = space.create_name(spec.arg.name, None)
        node.name = node.target = spec.arg.name
    user = [
        n for n, s in zip(nodes, specs, strict=True) if s.kind is InputKind.USER_INPUT
    ]
    for node, leaf in zip(user, leaves, strict=True):
        is_tensor = isinstance(leaf, Tensor)
        node.meta["expected"] = tuple(Tensor.size(leaf)) if is_tensor else leaf
    module.recompile()


def note_tensors(module: GraphModule) -> None:
    """Records in ``meta["tensor_meta"]`` the shape, dtype and strides of values."""
    for node in module.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, Tensor):
            node.meta["tensor_meta"] = _extract_tensor_metadata(value, False)


def output_specs(
    module: GraphModule, specs: list[InputSpec], written: Sequence[int] = ()
) -> list[OutputSpec]:
    """``written``: the inputs whose new values are the first outputs."""
    values = module.graph.output_node().args[0]
    made = []
    for place, value in zip(written, values, strict=False):
        kind, target = OutputKind.BUFFER_MUTATION, specs[place].target
        if specs[place].kind is InputKind.USER_INPUT:
            kind, target = OutputKind.USER_INPUT_MUTATION, specs[place].arg.name
        made.append(OutputSpec(kind, _argument(value), target))
    results = values[len(written) :]
    return made + [OutputSpec(OutputKind.USER_OUTPUT, _argument(v)) for v in results]


def _plain_tensors(mod: Module) -> dict[int, str]:
    """The names of tensors that are plain attributes of modules, by identity."""
    return {
        id(value): f"{path}.{name}" if path else name
        for path, part in mod.named_modules()
        for name, value in vars(part).items()
        if isinstance(value, Tensor)
    }


def lift_constants(
    module: GraphModule,
    specs: list[InputSpec],
    names: Mapping[int, str],
    first_number: int = 0,
) -> dict[str, Tensor]:
    """Turns the program's own tensors into inputs before the user's. ``names``: those
    of tensors that are attributes; the others are numbered, from ``first_number``.
    """
    constants: dict[str, Tensor] = {}
    known: dict[str, str] = {}
    numbers = itertools.count(first_number)
    inputs = module.graph.find_nodes(op="placeholder")
    place = sum(s.kind is not InputKind.USER_INPUT for s in specs)
    for node in module.graph.find_nodes(op="get_attr"):
        value = getattr(module, str(node.target))
        if not isinstance(value, Tensor):  # a subgraph
            continue
        name = known.get(str(node.target))
        if name is None:
            name = names.get(id(value)) or f"lifted_tensor_{next(numbers)}"
            known[str(node.target)] = name
            constants[name] = value
            before = inputs[place] if place < len(inputs) else node
            with module.graph.inserting_before(before):
                made = module.graph.placeholder(f"c_{_flat(name)}")
            made.meta = dict(node.meta)
            made.meta.pop("nn_module_stack", None)
            node.meta["lifted"] = made  # for records of calls
            argument = TensorArgument(made.name)
            specs.insert(place, InputSpec(InputKind.CONSTANT_TENSOR, argument, name))
            place += 1
            inputs = module.graph.find_nodes(op="placeholder")
        node.replace_all_uses_with(made)
        module.graph.erase_node(node)
    for name in known:
        delattr(module, name)
    module.recompile()
    return constants


# Guards


class ConstraintError(UserError, ValueError):
    """Raised for conditions that are false in a part of the ranges."""

    def __init__(self, guards: list[Guard], env: ShapeEnv) -> None:
        lines = [_explain(guard, env) for guard in guards[:3]]
        super().__init__(
            UserErrorType.CONSTRAINT_VIOLATION,
            "Constraints violated!\n" + "\n".join(lines),
        )
        self.guards = guards


def _check_guards(env: ShapeEnv) -> None:
    """Raises ConstraintError for conditions that are false somewhere in the ranges."""
    failing = []
    for guard in env.guards:
        if any(not guard.holds(point) for point in _corners(env, guard)):
            failing.append(guard)
    if failing:
        raise ConstraintError(failing, env)


def _corners(env: ShapeEnv, guard: Guard) -> list[dict[str, int]]:
    """The example's values and the range ends of the guard's symbols."""
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


def bound_of(guard: Guard) -> tuple[str, int] | None:
    """The range end that the condition expresses: ``("upper", 100)``."""
    names = guard.left.free_symbols | guard.right.free_symbols
    if len(names) != 1 or str(guard.left) not in names or not guard.right.is_number:
        return None
    limit = guard.right.value({})
    return {
        "<": ("upper", limit - 1),
        "<=": ("upper", limit),
        ">": ("lower", limit + 1),
        ">=": ("lower", limit),
    }.get(guard.sign)


def _explain(guard: Guard, env: ShapeEnv) -> str:
    names = sorted(guard.left.free_symbols | guard.right.free_symbols)
    about = ", ".join(f"{n} = {env.symbols[n].source}" for n in names)
    advice, bound = "", bound_of(guard)
    if bound:
        setting = f"{'min' if bound[0] == 'lower' else 'max'}={bound[1]}"
        advice = f"\n    Suggested fix: {names[0]} = Dim('{names[0]}', {setting})"
    return (
        f"  - Not all values of {about} in the specified range satisfy {guard}\n"
        f"    at {guard.place}{advice}"
    )
