"""A strided operand that is read many times: one ``contiguous`` is cheaper.

The recording has the strides of every operand, and the arguments of every view op. The
line that created the view is that of an op whose result has these strides. Reads count
that are slower for it: products take transposed operands as they are, elementwise ops
take operands of one layout, and channels-last is the layout for convolutions. What it
costs is not in the recording: a gain has to be measured.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from math import prod
from typing import Any

import pellucid as torch
from pellucid import _C
from pellucid.diagnose.edits import replaced_nodes, statement_at
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.facts import TensorFacts

_LARGE, _READS, _SHARE = 1 << 14, 5, 0.2
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
_Geometry = tuple[tuple[int, ...], tuple[int, ...]]


def find(facts: Facts) -> list[Finding]:
    """The statement that created the view, if it binds or returns it."""
    reads: dict[TensorFacts, float] = defaultdict(float)
    counts: dict[TensorFacts, int] = defaultdict(int)
    for item in facts.items:
        for tensor in item.arguments:
            if not isinstance(tensor, TensorFacts) or not _is_strided(tensor):
                continue
            if _is_slower(item, tensor):
                reads[tensor] += item.total
                counts[tensor] += item.calls
    findings = []
    for tensor, seconds in reads.items():
        share = facts.share_of(seconds)
        if share < _SHARE or counts[tensor] < _READS:
            continue
        made = _origins(facts, tensor)
        if not made or counts[tensor] < _READS * sum(item.calls for item in made):
            continue  # a copy for each few reads moves as much as these
        line = made[0].line
        assert line is not None
        file, number = line.file, line.number
        findings.append(
            Finding.at(
                file,
                number,
                kind="bandwidth",
                evidence=f"{share:.0%} of the time: {counts[tensor]} calls read "
                f"strides {tensor.strides} of {tensor.shape}",
                fix="contiguous() once, where the view is created",
                share=share,
                patch=_patch(file, number),
                is_guess=True,
            )
        )
    return findings


def _is_strided(tensor: TensorFacts) -> bool:
    """Whether no stride is 0 and the last axis is not contiguous; channels are the last
    axis of channels-last.
    """
    if prod(tensor.shape) < _LARGE or not tensor.strides:
        return False
    if tensor.shape[-1] == 1 or tensor.strides[-1] == 1 or 0 in tensor.strides:
        return False
    last = _CHANNELS_LAST.get(len(tensor.shape))
    return last is None or not _meta(tensor).is_contiguous(memory_format=last)


def _is_slower(item: Computation, tensor: TensorFacts) -> bool:
    """Whether an op may be slower for the strides of an operand."""
    kind = _C._op_facts(item.op)[0]
    if kind == "contraction" or item.routes:
        return False
    others = [a for a in item.arguments if getattr(a, "shape", None) == tensor.shape]
    is_mixed = any(other.strides != tensor.strides for other in others)
    return kind != "pointwise" or item.is_copy or is_mixed


def _origins(facts: Facts, tensor: TensorFacts) -> list[Computation]:
    """The view ops with a tensor's strides as result."""
    wanted = _geometry(tensor.shape, tensor.strides)
    return [
        item
        for item in facts.items
        if item.line is not None
        and _C._op_facts(item.op)[0] == "view"
        and _result(item) == wanted
    ]


def _result(item: Computation) -> _Geometry | None:
    """The geometry that a view op gives its operand; None where it is not known."""
    arguments = [_meta(a) if isinstance(a, TensorFacts) else a for a in item.arguments]
    try:
        result = _overload(item.op)(*arguments)
        return _geometry(tuple(result.shape), tuple(result.stride()))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return None


def _meta(tensor: TensorFacts) -> Any:
    return torch.empty_strided(tensor.shape, tensor.strides, device="meta")


@cache
def _overload(name: str) -> Any:
    """The callable of an op by the name that a log has; AttributeError without."""
    namespace, _, rest = name.partition("::")
    op, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), op)
    return getattr(packet, overload or "default")


def _geometry(shape: tuple[int, ...], strides: tuple[int, ...]) -> _Geometry:
    """Without dims of one element, whose strides mean nothing."""
    kept = [k for k, length in enumerate(shape) if length != 1]
    return tuple(shape[k] for k in kept), tuple(strides[k] for k in kept)


def _patch(file: str, number: int) -> Patch | None:
    statement = statement_at(file, number)
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Assign | ast.Return) or value is None:
        return None
    text = ast.unparse(value)
    if not isinstance(value, ast.Call | ast.Attribute | ast.Subscript | ast.Name):
        text = f"({text})"
    return replaced_nodes(file, [(value, f"{text}.contiguous()")])
