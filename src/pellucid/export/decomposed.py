"""``run_decompositions``: retraces a program into smaller ops without in-place writes.

Called by ``ExportedProgram``; ``tracing.py`` does the first trace,
``fx/experimental/functionalization.py`` removes writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pellucid
from pellucid import SymBool, Tensor
from pellucid._decomp.core_aten import (
    core_body,
    derived_decompositions,
    falls_apart,
    leaving_scans,
    may_stay_whole,
)
from pellucid._ops import OpOverload
from pellucid.export.exported_program import ExportedProgram, ModuleCallEntry
from pellucid.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
)
from pellucid.export.tracing import (
    lift_constants,
    name_inputs,
    note_tensors,
    output_specs,
)
from pellucid.fx.experimental.proxy_tensor import get_proxy_mode
from pellucid.fx.experimental.size_nodes import SizeError, Sizes
from pellucid.fx.experimental.symbolic_trace import trace_specialised
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.interpreter import Interpreter
from pellucid.fx.traceback import preserve_node_meta
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import DerivedSize, ShapeEnv, Symbol
from pellucid.utils._symbolic.numbers import COMPARISONS, condition

__all__ = ["decomposed"]

_WRITTEN = (InputKind.BUFFER, InputKind.USER_INPUT)


def decomposed(program: ExportedProgram, table: Mapping[Any, Any]) -> ExportedProgram:
    """The program retraced, with composites decomposed into the ops they call."""
    signature, entries = program.graph_signature, program.module_call_graph
    stored = {**program.constants, **program.state_dict}
    if program.example_inputs is None:
        raise ValueError("run_decompositions needs the program's example_inputs")
    leaves = pytree.tree_leaves(program.example_inputs)
    user = iter(leaves)
    values = tuple(
        next(user) if s.kind is InputKind.USER_INPUT else stored[str(s.target)]
        for s in signature.input_specs
    )
    written: dict[int, Tensor] = {}
    rules: dict[Any, Any] = {}

    def run(*flat: Any) -> tuple[Any, ...]:
        with preserve_node_meta(), pellucid.no_grad():
            mode: Any = get_proxy_mode()
            results, new = mode.call_without_writes(
                _Interpreter(program.graph_module, rules).run, flat
            )
        kinds = [s.kind for s in signature.input_specs]
        known = _written_inputs(signature)  # if the program has no in-place writes
        count = len(known)
        new = {k: v for k, v in new.items() if kinds[k] in _WRITTEN}
        new.update(zip(known, results[:count], strict=True))
        written.clear()
        written.update(sorted(new.items()))
        return (*written.values(), *results[count:])

    run.__name__ = GraphModule.__name__  # the class of the traced module

    def traced(table: Mapping[Any, Any]) -> GraphModule:
        rules.clear()
        rules.update(table)
        env, sizes = _open_sizes(program, leaves)
        return trace_specialised(
            run, values, sizes, env, decomposition_table=dict(table)
        )

    try:
        graph_module = traced(table)
    except SizeError:
        fewer = leaving_scans(table)
        if len(fewer) == len(table):
            raise
        graph_module = traced(fewer)
    specs = [
        InputSpec(s.kind, replace(s.arg), s.target, s.persistent)
        for s in signature.input_specs
    ]
    names = [specs[place] for place in written]
    constants = {
        **program.constants,
        **lift_constants(graph_module, specs, {}, len(program.constants)),
    }
    name_inputs(graph_module, specs, leaves)
    note_tensors(graph_module)
    places = [specs.index(spec) for spec in names]
    return ExportedProgram(
        graph_module,
        ExportGraphSignature(specs, output_specs(graph_module, specs, places)),
        program.state_dict,
        constants,
        program.call_spec,
        program.ranges,
        program.guards,
        program.example_inputs,
        [ModuleCallEntry(e.fqn, None if e.fqn else e.signature) for e in entries],
        is_functional=True,
    )


class _Interpreter(Interpreter):
    """Runs a program so that its assertions narrow the ranges of what it reads, and its
    composites are decomposed by the table, before they run as the ops that they call.
    """

    def __init__(self, module: GraphModule, table: Mapping[Any, Any]) -> None:
        super().__init__(module)
        self.table = table

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Calls the function; a comparison of a number that is read is a SymBool."""
        if isinstance(target, OpOverload):
            found = self._of_table(target, args, kwargs)
            if found is not NotImplemented:
                return found
        is_assertion = target is pellucid.ops.aten._assert_scalar.default
        if is_assertion and isinstance(args[0], SymBool):
            if not args[0].require():
                raise RuntimeError(args[1])
            return None
        sign = next((s for s, f in COMPARISONS.items() if f is target), None)
        if sign is not None:
            return condition(args[0], sign, args[1])
        return super().call_function(target, args, kwargs)

    def _of_table(self, op: OpOverload, args: Any, kwargs: Any) -> Any:
        """The result by the table's function, or of the op whole: it stays if the table
        has no function for it.
        """
        rule, own = self.table.get(op), derived_decompositions().get(op)
        if rule is not None and rule is not own:
            return rule(*args, **kwargs)
        if not falls_apart(op):
            return NotImplemented
        if rule is None and may_stay_whole(op):
            mode: Any = get_proxy_mode()
            return mode.record_whole(op, args, kwargs)
        body = core_body(op)
        return NotImplemented if body is None else body(*args, **kwargs)


def _open_sizes(program: ExportedProgram, leaves: list[Any]) -> tuple[ShapeEnv, Sizes]:
    """The symbols of the program's ranges, and the input sizes they denote."""
    offset = len(program.graph_signature.input_specs) - len(leaves)
    env = ShapeEnv()
    sizes: dict[tuple[int, int], Symbol | DerivedSize] = {}
    made: dict[str, Symbol] = {}
    for r in program.ranges:
        if r.input is None:
            continue
        if r.name not in made:
            size = Tensor.size(leaves[r.input])[r.dim]
            hint = (size - r.offset) // r.factor
            made[r.name] = env.new_symbol(hint, r.name, r.lower, r.upper, r.name)
        symbol = made[r.name]
        sizes[r.input + offset, r.dim] = (
            symbol if r.is_plain else DerivedSize(symbol, r.factor, r.offset)
        )
    return env, sizes


def _written_inputs(signature: ExportGraphSignature) -> list[int]:
    """The inputs whose new values are the first outputs."""
    places = {
        (s.kind is InputKind.USER_INPUT, s.target or s.arg.name): k
        for k, s in enumerate(signature.input_specs)
    }
    return [
        places[s.kind is OutputKind.USER_INPUT_MUTATION, str(s.target)]
        for s in signature.output_specs
        if s.kind is not OutputKind.USER_OUTPUT
    ]
