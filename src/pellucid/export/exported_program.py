"""``ExportedProgram``: a graph with its signature, its values and ranges of sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from pellucid import Tensor
from pellucid._package.lazy_exports import take_offers
from pellucid.export.decomp_utils import (
    default_decompositions as default_decompositions,
)
from pellucid.export.graph_signature import (
    Argument,
    ExportGraphSignature,
    InputKind,
)
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import INFINITY, Guard
from pellucid.utils._symbolic.expressions import Expr
from pellucid.utils._symbolic.ranges import ValueRanges

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
    """The allowed sizes of one dimension of an input, or the values of a number that
    the program reads from a tensor.
    """

    name: str
    input: int | None  # among the flat arguments; None where it is read
    dim: int
    lower: int
    upper: int
    factor: int = 1  # the size is ``factor * name + offset``
    offset: int = 0

    @property
    def expr(self) -> Expr:
        """The size as an expression of its name."""
        size = Expr.constant(self.factor) * Expr.symbol(self.name)
        return size + Expr.constant(self.offset)

    @property
    def values(self) -> ValueRanges:
        """The allowed sizes."""
        low, high = (
            end if abs(end) >= INFINITY else self.factor * end + self.offset
            for end in (self.lower, self.upper)
        )
        return ValueRanges(low, high)

    @property
    def is_plain(self) -> bool:
        """Whether the size is the named one itself."""
        return self.factor == 1 and self.offset == 0

    def __str__(self) -> str:
        low, high = self.values.lower, self.values.upper
        return f"[{low}, {'inf' if high >= INFINITY else high}]"


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
    is_functional: bool = False  # has no writes: of ``run_decompositions``
    _report: Any = None  # a draft's assumptions

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.graph_module.graph

    @property
    def dialect(self) -> str:
        """``"TRAINING"``, and ``"ATEN"`` after ``run_decompositions``."""
        return "ATEN" if self.is_functional else "TRAINING"

    @property
    def range_constraints(self) -> dict[Expr, ValueRanges]:
        """The ranges of dynamic sizes by their expression."""
        return {r.expr: r.values for r in self.ranges}

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

    if TYPE_CHECKING:

        def module(self, check_guards: bool = True) -> Any: ...

    def run_decompositions(
        self, decomp_table: Mapping[Any, Any] | None = None
    ) -> ExportedProgram:
        """The program in smaller ops: composites are decomposed, and ops of the table
        are replaced by its functions. The default table gives Core ATen ops
        (``default_decompositions``), an empty one PyTorch's ops. The graph has no
        in-place writes: new values of buffers and inputs are among its outputs.
        """
        from pellucid.export.decomposed import decomposed

        table = default_decompositions() if decomp_table is None else decomp_table
        return decomposed(self, table)

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False)
        body = "\n".join(f"    {line}".rstrip() for line in code.split("\n"))
        return (
            f"ExportedProgram:\n{body}\n{self._signature_text()}"
            f"Range constraints: {self.range_constraints}\n"
        )

    def _signature_text(self) -> str:
        lines = str(self.graph_signature).split("\n")
        return "\n".join(["Graph signature:", *(f"    {x}".rstrip() for x in lines)])


take_offers("export.exported_program.ExportedProgram", ExportedProgram)


def program_state(program: ExportedProgram) -> dict[str, tuple[str, Tensor]]:
    """Names and tensors of parameters, buffers and constants, by placeholder."""
    values = {**program.constants, **program.state_dict}
    return {
        spec.arg.name: (str(spec.target), values[str(spec.target)])
        for spec in program.graph_signature.input_specs
        if spec.kind is not InputKind.USER_INPUT
    }


class GuardError(AssertionError, RuntimeError):
    """An argument for which the program was not exported. (PyTorch raises the one type
    from ``module()``, the other from unflattened modules.)
    """


def check_sizes(program: ExportedProgram, leaves: list[Any]) -> None:
    """Raises GuardError for a size that is not the example's or outside its range."""
    count = len(program.graph_signature.input_specs) - len(leaves)
    nodes = program.graph.find_nodes(op="placeholder")[count:]
    open_sizes = {(r.input, r.dim): r for r in program.ranges}
    seen: dict[str, int] = {}
    for index, (node, leaf) in enumerate(zip(nodes, leaves, strict=True)):
        expected = node.meta["expected"]
        if not isinstance(leaf, Tensor):
            if leaf != expected:
                raise GuardError(
                    f"Guard failed: {node.target} is {leaf!r}; the program was "
                    f"exported "
                    f"for {expected!r}"
                )
            continue
        if leaf.dim() != len(expected):
            raise GuardError(
                f"Guard failed: {node.target} has {leaf.dim()} dimensions, not "
                f"{len(expected)}"
            )
        for dim, size in enumerate(leaf.shape):
            known = open_sizes.get((index, dim))
            place = f"{node.target}.size()[{dim}] == {size}"
            if known is None and size != expected[dim]:
                raise GuardError(f"Guard failed: {place}, expected {expected[dim]}")
            if known is not None:
                own, rest = divmod(size - known.offset, known.factor)
                if rest or not known.lower <= own <= known.upper:
                    form = "" if known.is_plain else f"{known.expr} in "
                    raise GuardError(f"Guard failed: {place}, expected {form}{known}")
                if seen.setdefault(known.name, own) != own:
                    form = "" if known.is_plain else f"expected {known.expr}, "
                    raise GuardError(
                        f"Guard failed: {place}, {form}but {known.name} is "
                        f"{seen[known.name]}"
                    )
