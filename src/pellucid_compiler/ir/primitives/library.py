"""``library``: a call of a named routine (LAPACK, sort, FFT) batched over leading axes.

The catalogue registers each routine with its shapes, its definition in NumPy and, if it
has one, its tangent; the runtime binds the name to machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph, Node, OutputType, Primitive, Value
from pellucid_compiler.ir.sizes import size_value

JvpRule = Callable[..., "list[Value | None]"]


class Routine(NamedTuple):
    """``infer(*inputs, **options)`` gives output types; ``evaluate(*arrays,
    **options)`` lists.

    ``jvp(graph, inputs, outputs, tangents, **options)`` returns the output tangents,
    ``transpose(graph, cotangent, shape, *others, **options)`` the cotangent, of shape
    ``shape``, of the operand ``linear_in``, in which the routine's first result is
    linear; ``others`` are the other operands. ``core``: how many trailing dims of each
    operand form one example, a function if that depends on the options; the leading
    dims broadcast, and those of every result are the same.
    """

    name: str
    infer: Callable[..., list[OutputType]]
    evaluate: Callable[..., list[Any]]
    jvp: JvpRule | None = None
    transpose: Callable[..., Value] | None = None
    core: tuple[int, ...] | Callable[..., tuple[int, ...]] = ()
    linear_in: int = 0

    def core_dims(self, options: tuple[tuple[str, Any], ...]) -> tuple[int, ...]:
        """``core`` of a call with the options."""
        return self.core(**dict(options)) if callable(self.core) else self.core


ROUTINES: Final[dict[str, Routine]] = {}


class LibraryAttrs(NamedTuple):
    routine: str
    options: tuple[tuple[str, Any], ...] = ()


class Library(Primitive):
    name = "library"

    def infer(self, inputs: Sequence[Value], attrs: LibraryAttrs) -> list[OutputType]:
        return ROUTINES[attrs.routine].infer(*inputs, **dict(attrs.options))

    def exprs(self, attrs: LibraryAttrs) -> list[Expr]:
        return [value for _, value in attrs.options if isinstance(value, Expr)]

    def evaluate(self, node: Node, args: list[Any], env: dict[str, Any]) -> list[Any]:
        attrs: LibraryAttrs = node.attrs
        options = {
            name: size_value(value, env) if isinstance(value, Expr) else value
            for name, value in attrs.options
        }
        return list(ROUTINES[attrs.routine].evaluate(*args, **options))

    def jvp(
        self,
        graph: Graph,
        node: Node,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        tangents: Sequence[Value | None],
    ) -> list[Value | None]:
        rule = ROUTINES[node.attrs.routine].jvp
        if rule is None:
            raise NotImplementedError(
                f"the library routine {node.attrs.routine} has no derivative"
            )
        return rule(graph, inputs, outputs, tangents, **dict(node.attrs.options))

    def show(self, node: Node, names: dict[Value, str]) -> str:
        options = "".join(f", {key}={value}" for key, value in node.attrs.options)
        return (
            f"{node.attrs.routine}({', '.join(names[v] for v in node.inputs)}{options})"
        )


LIBRARY: Final = Library()
