"""Pairwise distances computed from all differences, which are written to memory."""

from __future__ import annotations

from math import prod

from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE, _LARGER = (
    0.2,
    8,
)  # share of the time; size of the difference relative to an operand


def find(facts: Facts) -> list[Finding]:
    """``a[:, None] - b[None]`` reduced over the last axis."""
    findings = []
    for item in facts.items:
        shapes = [tuple(a.shape) for a in item.arguments if hasattr(a, "shape")]
        if not item.name.startswith("sub") or len(shapes) != 2 or item.line is None:
            continue
        shape = _of_all_pairs(*shapes)
        if shape is None:
            continue
        own = [item, *(other for other in facts.items if _reads(other, shape))]
        is_reduced = any(
            other.name.startswith(("sum", "mean", "norm")) for other in own
        )
        share = facts.share_of(sum(other.total for other in own))
        if share < _SHARE or not is_reduced:
            continue
        rows, columns, width = shape[-3:]
        findings.append(
            Finding.at(
                item.line.file,
                item.line.number,
                kind="bandwidth",
                evidence=f"{share:.0%} of the time: {len(own)} ops on differences of "
                f"{shape}",
                fix="torch.cdist(a, b): by a product, without the differences",
                share=share,
                replay=Replay(
                    f"a = torch.randn({rows}, {width})\n"
                    f"b = torch.randn({columns}, {width})",
                    "((a[:, None] - b[None]) ** 2).sum(-1)",
                    "torch.cdist(a, b)",
                ),
            )
        )
    return findings


def _of_all_pairs(
    first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The shape of a difference for which both operands are broadcast, except along the
    last axis.
    """
    if len(first) != len(second) or len(first) < 3 or first[-1] != second[-1]:
        return None
    rows, columns = zip(first[-3:-1], second[-3:-1], strict=True)
    crossed = sorted(rows)[0] == sorted(columns)[0] == 1 and (
        (first[-2] == 1) != (second[-2] == 1)
    )
    shape = tuple(map(max, first, second))
    is_large = prod(shape) >= _LARGER * max(prod(first), prod(second))
    return shape if crossed and is_large else None


def _reads(item: Computation, shape: tuple[int, ...]) -> bool:
    return any(getattr(a, "shape", None) == shape for a in item.arguments)
