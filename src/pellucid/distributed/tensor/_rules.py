"""Chooses the sharding of a call on DTensors: plans from the op's declaration, by key.

``pellucid_compiler/transforms/shard.py`` derives the rules from the op's Graph; this
module finds the declaration of a call and chooses a plan for each mesh dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pellucid.distributed.tensor._inner import Rules, made_by_plan, made_in_stages
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
from pellucid_compiler.specialise.staged import Staged, stage_op, staged
from pellucid_compiler.transforms.shard import Plan, plans
from pellucid_compiler.transforms.shard_rules import Joined, Split, State
from pellucid_compiler.transforms.shard_sizes import (
    different_places,
    holds,
    requirements,
)

_NAMES = {code: dtype.name for code, dtype in enumerate(DTYPES)}


class RefusedError(RuntimeError):
    """The op refuses the whole's sizes."""


class Shared(NamedTuple):
    """How a call runs on shards.

    ``needs``: placements of each tensor argument, in order; ``is_entered``: the mesh
    dims along which its gradient is a partial sum; ``is_shared``: the mesh dims whose
    processes do different work. ``numbers``: this process's sizes that differ from the
    call's, by argument. ``results``: placements and shapes of the
    outputs. ``plans``: of each mesh dim, for the loops of ``graph``. If it
    ``is_nested``, all this is said of the first mesh dim: along it the call, or the
    stages of ``staged``, run on DTensors of the other dims, which are its parts.
    """

    needs: tuple[tuple[Placement, ...], ...]
    is_entered: tuple[tuple[bool, ...], ...]
    is_shared: tuple[bool, ...]
    numbers: dict[str, int]
    results: tuple[tuple[tuple[Placement, ...], tuple[int, ...]], ...]
    kind: str
    staged: StagedRule | None = None  # if values are combined inside the op
    plans: tuple[Plan, ...] = ()
    graph: Any = None
    is_nested: bool = False


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
    """Candidate declarations: an in-place form has that of its op, and a view without
    one has that of the op which copies it.
    """
    found = []
    for base in dict.fromkeys((name, name.removesuffix("_"), f"{name}_copy")):
        full = f"{base}.{overload}" if overload else base
        if full in REGISTRY:
            found.append(REGISTRY[full])
        found += [op for op in REGISTRY.values() if op.name == base]
    stage = stage_op(name)
    return list(dict.fromkeys(found if stage is None else [stage]))


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
    if not all(holds(r.condition, env) for r in requirements(graph)):
        raise RefusedError(f"{op.full_name} refuses operands of these sizes")
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
        call_facts = _Traced(op, values, graph, env, has_gradient)
        found = _in_stages(call_facts, given, sizes, places, chosen)
        if found is not None:
            return found
    if not results_are_parts(op, values, graph, env, chosen, sizes):
        # Each plan knows the whole's sizes: they may not fit together.
        if len(sizes) == 1 or free or written >= 0:
            return None
        call_facts = _Traced(op, values, graph, env, has_gradient)
        return _nested(call_facts, given, sizes, places, chosen[0], None)
    shapes = [shape_value(value.shape, env) for value in graph.outputs]
    kept = [k for k in range(len(graph.inputs)) if k not in free]
    return Shared(
        tuple(tuple(_placement(plan.needs[k]) for plan in chosen) for k in kept),
        tuple(tuple(_is_entered(plan, k) for plan in chosen) for k in kept),
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


class _Traced(NamedTuple):
    op: Op
    values: Sequence[Any]
    graph: Any
    env: dict[str, Any]
    has_gradient: bool


def _in_stages(
    traced: _Traced,
    given: Sequence[tuple[Placement, ...]],
    sizes: Sequence[int],
    places: Sequence[int],
    chosen: Sequence[Plan],
) -> Shared | None:
    """How the call runs if it moves less in stages, along any mesh dim."""
    op, values, has_gradient = traced.op, traced.values, traced.has_gradient
    found: list[Staged | None] = []
    for mesh_dim, ranks in enumerate(sizes):
        states = [_state(placements[mesh_dim]) for placements in given]
        is_used = any(state is not None for state in states)
        plan = staged(op, values, states, ranks, has_gradient) if is_used else None
        is_best = plan is not None and plan.cost < chosen[mesh_dim].cost
        found.append(plan if is_best else None)
    if not any(found):
        return None
    used = [
        k for k, _ in enumerate(sizes) if any(not p[k].is_replicate() for p in given)
    ]
    plan = found[used[0]]
    if len(used) > 1:
        return _nested(traced, given, sizes, places, chosen[0], found[0])
    assert plan is not None
    return _shared_in_stages(staged_rule(plan, used[0]), op.kind, len(sizes))


def _nested(
    traced: _Traced,
    given: Sequence[tuple[Placement, ...]],
    sizes: Sequence[int],
    places: Sequence[int],
    plan: Plan,
    in_stages: Staged | None,
) -> Shared | None:
    """A call that runs by a plan, or in stages, along the first mesh dim, on DTensors
    of the others.
    """
    op, values, graph, env, _ = traced
    numbers: dict[str, int] = {}
    if in_stages is None:
        if not results_are_parts(op, values, graph, env, [plan], sizes[:1]):
            return None
        numbers = numbers_at([plan], env, sizes[:1], places[:1])
        shapes = tuple(shape_value(value.shape, env) for value in graph.outputs)
    else:
        shapes = in_stages.shapes
    source = in_stages or plan
    windows = in_stages.windows if in_stages else {}
    needs = []
    for k, (state, placements) in enumerate(zip(source.needs, given, strict=True)):
        window = windows.get(in_stages.given[k]) if in_stages else None
        others = [  # whose rows come from the first mesh dim's neighbours
            Replicate() if window and p.is_shard(window.dim) else p
            for p in placements[1:]
        ]
        needs.append((_placement(state), *others))
    if not _is_alike(traced, [need[1:] for need in needs], sizes, plan, in_stages):
        return None
    results = zip(
        [(_placement(state),) for state in source.results], shapes, strict=True
    )
    return Shared(
        tuple(needs),
        tuple((_is_entered(plan, k),) for k in range(len(needs))),
        (any(state is not None for state in source.needs),),
        numbers,
        tuple(results),
        op.kind,
        None if in_stages is None else staged_rule(in_stages, 0),
        (plan,),
        graph,
        is_nested=True,
    )


def _is_alike(
    traced: _Traced,
    given: Sequence[tuple[Placement, ...]],
    sizes: Sequence[int],
    plan: Plan,
    in_stages: Staged | None,
) -> bool:
    """Whether a nested call runs alike along the other dims on all processes."""
    op, values, graph, env, has_gradient = traced
    tensors = [
        like(str(value.dtype), shape_value(value.shape, env)) for value in graph.inputs
    ]
    ranks, *others = sizes
    wholes = [size for tensor in tensors for size in tensor.shape]
    seen = set()
    for place in different_places(wholes, ranks):

        def share_inner(
            name: str, overload: str, args: Any, kwargs: Any, x: Any
        ) -> Any:
            at = [0] * len(others)
            return share(name, overload, args, kwargs, x, others, at, -1, has_gradient)

        rules = Rules(_traced, share_inner)
        if in_stages is None:
            at = (ranks, place)
            made = made_by_plan(rules, op, values, plan, env, given, at)
        else:
            made = made_in_stages(rules, in_stages, tensors, given, (ranks, place))
        seen.add(tuple(made))
    return len(seen) == 1


def _shared_in_stages(rule: StagedRule, kind: str, num_dims: int) -> Shared:
    def along(state: State) -> tuple[Placement, ...]:
        placed: list[Placement] = [Replicate()] * num_dims
        placed[rule.mesh_dim] = _placement(state)
        return tuple(placed)

    plan = rule.plan
    return Shared(
        tuple(map(along, plan.needs)),
        ((False,) * num_dims,) * len(plan.needs),  # each stage has its own
        tuple(mesh_dim == rule.mesh_dim for mesh_dim in range(num_dims)),
        {},
        tuple(zip(map(along, plan.results), plan.shapes, strict=True)),
        kind,
        rule,
    )


def _is_entered(plan: Plan, k: int) -> bool:
    return plan.entered is not None and plan.entered[k]


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
        if has_gradient and plan.entered is None:
            return False
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
