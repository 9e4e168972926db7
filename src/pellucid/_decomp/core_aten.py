"""Core ATen: PyTorch's small set of ops, which other compilers implement, and the table
of decompositions into it.

Declarations mark the ops of the set (``core=``). Others are decomposed by their
declarations: a pointwise op into the scalar ops of its traced function
(``emitted.py``), an op of loops by its Graph (``graphs.py``), a composite into its
body, an overload of the same arguments (``where.ScalarOther``) into the op that it
calls. If that would be long or nothing is traced, the declaration has a body
(``core_as``). A recurrent layer runs step by step, where its length is a number. Other
scans, scatters and library routines stay.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import _C, Tensor
from pellucid._C._runtime.gradients import overload_of
from pellucid._decomp.emitted import run_elements
from pellucid._decomp.graphs import run_graph
from pellucid._decomp.registry import decomposition_table, overloads_of
from pellucid._ops import OpOverload, ops
from pellucid._ops.tags import Tag

if TYPE_CHECKING:
    from pellucid_compiler.declare.late_forms import LateRecord

__all__ = ["core_aten_decompositions", "get_decompositions", "leaving_scans"]

_Rule = Callable[..., Any]


class _Trace(threading.local):
    """The ops that this thread is decomposing."""

    def __init__(self) -> None:
        self.running: set[OpOverload] = set()


_trace = _Trace()


class _Traced:
    """A declared op as the ops of its function or Graph."""

    def __init__(self, op: OpOverload, declared: Any) -> None:
        self.op, self.declared = op, declared
        self.run = run_elements if declared.kind == "pointwise" else run_graph

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        running = _trace.running
        if self.op in running:  # it is a scalar op itself
            return NotImplemented
        running.add(self.op)
        try:
            found = self.run(self.declared, args, kwargs)
        finally:
            running.discard(self.op)
        if found is None:
            return NotImplemented
        return found[0] if len(found) == 1 else tuple(found)


class _Body:
    """A composite as the ops that its body calls."""

    def __init__(self, record: LateRecord, body: _Rule, core: _Rule | None) -> None:
        self.schema, self.body, self.is_core = record.schema, core or body, bool(core)
        self.is_seen = record.is_seen  # by modes, which see the others' parts

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from pellucid_compiler.declare.key import bind_arguments

        given = bind_arguments(self.schema, args, kwargs)
        arguments = list(zip(self.schema.arguments, given, strict=True))
        named = {a.name: value for a, value in arguments if a.keyword_only}
        return self.body(*(v for a, v in arguments if not a.keyword_only), **named)


class _Redirected:
    """An overload as the one that it calls, which takes tensors in place of numbers."""

    def __init__(self, record: LateRecord) -> None:
        self.schema, self.target = record.schema, overload_of(record.named)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from pellucid_compiler.declare.key import bind_arguments

        given = bind_arguments(self.schema, args, kwargs)
        names = [a.name for a in self.schema.arguments]
        values = dict(zip(names, given, strict=True))
        like = next(v for v in reversed(given) if isinstance(v, Tensor))
        positional, named = [], {}
        for a in self.target._schema.arguments:
            value = values.get(a.name, a.default)
            if a.type == "Tensor" and not isinstance(value, Tensor):
                dtype = pellucid.result_type(like, value)
                device = like.device
                value = ops.aten.scalar_tensor(value, dtype=dtype, device=device)
            if a.kwarg_only:
                named[a.name] = value
            else:
                positional.append(value)
        return self.target(*positional, **named)


def _rules() -> Iterator[tuple[OpOverload, _Rule]]:
    """Of every op that returns new tensors or views and may be taken apart."""
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.composites import all_composites
    from pellucid_compiler.declare import REGISTRY
    from pellucid_compiler.declare.intrinsics import INTRINSICS
    from pellucid_compiler.declare.late_forms import COMPOSITE, REDIRECT, late_ops

    for name, op in REGISTRY.items():
        if not op.mutated and op.kind not in ("random", "foreach"):
            overload = overload_of(name)
            yield overload, op.seen.core or _Traced(overload, op)
    for name, intrinsic in INTRINSICS.items():
        if intrinsic.core_body is not None:
            yield overload_of(name), intrinsic.core_body
    bodies = {
        composite.place: (composite.body, composite.options.get("core_as"))
        for composite in all_composites()
    }
    records = late_ops(dict(REGISTRY), all_composites()).values()
    for record in (r for late in records for r in late.records):
        if record.variant != "functional":
            continue
        if record.body == COMPOSITE and record.named in bodies:
            body = _Body(record, *bodies[record.named])
            yield overload_of(record.schema.full_name), body
        elif record.is_seen and record.body == REDIRECT:
            yield overload_of(record.schema.full_name), _Redirected(record)


@cache
def derived_decompositions() -> dict[Any, _Rule]:
    """What declarations give for every op that may be taken apart, by overload."""
    return dict(_rules())


def get_decompositions(aten_ops: Sequence[Any] | Iterable[Any]) -> dict[Any, _Rule]:
    """The decompositions of these ops and packets, by overload: those of the table,
    and what follows from the ops' declarations.

    Example::

        table = get_decompositions([torch.ops.aten.gelu, torch.ops.aten.addmm])
        make_fx(f, decomposition_table=table)(x)
    """
    known = {**derived_decompositions(), **decomposition_table}
    return {op: known[op] for op in overloads_of(aten_ops) if op in known}


def core_aten_decompositions() -> dict[Any, _Rule]:
    """A table for ``make_fx``, ``aot_autograd`` and ``run_decompositions`` that gives
    Core ATen ops. Remove the rows of ops that are wanted whole.

    Example::

        table = core_aten_decompositions()
        del table[torch.ops.aten.silu.default]
        program.run_decompositions(table)
    """
    rules = derived_decompositions()
    return {op: rule for op, rule in rules.items() if not is_core(op)}


def is_core(op: OpOverload) -> bool:
    """Whether it is in the set, or the form without writes of one that is."""
    name = op._schema.name.removeprefix("aten::")
    of = getattr(ops.aten, name.removesuffix("_functional"), None)
    is_form = name.endswith("_functional") and of is not None
    return Tag.core in getattr(of if is_form else None, "default", op).tags


def falls_apart(op: OpOverload) -> bool:
    """Whether modes see the ops that it calls, not the op."""
    rule = derived_decompositions().get(op)
    seen = _C._seen_ops().get(op.name().removeprefix("aten::"))
    is_composed = seen is not None and seen[2]
    return is_composed or (isinstance(rule, _Body) and not rule.is_seen)


def core_body(op: OpOverload) -> _Rule | None:
    """The ops of Core ATen for a composite whose own body calls others."""
    rule = derived_decompositions().get(op)
    return rule if isinstance(rule, _Body) and rule.is_core else None


def may_stay_whole(op: OpOverload) -> bool:
    """Whether a program without writes and views may have this composite."""
    returned = op._schema.returns
    is_new = bool(returned) and all(result.alias_info is None for result in returned)
    return (
        is_new
        and not op._schema.is_mutable
        and (Tag.maybe_aliasing_or_mutating not in op.tags)
    )


def leaving_scans(table: Mapping[Any, _Rule]) -> dict[Any, _Rule]:
    """The table without what runs recurrent layers step by step, for programs whose
    sequences have any length.
    """
    return {
        op: rule
        for op, rule in table.items()
        if not isinstance(rule, _Traced) or rule.declared.kind != "scan"
    }
