"""``pellucid.explain`` for calls on DTensors: the operands' placements, the rule
derived from the op's loops, and the redistribution of operands that it requires.

Bytes are those that a process receives. Called by ``_dispatch.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from pellucid.distributed.tensor._redistribute import Step
from pellucid.distributed.tensor._rules import Shared
from pellucid.distributed.tensor.placement_types import Placement
from pellucid.explain.notes import note
from pellucid_compiler.ir.show import axis_name
from pellucid_compiler.transforms.flat_graph import FlatGraph
from pellucid_compiler.transforms.shard_rules import Joined, Split, State, Window


def explain_call(call: Any, shared: Shared | None) -> None:
    """Adds a call, before it runs, to the explanation."""
    names, placed = call.names(), [spec.placements for spec in call.specs]
    operands = [
        f"{name}: {_shown_type(local, spec.shape)} {_shown(spec.placements)}"
        for name, local, spec in zip(names, call.locals, call.specs, strict=True)
    ]
    lines = _titled("operands", operands)
    if shared is None:
        text = "none: runs on whole tensors, on every process"
        note((*lines, *_titled("rule", [text])), "on whole tensors")
        return
    lines += _titled("rule", [*_rule(shared)])
    moves, nbytes, about = [], 0, ""
    each = zip(names, call.locals, call.steps(shared.needs), strict=True)
    for name, local, steps in each:
        size = local.element_size()
        moves += [f"{name}: {_move(step, size)}" for step in steps]
        nbytes += sum(step.num_received for step in steps) * size
    if shared.staged is not None:
        inside = int(shared.staged.plan.cost) * call.locals[0].element_size()
        moves.append(f"between stages: about {inside:,} B")
        nbytes, about = nbytes + inside, "about "
    lines += _titled("moves", moves or ["none"])
    results = [
        f"{list(shape)} {_shown(placements)}" for placements, shape in shared.results
    ]
    lines += _titled("results", results)
    needs = ", ".join(map(_shown, placed))
    ends = ", ".join(_shown(placements) for placements, _ in shared.results)
    moved = f", receives {about}{nbytes:,} B" if moves else ""
    note(tuple(lines), f"{needs} -> {ends}{moved}")


def _titled(title: str, texts: Sequence[str]) -> list[str]:
    heads = [title, *[""] * (len(texts) - 1)]
    return [f"  {head:<11}{text}" for head, text in zip(heads, texts, strict=True)]


def _shown_type(tensor: Any, shape: Sequence[int]) -> str:
    return f"{str(tensor.dtype).rpartition('.')[2]}{list(shape)}"


def _shown(placements: Sequence[Placement]) -> str:
    """``S(0)``, or ``[S(0), R]`` for several mesh dims."""
    texts = list(map(str, placements))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _shown_state(state: State) -> str:
    if isinstance(state, Split):
        return f"S({state.dim})"
    if isinstance(state, Window):
        return f"S({state.dim}) with rows of neighbours"
    return f"P({state.combine})" if isinstance(state, Joined) else "R"


def _rule(shared: Shared) -> Iterator[str]:
    """The sharding of each loop of the op, per mesh dim."""
    if shared.staged is not None:
        yield from _stages(shared)
        return
    for mesh_dim, plan in enumerate(shared.plans):
        is_one = len(shared.plans) == 1 and not shared.is_nested
        where = "" if is_one else f"mesh dim {mesh_dim}: "
        for step, strategy in zip(
            FlatGraph(shared.graph).steps, plan.chosen, strict=True
        ):
            needs = ", ".join(map(_shown_state, strategy.needs))
            states = f"{needs} -> {', '.join(map(_shown_state, strategy.results))}"
            yield f"{where}{states}  {_reason(strategy)}{_loop(step.node)}"


def _reason(strategy: Any) -> str:
    if strategy.axis is not None:
        return f"shares {axis_name(strategy.axis)} of "
    is_linear = Joined("sum") in strategy.results
    if is_linear:
        return "linear in partial sums: "
    return "shares " if strategy.is_shared else "all of "


def _loop(node: Any) -> str:
    """A loop's kind and axes: ``contraction(i<self.0, j<other.1, k<self.1)``."""
    text = node.primitive.show(node, defaultdict(str))
    axes, separator, _ = text.partition(") [")
    return f"{axes})" if separator else text.partition("(")[0]


def _stages(shared: Shared) -> Iterator[str]:
    rule = shared.staged
    assert rule is not None
    for number, stage in enumerate(rule.plan.stages):
        needs = ", ".join(map(_shown_state, stage.needs))
        joins = [f"all_reduce {combine}" for _, combine in stage.joins]
        before = f" after {', '.join(joins)}" if joins else ""
        yield f"stage {number} of {needs}{before}"


def _move(step: Step, itemsize: int) -> str:
    before, after = map(str, (step.before, step.after))
    nbytes = step.num_received * itemsize
    return f"{before} -> {after} by {step.move.by}, {nbytes:,} B"
