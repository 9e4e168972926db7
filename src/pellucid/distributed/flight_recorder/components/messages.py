"""``differing_messages``: compares sends with the receives of the other ranks."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import zip_longest
from typing import Any

from pellucid.distributed.flight_recorder.components.types import Op

__all__ = ["differing_messages", "num_elements"]

_MESSAGE = re.compile(r"(send) (\d+)->(\d+)|(recv) (\d+)<-(\d+)")


def num_elements(sizes: list[list[int]]) -> int:
    """How many elements tensors of the sizes have together."""
    return sum(math.prod(each) for each in sizes)


def _shape(entry: dict[str, Any]) -> tuple[int, list[str]]:
    sizes = entry["input_sizes"] or entry["output_sizes"]
    return num_elements(sizes), entry["input_dtypes"] or entry["output_dtypes"]


def differing_messages(
    dumps: list[dict[str, Any]], name: str, ranks: list[int]
) -> list[str]:
    """What the ranks of a group sent and did not receive, or received as another
    tensor. Messages between two ranks are compared in order; those of a rank whose
    buffer was full are not.
    """
    posted: dict[tuple[int, int], dict[str, list[Any]]] = defaultdict(
        lambda: {"send": [], "recv": []}
    )
    known = set()
    for dump in dumps:
        entries = dump["entries"]
        if dump["rank"] not in ranks or (entries and entries[0].get("record_id", 0)):
            continue
        known.add(dump["rank"])
        for entry in entries:
            found = _MESSAGE.fullmatch(Op(entry).name)
            if not found or str(entry["process_group"][0]) != name:
                continue
            kind, first, second = (each for each in found.groups() if each)
            pair = (first, second) if kind == "send" else (second, first)
            sender, receiver = (ranks[int(place)] for place in pair)
            posted[sender, receiver][kind].append(entry)
    lines = []
    for (sender, receiver), sides in sorted(posted.items()):
        if not {sender, receiver} <= known:
            continue
        pairs = zip_longest(sides["send"], sides["recv"])
        for number, (sent, received) in enumerate(pairs, 1):
            what = f"message {number} from rank {sender} to rank {receiver}"
            if sent is None:
                lines.append(f"{what}: rank {sender} has not sent it")
            elif received is None:
                lines.append(f"{what}: rank {receiver} has not posted a receive")
            elif _shape(sent) != _shape(received):
                lines.append(f"{what}: {Op(sent)} was received as {Op(received)}")
    return lines
