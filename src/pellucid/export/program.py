"""``ExportedProgram``: a graph with its signature, its values and ranges of sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pellucid import Tensor
from pellucid.export.graph_signature import (
    Argument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
)
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.nn import Module, Parameter
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import INFINITY, Guard
from pellucid.utils._symbolic.expressions import Expr

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature"]


@dataclass
class CallSpec:
    """How arguments and results are flattened."""

    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec


@dataclass
class ModuleCallSignature:
    """The arguments and results of a submodule's call."""

    inputs: list[Argument]
    outputs: list[Argument]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    forward_arg_names: list[str] | None = None


@dataclass
class ModuleCallEntry:
    """A submodule's call; further calls have ``@`` and a number in their name."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclass
class Range:
    """The allowed sizes of one dimension of an input."""

    name: str
    input: int  # among the flat arguments
    dim: int
    lower: int
    upper: int
    factor: int = 1  # the size is ``factor * name + offset``
    offset: int = 0

    @property
    def expr(self) -> str:
        """The size as an expression of its name."""
        size = Expr.constant(self.factor) * Expr.symbol(self.name)
        return str(size + Expr.constant(self.offset))

    def __str__(self) -> str:
        low, high = (
            self.factor * end + self.offset for end in (self.lower, self.upper)
        )
        return f"[{low}, {'inf' if self.upper >= INFINITY else high}]"


@dataclass
class ExportedProgram:
    """A program as a graph of ops, with its parameters: the result of ``export``.

    ``module()`` returns a module that runs it; ``graph_module.code`` shows it. An
    exported graph contains in-place ops on buffers and inputs; after
    ``run_decompositions`` the graph has none, and returns the values that ``module()``
    writes before the results (``graph_signature.buffers_to_mutate``).
    """

    graph_module: GraphModule
    graph_signature: ExportGraphSignature
    state_dict: dict[str, Tensor]
    constants: dict[str, Tensor]
    call_spec: CallSpec
    ranges: list[Range]
    guards: list[Guard] = field(default_factory=list)
    example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    module_call_graph: list[ModuleCallEntry] = field(default_factory=list)
    _report: Any = None  # a draft's assumptions

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.graph_module.graph

    @property
    def range_constraints(self) -> dict[str, Range]:
        """The ranges of dynamic sizes by name or expression."""
        return {r.expr: r for r in self.ranges}

    def parameters(self) -> Iterator[Tensor]:
        """The parameters."""
        return (value for _, value in self.named_parameters())

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters by name."""
        return ((n, self.state_dict[n]) for n in self.graph_signature.parameters)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        return (value for _, value in self.named_buffers())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers by name."""
        values = {**self.constants, **self.state_dict}
        return ((n, values[n]) for n in self.graph_signature.buffers)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use "
            "`exported_program.module()` instead."
        )

    def module(self, check_guards: bool = True) -> Module:
        """A module with the program's parameters and buffers, which checks sizes."""
        return ExportedModule(self)

    def run_decompositions(
        self, decomp_table: Mapping[Any, Any] | None = None
    ) -> ExportedProgram:
        """The program in smaller ops: composites are decomposed, and ops of the table
        are replaced by its functions. The default table gives Core ATen ops
        (``default_decompositions``), an empty one PyTorch's ops. The graph has no
        in-place writes: new values of buffers and inputs are among its outputs.
        """
        from pellucid.export.decomposed import decomposed, default_decompositions

        table = default_decompositions() if decomp_table is None else decomp_table
        return decomposed(self, table)

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False)
        body = "\n".join(f"    {line}".rstrip() for line in code.split("\n"))
        ranges = ", ".join(f"{r.expr}: {r}" for r in self.ranges)
        return (
            f"ExportedProgram:\n{body}\n{self._signature_text()}"
            f"Range constraints: {{{ranges}}}\n"
        )

    def _signature_text(self) -> str:
        lines = str(self.graph_signature).split("\n")
        return "\n".join(["Graph signature:", *(f"    {x}".rstrip() for x in lines)])


