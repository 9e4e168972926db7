"""Derivatives as the ops that PyTorch computes them by, where modes watch.

A derivative op is traced and has a name of its own. What it computes the declaration of
its forward op may give by other ops, which counters of operations and policies of
checkpoints look for: by one gradient op (``backward=``, gradient_ops.py) or by a rule
for each argument (``gradients_seen_as``); derivatives of pointwise ops are taken apart
(emitted.py), and others whose loops are ops of tensors (graphs.py). Called by
``runtime/python/dispatch_protocol.cpp`` below autograd. Read next: call.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from inspect import signature
from typing import Any

from pellucid import _C, Tensor
from pellucid._C._runtime.gradients import overload_of
from pellucid._decomp.call import Call, Unread, name_of_result
from pellucid._decomp.emitted import emitted
from pellucid._decomp.gradient_ops import GradientOp
from pellucid._decomp.graphs import derivative_by_graph
from pellucid._decomp.registry import declared, is_observer
from pellucid._ops import OpOverload, ops

aten = ops.aten
_Run = Callable[[tuple[Any, ...]], Sequence[Tensor]]


def decompose_derivative(op: OpOverload, args: tuple[Any, ...], mode: Any) -> Any:
    """The gradients that ``op`` gives, by other ops; NotImplemented where none are
    known, and for a ``mode`` (the innermost, or None) that wants to see what runs.
    """
    if is_observer(mode):
        return NotImplemented
    for run in _decompositions(op):
        try:
            found = run(args)
        except Unread:
            continue
        if op._schema.returns[0].type.endswith("[]"):
            return found
        return found[0] if len(found) == 1 else tuple(found)
    return NotImplemented


@lru_cache(None)
def _decompositions(op: OpOverload) -> list[_Run]:
    """By the forward op's declaration, else by the derivative's own function."""
    derivation = _C._derived_from(op.name())
    if derivation is None:
        return []
    rule, forward, sources, structural, results = derivation
    gradients = [index for source, index, _ in sources if source == "gradient"]
    if rule != "vjp":
        return []
    function = emitted(op) or derivative_by_graph(op)
    taken_apart: list[_Run] = []
    if function is not None:
        several = len(gradients) > 1
        taken_apart = [_with_zeros(function, forward, sources) if several else function]
    if 0 not in gradients:
        return taken_apart
    seen = _C._seen_ops().get(forward.name().removeprefix("aten::"))
    if seen is None or not (seen[0] or seen[3]):
        return taken_apart
    gradient_op = GradientOp(forward, seen[0]) if seen[0] else None
    arguments = forward._schema.arguments
    tensors = [a.name for a in arguments if "Tensor" in a.type]
    # Elements of a list count one by one; behind one is a single tensor (index_put).
    wanted = tuple(tensors[min(number, len(tensors) - 1)] for number in results)
    known = {arguments[index].name: value for index, value in structural}

    def run(args: tuple[Any, ...]) -> list[Tensor]:
        if not _only_first_arrived(forward, gradients):
            raise Unread("grad")
        values = dict(known)
        for value, (source, index, element) in zip(args, sources, strict=True):
            if source == "argument" and element >= 0:
                _put(values.setdefault(arguments[index].name, []), element, value)
            elif source == "argument":
                values[arguments[index].name] = value
            elif source == "result":
                values[name_of_result(index)] = value
            elif source == "gradient" and index == 0:
                grad = value
        return _gradients(Call(values, grad, op, args, wanted, forward), gradient_op)

    return [run, *taken_apart]


def _only_first_arrived(forward: OpOverload, gradients: Sequence[int]) -> bool:
    """Whether what is zero by its absence leaves the first result's gradient alone."""
    if gradients == [0]:
        return True
    arrived = _C._arrived_gradients(forward.name())
    return arrived is not None and [k for k in gradients if arrived[k]] == [0]


def _with_zeros(run: _Run, forward: OpOverload, sources: Sequence[Any]) -> _Run:
    """``run``, for which gradients that did not arrive are made where modes watch: a
    program that is recorded has no constants of them.
    """

    def filled(args: tuple[Any, ...]) -> Sequence[Tensor]:
        arrived = _C._arrived_gradients(forward.name())
        if arrived is None:
            return run(args)
        missing = [s == "gradient" and not arrived[index] for s, index, _ in sources]
        pairs = zip(args, missing, strict=True)
        return run(tuple(_zeros_like(v) if absent else v for v, absent in pairs))

    return filled


def _zeros_like(x: Tensor) -> Tensor:
    found: Tensor = aten.zeros(list(x.shape), dtype=x.dtype, device=x.device)
    return found


def _put(elements: list[Any], place: int, value: Any) -> None:
    """Of a list of tensors, in which there may be None."""
    elements += [None] * (place + 1 - len(elements))
    elements[place] = value


def _gradients(call: Call, gradient_op: GradientOp | None) -> list[Tensor]:
    name = call.forward.name().removeprefix("aten::")
    has_rules = _C._seen_ops()[name][3]
    rules = declared(name).seen.gradients if has_rules else {}
    of_rules = {
        name: _by_rule(rule, call._replace(place=call.wanted.index(name)))
        for name, rule in rules.items()
        if name in call.wanted
    }
    rest = [name for name in call.wanted if name not in of_rules]
    if rest and gradient_op is None:
        raise Unread(rest[0])
    of_op = gradient_op.gradients(call, rest) if rest and gradient_op else {}
    return [(of_rules | of_op)[name] for name in call.wanted]


def _by_rule(rule: Callable[..., Tensor], call: Call) -> Tensor:
    """The gradient by a declared rule, whose parameters say what it reads."""
    given = {}
    for name, parameter in signature(rule).parameters.items():
        try:
            given[name] = call.parameter(name)
        except Unread:
            if parameter.default is parameter.empty:
                raise
    found: Any = rule(**given)
    if found is NotImplemented:
        raise Unread(call.wanted[call.place])
    gradient: Tensor = found
    return gradient


def shown_of(name: str) -> str:
    """An op's name without its overload, from its full name; where one op gives the
    gradient in PyTorch and a derivative op here, that op's.
    """
    if name.startswith("derivative::"):
        rule, forward, *_ = _C._derived_from(name)
        if rule == "vjp":
            seen = _C._seen_ops().get(forward.name().removeprefix("aten::"))
            name = overload_of(seen[0]).name() if seen and seen[0] else name
    return name.partition(".")[0]
