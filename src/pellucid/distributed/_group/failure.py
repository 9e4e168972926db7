"""Error messages about other ranks: mismatches, lost ranks, timeouts."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.distributed._transport.choose import Member


def ranks_text(ranks: Sequence[int]) -> str:
    """Such as "rank 3" or "ranks 1, 2"."""
    numbers = ", ".join(map(str, ranks))
    return f"rank{'s' * (len(ranks) > 1)} {numbers}"


def mismatch_text(group: str, number: int, calls: Sequence[str]) -> str:
    """The different calls of a mismatch, each with the ranks that made it."""
    by_call: dict[str, list[int]] = {}
    for rank, call in enumerate(calls):
        by_call.setdefault(call, []).append(rank)
    shown = [
        f"  {ranks_text(ranks)}: {call}" for call, ranks in list(by_call.items())[:6]
    ]
    more = [f"  and {len(by_call) - 6} others"] if len(by_call) > 6 else []
    lines = [
        f"collective #{number} of group {group!r} differs between ranks:",
        *shown,
        *more,
        "Make the same calls in the same order on all ranks. The group can be used on.",
    ]
    return "\n".join(lines)


def gone_text(
    group: str,
    number: int,
    call: str,
    ranks: Sequence[int],
    members: Sequence[Member],
    reasons: Sequence[str],
) -> str:
    """The message for ranks that have ended or left."""
    lines = [f"{call}, #{number} of group {group!r}, cannot end:"]
    for rank, reason in list(zip(ranks, reasons, strict=True))[:6]:
        lines.append(f"  rank {rank} ({members[rank].shown()}) {reason}")
    lines.append(
        "The group is dead; destroy_process_group() and init_process_group() with the "
        "ranks that are left make a new one."
    )
    return "\n".join(lines)


def timeout_text(
    group: str,
    number: int,
    call: str,
    seconds: float,
    ranks: Sequence[int],
    places: Sequence[str],
) -> str:
    """The message for ranks that timed out, with their source lines."""
    lines = [
        f"{call}, #{number} of group {group!r}, timed out after {seconds:g} s; "
        f"{ranks_text(ranks)} had not called it:"
    ]
    for rank, place in list(zip(ranks, places, strict=True))[:5]:
        where = f"is in {place}" if place else "does not answer: it runs no Python code"
        lines.append(f"  rank {rank} {where}")
    lines.append("Call it on all ranks, or give init_process_group a longer timeout=.")
    return "\n".join(lines)