class ExportedModule(Module):
    """Runs an ExportedProgram."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self.__dict__["_program"] = program
        signature = program.graph_signature
        for name in signature.parameters:
            value = program.state_dict[name]
            if not isinstance(value, Parameter):
                value = Parameter(value, requires_grad=value.requires_grad)
            owner, last = _owner(self, name)
            owner.register_parameter(last, value)
        for name in signature.buffers:
            is_stored = name in program.state_dict
            value = (program.state_dict if is_stored else program.constants)[name]
            owner, last = _owner(self, name)
            owner.register_buffer(last, value, persistent=is_stored)

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""
        program: ExportedProgram = self.__dict__["_program"]
        return program.graph

    @property
    def code(self) -> str:
        """The graph's code."""
        program: ExportedProgram = self.__dict__["_program"]
        return program.graph_module.code

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The program's result. Raises for arguments of another structure."""
        program: ExportedProgram = self.__dict__["_program"]
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != program.call_spec.in_spec:
            raise ValueError(
                f"the exported program takes {program.call_spec.in_spec}, and was "
                f"given "
                f"{spec}"
            )
        check_sizes(program, leaves)
        own = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        user = iter(leaves)
        given = [
            next(user)
            if s.kind is InputKind.USER_INPUT
            else program.constants[str(s.target)]
            if s.kind is InputKind.CONSTANT_TENSOR
            else own[str(s.target)]
            for s in program.graph_signature.input_specs
        ]
        results = written_back(program, program.graph_module(*given), given)
        return pytree.tree_unflatten(results, program.call_spec.out_spec)


def written_back(
    program: ExportedProgram, outputs: Sequence[Any], given: Sequence[Any]
) -> list[Any]:
    """The results among the graph's outputs, after writing new values to the buffers
    and inputs that the graph was ``given``. A result that is a new value is replaced by
    the tensor it was written to. No gradient passes through a buffer.
    """
    places = {s.arg.name: k for k, s in enumerate(program.graph_signature.input_specs)}
    buffers = {t: n for n, t in program.graph_signature.inputs_to_buffers.items()}
    owners: dict[str, Any] = {}
    results: list[Any] = []
    specs = program.graph_signature.output_specs
    for spec, value in zip(specs, outputs, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            results.append(owners.get(spec.arg.name, value))
            continue
        is_buffer = spec.kind is OutputKind.BUFFER_MUTATION
        name = buffers[str(spec.target)] if is_buffer else str(spec.target)
        owner = given[places[name]]
        owner.copy_(value.detach() if is_buffer else value)
        owners[spec.arg.name] = owner
    return results


def _owner(module: Module, name: str) -> tuple[Module, str]:
    *path, last = name.split(".")
    for part in path:
        if not hasattr(module, part):
            module.add_module(part, Module())
        module = getattr(module, part)
    return module, last


def program_state(program: ExportedProgram) -> dict[str, tuple[str, Tensor]]:
    """Names and tensors of parameters, buffers and constants, by placeholder."""
    values = {**program.constants, **program.state_dict}
    return {
        spec.arg.name: (str(spec.target), values[str(spec.target)])
        for spec in program.graph_signature.input_specs
        if spec.kind is not InputKind.USER_INPUT
    }


def check_sizes(program: ExportedProgram, leaves: list[Any]) -> None:
    """Raises RuntimeError for a size that is not the example's or outside its range."""
    count = len(program.graph_signature.input_specs) - len(leaves)
    nodes = program.graph.find_nodes(op="placeholder")[count:]
    open_sizes = {(r.input, r.dim): r for r in program.ranges}
    seen: dict[str, int] = {}
    for index, (node, leaf) in enumerate(zip(nodes, leaves, strict=True)):
        expected = node.meta["expected"]
        if not isinstance(leaf, Tensor):
            if leaf != expected:
                raise RuntimeError(
                    f"Guard failed: {node.target} is {leaf!r}; the program was "
                    f"exported "
                    f"for {expected!r}"
                )
            continue
        if leaf.dim() != len(expected):
            raise RuntimeError(
                f"Guard failed: {node.target} has {leaf.dim()} dimensions, not "
                f"{len(expected)}"
            )
        for dim, size in enumerate(leaf.shape):
            known = open_sizes.get((index, dim))
            place = f"{node.target}.size()[{dim}] == {size}"
            if known is None and size != expected[dim]:
                raise RuntimeError(f"Guard failed: {place}, expected {expected[dim]}")
            if known is not None:
                own, rest = divmod(size - known.offset, known.factor)
                if rest or not known.lower <= own <= known.upper:
                    form = "" if known.expr == known.name else f"{known.expr} in "
                    raise RuntimeError(f"Guard failed: {place}, expected {form}{known}")
                if seen.setdefault(known.name, own) != own:
                    form = (
                        "" if known.expr == known.name else f"expected {known.expr}, "
                    )
                    raise RuntimeError(
                        f"Guard failed: {place}, {form}but {known.name} is "
                        f"{seen[known.name]}"
                    )
