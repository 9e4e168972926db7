"""Chooses the sharding of a call on DTensors: plans from the op's declaration, by key.

``pellucid_compiler/transforms/shard.py`` derives the rules from the op's Graph; this
module finds the declaration of a call and chooses a plan for each mesh dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pellucid.distributed.tensor._staged import StagedRule, staged_rule
from pellucid.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
)
from pellucid_compiler.abi.dtypes import DTYPES
from pellucid_compiler.declare.key import bind_arguments
from pellucid_compiler.declare.op import REGISTRY, Op
from pellucid_compiler.ir.sizes import shape_value
from pellucid_compiler.ir.traversal import symbols
from pellucid_compiler.specialise.parts import numbers_at, results_are_parts
from pellucid_compiler.specialise.requests import TensorLike
from pellucid_compiler.specialise.staged import staged
from pellucid_compiler.transforms.shard import Plan, plans
from pellucid_compiler.transforms.shard_rules import Joined, Split, State

_NAMES = {code: dtype.name for code, dtype in enumerate(DTYPES)}


class Shared(NamedTuple):
    """How a call runs on shards.

    ``needs``: placements of each tensor argument, in order; ``is_shared``: the mesh
    dims whose processes do different work. ``numbers``: this process's sizes that
    differ from the call's, by argument. ``results``: placements and shapes of the
    outputs. ``plans``: of each mesh dim, for the loops of ``graph``.
    """

    needs: tuple[tuple[Placement, ...], ...]
    is_shared: tuple[bool, ...]
    numbers: dict[str, int]
    results: tuple[tuple[tuple[Placement, ...], tuple[int, ...]], ...]
    kind: str
    staged: StagedRule | None = None  # if values are combined inside the op
    plans: tuple[Plan, ...] = ()
    graph: Any = None


def _state(placement: Placement) -> State:
    if isinstance(placement, Shard):
        return Split(placement.dim)
    if isinstance(placement, Partial):
        return Joined({"product": "prod"}.get(placement.reduce_op, placement.reduce_op))
    return None


def _placement(state: State) -> Placement:
    if isinstance(state, Joined):
        return Partial(state.combine)
    return Replicate() if state is None else Shard(state.dim)


def _candidates(name: str, overload: str) -> list[Op]:
    """Candidate declarations: an in-place form has that of its op."""
    found = []
    for base in dict.fromkeys((name, name.removesuffix("_"))):
        full = f"{base}.{overload}" if overload else base
        if full in REGISTRY:
            found.append(REGISTRY[full])
        found += [op for op in REGISTRY.values() if op.name == base]
    return list(dict.fromkeys(found))


def _traced(name: str, overload: str, args: Any, kwargs: Any) -> Any:
    """(op, call, Graph) of the first declaration that accepts the call, or None."""
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry

    for op in _candidates(name, overload):
        if op.kind == "foreach":
            continue
        try:
            call = op.specialise(*args, **kwargs)
        except TypeError:
            continue
        return op, call, op.trace(call.key, call.env).nominal
    return None


def share(
    name: str,
    overload: str,
    args: Any,
    kwargs: Any,
    given: Sequence[tuple[Placement, ...]],
    sizes: Sequence[int],
    places: Sequence[int],
    written: int = -1,
    has_gradient: bool = False,
) -> Shared | None:
    """A call's way to run. ``given``: the placements of its tensors, in order;
    ``sizes``: of the mesh; ``places``: this process's coordinates in it; ``written``:
    which tensor is written in place. None: the op runs on whole tensors.
    """
    found = _traced(name, overload, args, kwargs)
    if found is None:
        return None
    op, call, graph = found
    free = [
        k for k, v in enumerate(graph.inputs) if (v.name or "").startswith("random")
    ]
    chosen: list[Plan] = []
    cost = 0.0
    env = dict(call.env)
    for value, tensor in zip(_in_order(graph, free), call.tensors, strict=True):
        for size, actual in zip(value.shape, tensor.shape, strict=True):
            if size.op == "sym":
                env.setdefault(size.attr, actual)
    named = {e.attr for value in graph.outputs for e in symbols(*value.shape)}
    if named - env.keys():
        return None  # how many elements there are depends on values
    for mesh_dim, ranks in enumerate(sizes):
        states = [_state(placements[mesh_dim]) for placements in given]
        for position in free:
            states.insert(position, None)
        options = plans(graph, states, env, ranks, free)
        chosen.append(_choose(options, states, free, written, has_gradient))
        cost += chosen[-1].cost
    values = bind_arguments(op.schema, args, kwargs)
    if cost and not free and written < 0 and op.kind != "view":
        staged = _staged(op, values, given, sizes, has_gradient)
        if staged is not None and staged.plan.cost < cost:
            return _shared_in_stages(staged, op.kind, len(sizes))
    if not results_are_parts(op, values, graph, env, chosen, sizes):
        return None
    shapes = [shape_value(value.shape, env) for value in graph.outputs]
    kept = [k for k in range(len(graph.inputs)) if k not in free]
    return Shared(
        tuple(tuple(_placement(plan.needs[k]) for plan in chosen) for k in kept),
        tuple(any(state is not None for state in plan.needs) for plan in chosen),
        numbers_at(chosen, env, sizes, places),
        tuple(
            (tuple(_placement(plan.results[k]) for plan in chosen), shape)
            for k, shape in enumerate(shapes)
        ),
        op.kind,
        plans=tuple(chosen),
        graph=graph,
    )


def _staged(
    op: Op,
    values: Sequence[Any],
    given: Sequence[tuple[Placement, ...]],
    sizes: Sequence[int],
    has_gradient: bool,
) -> StagedRule | None:
    """The best staged plan along the only mesh dim that shards an operand."""
    used = [
        mesh_dim
        for mesh_dim in range(len(sizes))
        if any(not placements[mesh_dim].is_replicate() for placements in given)
    ]
    if len(used) != 1:
        return None
    (mesh_dim,) = used
    states = [_state(placements[mesh_dim]) for placements in given]
    plan = staged(op, values, states, sizes[mesh_dim], has_gradient)
    return None if plan is None else staged_rule(plan, mesh_dim)


def _shared_in_stages(rule: StagedRule, kind: str, num_dims: int) -> Shared:
    def along(state: State) -> tuple[Placement, ...]:
        placed: list[Placement] = [Replicate()] * num_dims
        placed[rule.mesh_dim] = _placement(state)
        return tuple(placed)

    plan = rule.plan
    return Shared(
        tuple(map(along, plan.needs)),
        tuple(mesh_dim == rule.mesh_dim for mesh_dim in range(num_dims)),
        {},
        tuple(zip(map(along, plan.results), plan.shapes, strict=True)),
        kind,
        rule,
    )


def _in_order(graph: Any, free: Sequence[int]) -> list[Any]:
    return [value for k, value in enumerate(graph.inputs) if k not in free]


def _choose(
    options: Sequence[Plan],
    states: Sequence[State],
    free: Sequence[int],
    written: int,
    has_gradient: bool,
) -> Plan:
    """The cheapest plan; ties are resolved by the fewest redistributions."""

    def fits(plan: Plan) -> bool:
        if has_gradient and any(
            isinstance(state, Joined) and state.combine != "sum"
            for state in (*plan.results, *plan.needs)
        ):
            return False  # the process with the extreme element is not known
        return written < 0 or plan.results[0] == plan.needs[written] == states[written]

    def rank(plan: Plan) -> tuple[float, int, int]:
        moved = sum(
            need != state
            for k, (need, state) in enumerate(zip(plan.needs, states, strict=True))
            if k not in free
        )
        joined = sum(isinstance(state, Joined) for state in plan.results)
        return plan.cost, moved, joined

    return min(filter(fits, options), key=rank)


def like(dtype: str, shape: Sequence[int]) -> TensorLike:
    """A placeholder for a tensor when a call is specialised."""
    return TensorLike(dtype, tuple(shape))
