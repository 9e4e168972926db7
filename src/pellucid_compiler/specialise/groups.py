"""Groups of pointwise ops as one map kernel: recorded ops over one space, fused.

The runtime (runtime/record/groups.cpp) describes a group by the request that made each
op's function, the origins of its operands, and the values it returns. The functions are
substituted into each other, with each op's rounding in place, so the kernel produces
the same bits as the ops one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pellucid_compiler.abi.encode import encode
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.groups import (
    GroupAnswer,
    GroupInput,
    GroupNumber,
)
from pellucid_compiler.abi.limits import FIRST_VALUE, ONE
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.ir.elements import element_bodies, element_graph, element_of
from pellucid_compiler.ir.expr import Expr, cast, const, sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.signs import with_late_signs
from pellucid_compiler.ir.traversal import rewrite
from pellucid_compiler.lower.registers import NumberSource
from pellucid_compiler.lower.tile import tile_program
from pellucid_compiler.specialise.answer import resolve
from pellucid_compiler.specialise.members import asked_op, described
from pellucid_compiler.specialise.requests import TensorPlace
from pellucid_compiler.specialise.scalars import lower_elements


class Group(NamedTuple):
    """A Graph of the group's inputs, and where its numbers come from.

    ``numbers`` are (op, argument) of the symbols ``n0``, ``n1``, ...
    """

    graph: Graph
    numbers: tuple[tuple[int, int], ...]


def group_of(description: bytes) -> Group:
    """The group of ``description``, as one Graph of elements."""
    group = described(description)
    values: list[Expr] = []
    inputs: dict[int, str] = {}
    numbers: list[tuple[int, int]] = []
    shared: dict[tuple[int, str], str] = {}
    for position, described_op in enumerate(group.members):
        member = asked_op(described_op.request, resolve)
        places = {o.argument: o.place for o in described_op.operands}
        read: list[Expr | None] = []
        for operand, value in zip(member.places, member.graph.inputs, strict=True):
            place = places.get(operand.argument)
            if place is None:  # the op does not read it
                read.append(None)
            elif place >= FIRST_VALUE:
                read.append(cast(values[place - FIRST_VALUE], value.dtype))
            else:
                inputs[place] = value.dtype
                read.append(element_of(place, value.dtype))
        names = member.number_arguments()
        class_of = {n.argument: n.equals for n in described_op.numbers or ()}

        def number(
            e: Expr, at: Any = (position, class_of, names), shared: Any = shared
        ) -> Expr:
            position, class_of, names = at
            argument = names[e.attr]
            if class_of[argument] == ONE:
                return const(1.0, e.dtype)
            key = class_of[argument], e.dtype
            if key not in shared:
                shared[key] = f"n{len(numbers)}"
                numbers.append((position, argument))
            return sym(shared[key], e.dtype)

        def leaf(e: Expr, _: Any, read: Any = read, number: Any = number) -> Any:
            if e.op == "load":
                return read[e.attr]
            return number(e) if e.op == "sym" else None

        values += [rewrite(e, leaf) for e in element_bodies(member.graph)]
    count = max(inputs, default=-1) + 1
    dtypes = [inputs.get(k, "float32") for k in range(count)]
    chosen = with_late_signs([values[k] for k in group.outputs])
    return Group(element_graph("group", dtypes, chosen), tuple(numbers))


def lower_group(description: bytes, kernels: dict[bytes, Kernel]) -> bytes:
    """The encoded kernel of a group; ``kernels`` collects what it calls."""
    group = group_of(description)
    places = [TensorPlace(k, -1, k) for k in range(len(group.graph.inputs))]
    sources = {f"n{k}": NumberSource(k) for k in range(len(group.numbers))}
    lowered = lower_elements(group.graph, places, sources, {})
    kernel = lowered.kernel
    kernels[kernel.kernel_id] = kernel
    kernels.update(tile_program(kernel).kernels)
    inputs = zip(lowered.operands, kernel.inputs, strict=True)
    answer = GroupAnswer(
        kernel.kernel_id,
        tuple(GroupInput(number, dtype) for number, dtype in inputs),
        tuple(kernel.outputs),
        tuple(GroupNumber(*group.numbers[p.argument], p.part) for p in lowered.params),
    )
    return encode(encode_record(answer))
