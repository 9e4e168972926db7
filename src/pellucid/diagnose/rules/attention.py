"""Attention written by hand, with the scores of all pairs in memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pellucid.diagnose.edits import enclosing
from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE, _LEAST = 0.15, 64  # share of the time; number of positions
_PRODUCTS = ("matmul", "bmm", "baddbmm", "einsum")


def find(facts: Facts) -> list[Finding]:
    """A softmax between two products: of the result of one, read by the other."""
    findings = []
    for item in facts.items:
        if not item.name.startswith(("softmax", "_softmax")) or item.line is None:
            continue
        shape = tuple(item.arguments[0].shape)
        if len(shape) < 3 or min(shape[-2:]) < _LEAST:
            continue
        scope = _scope(item.line.file, item.line.number)
        near = [
            other
            for other in facts.items
            if other.line is not None
            and other.line.file == item.line.file
            and other.line.number in scope
        ]
        first = _product(near, shape, makes=True)
        last = _product(near, shape, makes=False)
        if first is None or last is None:
            continue
        own = [other for other in near if _touches(other, shape)]
        lines = {(o.line.file, o.line.number) for o in own if o.line is not None}
        behind = sum(facts.backward.get(line, 0.0) for line in lines)
        share = facts.share_of(sum(other.total for other in own) + behind)
        if share < _SHARE or first.line is None:
            continue
        findings.append(
            Finding.at(
                first.line.file,
                first.line.number,
                kind="bandwidth",
                evidence=f"{share:.0%} of the time: scores of {shape} are written and "
                f"read by {len(own)} ops",
                fix="F.scaled_dot_product_attention(q, k, v), is_causal=True for a "
                "causal mask",
                share=share,
                replay=_replay(first, last, _mask(near), behind > 0),
            )
        )
    return findings[:1]


def _scope(file: str, number: int) -> range:
    """The lines of the enclosing function, or of the loop."""
    outer = enclosing(file, number, lambda node: hasattr(node, "body"))
    if not outer:
        return range(number - 10, number + 10)
    return range(outer[-1].lineno, (outer[-1].end_lineno or number) + 1)


def _shapes(item: Computation) -> list[tuple[int, ...]]:
    return [tuple(a.shape) for a in item.arguments if hasattr(a, "shape")]


def _product(
    items: Sequence[Computation], shape: tuple[int, ...], makes: bool
) -> Computation | None:
    """The product of two tensors of equal ranks that writes this shape, or reads it."""
    for item in items:
        shapes = _shapes(item)
        is_product = item.name.startswith(_PRODUCTS) and len(shapes) == 2
        if is_product and len(shapes[0]) == len(shapes[1]) >= 3:
            scores = _result(shapes) if makes else shapes[0]
            if scores == shape:
                return item
    return None


def _result(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    return (*shapes[0][:-1], shapes[1][-1])


def _touches(item: Computation, shape: tuple[int, ...]) -> bool:
    """Whether a call reads or writes a tensor of the scores' number of elements."""
    shapes = _shapes(item)
    is_made = len(shapes) == 2 and item.name.startswith(_PRODUCTS)
    return any(prod(one) == prod(shape) for one in shapes) or (
        is_made and _result(shapes) == shape
    )


def _mask(near: Sequence[Computation]) -> str:
    """How a function masks scores: "causal", "given" or not at all."""
    names = {item.name.partition(".")[0].rstrip("_") for item in near}
    if not names & {"masked_fill", "where"}:
        return ""
    return "causal" if names & {"tril", "triu"} else "given"


def _replay(
    first: Computation, last: Computation, mask: str, is_trained: bool
) -> Replay:
    (query, key), (_, value) = _shapes(first), _shapes(last)
    count, key = key[-1], (*key[:-2], key[-1], key[-2])
    given = f", requires_grad={is_trained}"
    lines = [
        f"{name} = torch.randn({shape}{given})"
        for name, shape in (("q", query), ("k", key), ("v", value))
    ]
    lines.append(f"mask = torch.ones({query[-2]}, {count}).tril() == 1")
    scores = f"q @ k.transpose(-2, -1) / {query[-1]} ** 0.5"
    if mask:
        scores = f"({scores}).masked_fill(~mask, float('-inf'))"
    plain = f"torch.softmax({scores}, -1) @ v"
    option = {"": "", "causal": ", is_causal=True", "given": ", attn_mask=mask"}[mask]
    better = f"F.scaled_dot_product_attention(q, k, v{option})"
    if is_trained:
        plain, better = (
            f"torch.autograd.grad(({text}).sum(), (q, k, v))"
            for text in (plain, better)
        )
    return Replay("\n".join(lines), plain, better)
