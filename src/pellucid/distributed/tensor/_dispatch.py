"""Runs a call on DTensors: operands are redistributed as the op's rule requires, the op
runs on local shards, and its results become the local shards of DTensors.

Gradients are those of the local shards: redistributions have gradients of their own,
and a replicated operand of sharded work sums its gradient over the processes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import pellucid as torch
from pellucid import _C
from pellucid.distributed.tensor import _moves, _rules
from pellucid.distributed.tensor._redistribute import Step, line_of, steps_between
from pellucid.distributed.tensor._registered import (
    registered,
    registered_rule,
    whole_shapes,
)
from pellucid.distributed.tensor._spec import Spec, known_spec, spec_of
from pellucid.distributed.tensor._staged import entered, run_staged
from pellucid.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
)
from pellucid.utils import _pytree as pytree

_Tensor = torch.Tensor
Wrap = Callable[[Any, Spec], Any]


def _dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


class _Implicit(threading.local):
    is_on = False


_implicit = _Implicit()


@contextmanager
def implicit_replication() -> Iterator[None]:
    """A scope in which plain tensors among DTensors are treated as replicated: the same
    on all processes.
    """
    before, _implicit.is_on = _implicit.is_on, True
    try:
        yield
    finally:
        _implicit.is_on = before


class _Op:
    """The facts of a function's schema that calls use."""

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.name = schema.name.rpartition("::")[2]
        self.overload = schema.overload_name
        self.is_on_lists = self.name.startswith(("_foreach_", "_fused_"))
        self.is_written = schema.is_mutable and self.name.endswith("_")
        self.names = [argument.name for argument in schema.arguments]


_ops: dict[Any, _Op] = {}


