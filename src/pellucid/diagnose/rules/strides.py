"""A strided operand that is read many times: one ``contiguous`` is cheaper."""

from __future__ import annotations

import re
from collections import defaultdict
from math import prod
from typing import Any

from pellucid import _C
from pellucid.diagnose.edits import replaced, text_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_LARGE, _READS = 1 << 14, 5
_CONTIGUOUS = r"^(\s*\w+ = .*\S)(\s*)$", r"\1.contiguous()\2"


def find(facts: Facts) -> list[Finding]:
    """The line that created the view, if it is an assignment."""
    reads: dict[Any, float] = defaultdict(float)
    counts: dict[Any, int] = defaultdict(int)
    for item in facts.items:
        for tensor in item.arguments:
            if not hasattr(tensor, "strides"):
                continue
            key = tensor.dtype, tensor.shape, tensor.strides
            if _is_strided(tensor):
                reads[key] += item.total
                counts[key] += item.calls
    findings = []
    for key, seconds in reads.items():
        share = facts.share_of(seconds)
        if share < 0.2 or counts[key] < _READS:
            continue
        place = _origin(facts)
        if place is None:
            continue
        patch = replaced(place.file, place.number, *_CONTIGUOUS)
        findings.append(
            Finding.at(
                place.file,
                place.number,
                kind="bandwidth",
                evidence=f"{share:.0%} of the time: {counts[key]} calls read strides "
                f"{key[2]} of {key[1]}",
                fix="contiguous() once, where the view is created",
                share=share,
                patch=patch,
            )
        )
    return findings


def _is_strided(tensor: Any) -> bool:
    """Whether no stride is 0 and the last axis is not contiguous."""
    if prod(tensor.shape) < _LARGE or not tensor.strides:
        return False
    return 0 not in tensor.strides and tensor.shape[-1] > 1 and tensor.strides[-1] > 1


def _origin(facts: Facts) -> Any:
    """The line of a view op that is an assignment, before the reads."""
    for item in facts.items:
        if item.line is None or _C._op_facts(item.op)[0] != "view":
            continue
        if re.match(r"\s*\w+ = ", text_of(item.line.file, item.line.number)):
            return item.line
    return None