class _Call:
    """One call: the function, its arguments as leaves, and the tensors among them."""

    def __init__(self, func: Any, args: Any, kwargs: Any) -> None:
        self.func = func
        op = _ops.get(func)
        if op is None:
            op = _ops[func] = _Op(func)
        self.op = op
        self._flatten(args, kwargs)
        leaves = self.leaves
        self.places = [k for k, x in enumerate(leaves) if isinstance(x, _Tensor)]
        tensors = [leaves[k] for k in self.places]
        self.mesh = next(t._spec.mesh for t in tensors if hasattr(t, "_spec"))
        self.specs = [self._spec(tensor) for tensor in tensors]
        self.locals = [getattr(tensor, "_local_tensor", tensor) for tensor in tensors]
        #: Whether it will be differentiated.
        self.has_gradient = torch.is_grad_enabled() and any(
            [x.requires_grad for x in self.locals]
        )

    def _flatten(self, args: Any, kwargs: Any) -> None:
        """The arguments, flattened: values, or lists of values."""
        leaves: list[Any] = []
        lengths = []
        for value in (*args, *kwargs.values()):
            if isinstance(value, (list, tuple)):
                leaves += value
                lengths.append(len(value))
            else:
                leaves.append(value)
                lengths.append(-1)
        self.leaves, self._form = leaves, (len(args), *lengths, *kwargs)
        self._lengths, self._keywords = lengths, tuple(kwargs)

    def _spec(self, tensor: Any) -> Spec:
        spec = getattr(tensor, "_spec", None)
        is_replicated = tensor.ndim == 0 or self.op.is_on_lists or _implicit.is_on
        if spec is None and is_replicated:
            whole = (Replicate(),) * self.mesh.ndim
            return known_spec(self.mesh, whole, tuple(tensor.shape), tensor.stride())
        if spec is None:
            raise RuntimeError(
                f"{self.func}: got mixed torch.Tensor and DTensor, need to convert all "
                "torch.Tensor to DTensor before calling distributed operators! "
                "distribute_tensor and DTensor.from_local do; implicit_replication() "
                "treats them as equal on all processes."
            )
        if spec.mesh is not self.mesh and not (
            self.op.is_on_lists or spec.mesh == self.mesh
        ):
            raise RuntimeError(
                f"{self.func}: its DTensors are on different meshes, {self.mesh} and "
                f"{spec.mesh}; redistribute to one mesh"
            )
        return spec  # type: ignore[no-any-return]

    def names(self) -> list[str]:
        """Of its tensors: of the arguments that they are, or are in."""
        count = len(self._lengths) - len(self._keywords)
        found: list[str] = []
        arguments = [*self.op.names[:count], *self._keywords]
        for name, length in zip(arguments, self._lengths, strict=True):
            listed = [f"{name}[{k}]" for k in range(length)]
            found += [name] if length < 0 else listed
        return [found[place] for place in self.places]

    def key(self) -> Any:
        """The key that determines how it runs."""
        others = [
            None if isinstance(leaf, _Tensor) else (type(leaf), leaf)
            for leaf in self.leaves
        ]
        return (
            *(self.func, self._form, self.has_gradient, tuple(others)),
            *(tuple(map(id, self.specs)), tuple([x.dtype for x in self.locals])),
        )

    def with_tensors(self, tensors: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with other tensors."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        values, at = [], 0
        for length in self._lengths:
            if length < 0:
                values.append(leaves[at])
                at += 1
            else:
                values.append(leaves[at : at + length])
                at += length
        if not self._keywords:
            return values, {}
        count = len(values) - len(self._keywords)
        return values[:count], dict(zip(self._keywords, values[count:], strict=True))

    def steps(self, needs: Any) -> list[tuple[Step, ...]]:
        """The moves of its shards to other placements."""
        return [
            steps_between(spec.mesh, spec.shape, spec.placements, need)
            for spec, need in zip(self.specs, needs, strict=True)
        ]

    def moves(self, shared: _rules.Shared) -> list[Callable[[Any], Any] | None]:
        """What moves each part to where the op wants it; None where it stays."""
        moves = self.steps(shared.needs)
        if self.has_gradient and shared.staged is None:
            for k, local in enumerate(self.locals):
                if local.requires_grad:
                    moves[k] += _entries(self.mesh, shared.is_entered[k])
        return [_joined(steps) for steps in moves]

    def moved(self, needs: Any) -> list[Any]:
        """Its parts under other placements."""
        moves = [_joined(steps) for steps in self.steps(needs)]
        return _after(moves, self.locals)


def _joined(steps: tuple[Step, ...]) -> Callable[[Any], Any] | None:
    if len(steps) == 1:
        return steps[0].start()

    def run(part: Any) -> Any:
        for step in steps:
            part = step(part)
        return part

    return run if steps else None


def _after(moves: Sequence[Callable[[Any], Any] | None], parts: Any) -> list[Any]:
    """The parts after their moves."""
    pairs = zip(moves, parts, strict=True)
    return [part if move is None else move(part) for move, part in pairs]


_MOST_KEYS = 4096
# With the specs that the keys name.
_shared: dict[Any, tuple[list[Spec], _rules.Shared | None]] = {}


def dispatch(func: Any, args: Any, kwargs: Any, wrap: Wrap) -> Any:
    """The result of an op on DTensors."""
    call = _Call(func, args, kwargs or {})
    with _C._RestorePythonTLSSnapshot():  # gradients are recorded, of parts
        if call.op.name in _MEANINGS:
            return _MEANINGS[call.op.name](*args, **(kwargs or {}))
        if call.op.name == "detach":
            _C._repeat_on_parts()
            return wrap(call.locals[0].detach(), call.specs[0])
        if call.op.is_on_lists:
            return _each(call, wrap)
        key = call.key()
        if key not in _shared:
            if len(_shared) >= _MOST_KEYS:
                _shared.clear()
            _shared[key] = call.specs, _rule(call)
        shared = _shared[key][1]
        if _C._timeline_takes_notes():
            from pellucid.distributed.tensor._explained import explain_call

            explain_call(call, shared)
        if shared is None:
            return _without_rule(call, args, kwargs or {}, wrap)
        return (_on_inner if shared.is_nested else _on_parts)(call, shared, wrap)


def _rule(call: _Call) -> _rules.Shared | None:
    if call.func in registered:
        return registered_rule(call)
    stand_ins = [
        _rules.like(_dtype_name(local.dtype), spec.shape)
        for local, spec in zip(call.locals, call.specs, strict=True)
    ]
    args, kwargs = call.with_tensors(stand_ins)
    if "dtype" in kwargs and kwargs["dtype"] is not None:
        kwargs["dtype"] = _dtype_name(kwargs["dtype"])
    args = [_dtype_name(a) if isinstance(a, torch.dtype) else a for a in args]
    try:
        return _rules.share(
            *(call.op.name, call.op.overload, args, kwargs),
            [spec.placements for spec in call.specs],
            *(call.mesh.shape, call.mesh.get_coordinate()),
            0 if call.op.is_written else -1,
            call.has_gradient,
        )
    except _rules.RefusedError:
        whole_shapes(call)  # raises the op's own error
        raise


def _on_inner(call: _Call, shared: _rules.Shared, wrap: Wrap) -> Any:
    """Runs a nested rule: along the first mesh dim, on DTensors of the others."""
    inner, line = call.mesh._inner, line_of(call.mesh, 0)
    operands = []
    facts = call.moved(shared.needs), call.specs, shared.needs, shared.is_entered
    for part, spec, (need, *rest), (is_entered,) in zip(*facts, strict=True):
        shape = list(spec.shape)
        if isinstance(need, Shard):
            shape[need.dim] = line.part(shape[need.dim])[0]
        x = wrap(part, spec_of(part, inner, rest, shape))
        is_entered = is_entered and call.has_gradient and shared.staged is None
        operands.append(entered(line, x) if is_entered else x)
    if shared.staged is not None:
        made = run_staged(shared.staged, call.mesh, operands)
        return _wrapped(call, shared, made if len(made) > 1 else made[0], wrap)
    args, kwargs = call.with_tensors(operands)
    _localise(call, args, kwargs, shared.numbers)
    return _wrapped(call, shared, call.func(*args, **kwargs), wrap)


def _on_parts(call: _Call, shared: _rules.Shared, wrap: Wrap) -> Any:
    moves = call.moves(shared)
    parts = _after(moves, call.locals)
    if shared.staged is not None:
        made = run_staged(shared.staged, call.mesh, parts)
        return _wrapped(call, shared, made if len(made) > 1 else made[0], wrap)
    args, kwargs = call.with_tensors(parts)
    numbers = _localise(call, args, kwargs, shared.numbers)
    # Whether calls with such parts run alike.
    is_alike = not (call.op.is_written and moves[0])
    if shared.kind == "random" and any(shared.is_shared):
        made, is_alike = _with_own_seed(call, shared.is_shared, args, kwargs), False
    elif shared.kind == "view":
        made, is_viewed = _view(call.func, args, kwargs)
        is_alike = is_alike and is_viewed
    else:
        made = call.func(*args, **kwargs)
    if is_alike:
        _C._repeat_on_parts(*(moves if any(moves) else ()), **numbers)
    if call.op.is_written:
        return call.leaves[call.places[0]]
    return _wrapped(call, shared, made, wrap)


def _wrapped(call: _Call, shared: _rules.Shared, made: Any, wrap: Wrap) -> Any:
    results = iter(shared.results)

    def wrapped(local: Any) -> Any:
        if not isinstance(local, _Tensor):
            return local
        placements, shape = next(results)
        part: Any = local
        if shared.is_nested:
            placements = *placements, *part._spec.placements
            part = part._local_tensor
        return wrap(part, spec_of(part, call.mesh, placements, shape))

    if isinstance(made, _Tensor):
        return wrapped(made)
    return pytree.tree_map(wrapped, tuple(made) if shared.staged else made)


def _view(func: Any, args: Any, kwargs: Any) -> tuple[Any, bool]:
    """The result, and whether it is a view of the operands."""
    try:
        return func(*args, **kwargs), True
    except RuntimeError:
        # The full tensor's strides allow the view; those of the shard do not.
        args = pytree.tree_map(
            lambda x: x.contiguous() if isinstance(x, _Tensor) else x, args
        )
        return func(*args, **kwargs), False


def _entries(mesh: Any, is_entered: tuple[bool, ...]) -> tuple[Step, ...]:
    """What sums the gradient of a replicated operand that shared work reads."""
    whole = Replicate()
    return tuple(
        Step(_moves.Enter, (line_of(mesh, mesh_dim),), mesh_dim, whole, whole)
        for mesh_dim, is_entered_here in enumerate(is_entered)
        if is_entered_here
    )


def _localise(
    call: _Call, args: Any, kwargs: Any, numbers: dict[str, int]
) -> dict[str, Any]:
    """The new arguments by name: sizes of the full tensor become those of shards."""
    changed: dict[str, Any] = {}
    for number, size in numbers.items():
        name, _, element = number.partition("[")
        position = call.op.names.index(name)
        values = args if position < len(args) else kwargs
        key: Any = position if position < len(args) else name
        if element:
            values[key] = list(values[key])
            values[key][int(element[:-1])] = size
        else:
            values[key] = size
        changed[name] = values[key]
    return changed


def _with_own_seed(call: _Call, splits: Sequence[bool], args: Any, kwargs: Any) -> Any:
    """Processes with different shards draw different numbers; all streams advance."""
    place = 0
    for mesh_dim, is_split in enumerate(splits):
        if is_split:
            size = call.mesh.size(mesh_dim)
            place = place * size + call.mesh.get_local_rank(mesh_dim)
    seed = int(torch.randint(0, 1 << 62, ()))
    with torch.random.fork_rng():
        torch.manual_seed(seed + place)
        return call.func(*args, **kwargs)


def _without_rule(call: _Call, args: Any, kwargs: Any, wrap: Wrap) -> Any:
    """Runs an op without a declaration: as the ops that it is a function of, or on full
    tensors, on every process.
    """
    if len(call.specs) == 1 and (call.op.is_written or call.op.name.endswith("_like")):
        return _filled(call, wrap)
    with implicit_replication():  # what the function makes is alike on all processes
        made = call.func.decompose(*args, **kwargs)
    return _whole(call, wrap) if made is NotImplemented else made


def _whole(call: _Call, wrap: Wrap) -> Any:
    whole = (Replicate(),) * call.mesh.ndim
    if call.op.is_written and call.specs[0].placements != whole:
        _refuse_write(call)
    made = _run_moved(call, [whole] * len(call.specs))
    if call.op.is_written:
        return call.leaves[call.places[0]]

    def wrapped(x: Any) -> Any:
        if not isinstance(x, _Tensor):
            return x
        return wrap(x, spec_of(x, call.mesh, whole, x.shape))

    return pytree.tree_map(wrapped, made)


def _filled(call: _Call, wrap: Wrap) -> Any:
    """Runs an op that overwrites a tensor's elements, or makes a tensor like it."""
    (spec,) = call.specs
    if any(isinstance(placement, Partial) for placement in spec.placements):
        _refuse_write(call)
    args, kwargs = call.with_tensors(call.locals)
    splits = [placement.is_shard() for placement in spec.placements]
    made = _with_own_seed(call, splits, args, kwargs)
    if call.op.is_written:
        return call.leaves[call.places[0]]
    return wrap(made, spec_of(made, call.mesh, spec.placements, spec.shape))


def _run_moved(call: _Call, needs: Any) -> Any:
    args, kwargs = call.with_tensors(call.moved(needs))
    return call.func(*args, **kwargs)


def _refuse_write(call: _Call) -> NoReturn:
    raise RuntimeError(
        f"{call.func}: in-place operations that require placement changes are not "
        f"supported: the tensor is {call.specs[0].placements}.\n"
        "Redistribute it to Replicate() first, or use the op that returns a result."
    )


def _each(call: _Call, wrap: Wrap) -> Any:
    """Runs an op on lists: each list's tensors have the placements of the first list's;
    plain tensors among them are unchanged.
    """
    first = next(a for a in call.with_tensors(call.specs)[0] if isinstance(a, list))
    needs: list[tuple[Placement, ...]] = []
    for number, spec in enumerate(call.specs):
        own = spec if not spec.shape else first[number % len(first)]
        is_joined = any(isinstance(p, Partial) for p in own.placements)
        whole = (Replicate(),) * len(own.placements)
        needs.append(whole if is_joined else own.placements)
    made = _run_moved(call, needs)
    if made is None or call.op.is_written:
        return made
    specs = zip(made, needs, first, strict=False)
    return [wrap(x, spec_of(x, s.mesh, n, s.shape)) for x, n, s in specs]


def _split(x: Any, sizes: Any, dim: int = 0) -> list[Any]:
    whole = x.shape[dim]
    if isinstance(sizes, int):
        counts = [sizes] * (whole // sizes) + ([whole % sizes] if whole % sizes else [])
    else:
        counts = list(sizes)
    starts = [sum(counts[:k]) for k in range(len(counts))]
    return [x.narrow(dim, a, n) for a, n in zip(starts, counts, strict=True)]


def _unbind(x: Any, dim: int = 0) -> list[Any]:
    return [x.select(dim, k) for k in range(x.shape[dim])]


def _chunk(x: Any, chunks: int, dim: int = 0) -> list[Any]:
    return _split(x, -(-x.shape[dim] // chunks) or 1, dim)


# Ops that the runtime derives from views, by their views.
_MEANINGS: dict[str, Callable[..., Any]] = {
    "split": _split,
    "split_with_sizes": _split,
    "unbind": _unbind,
    "chunk": _chunk,
}
