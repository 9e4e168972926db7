"""Snapshots of memory as text and as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

from pellucid.distributed._tools._ledger import TOTAL, Snapshot

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def _rows(snapshot: Snapshot, units: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The devices with memory, and their texts by role."""
    if units not in _UNITS:
        raise ValueError(f"units are one of {', '.join(_UNITS)}, not {units!r}")
    divisor = _UNITS[units]
    for device, sums in snapshot.items():
        shown = {
            str(role.value if isinstance(role, Enum) else role): (
                n if divisor == 1 else round(n / divisor, 2)
            )
            for role, n in sums.items()
        }
        if shown[TOTAL] > 0:
            texts = {role: f"{amount} {units}" for role, amount in shown.items()}
            yield str(device), texts


def print_snapshot(snapshot: Snapshot, units: str, tabulated: bool) -> None:
    """A device after another, a role a line, or a table."""
    rows = list(_rows(snapshot, units))
    if not rows:
        print("No memory is tracked.")
    elif tabulated:
        _print_table([{"Device": device, **texts} for device, texts in rows])
    else:
        for device, texts in rows:
            print(f"Device: {device}")
            for role, text in texts.items():
                print(f"\t{role}: {text}")


def print_states(
    snapshots: dict[Any, list[Snapshot]], units: str, tabulated: bool
) -> None:
    """The snapshots of a module by its states."""
    if tabulated:
        _print_table(
            [
                {"State & Call": f"{state.value} # {number}", "Device": device, **texts}
                for state, listed in snapshots.items()
                for number, snapshot in enumerate(listed, 1)
                for device, texts in _rows(snapshot, units)
            ]
        )
        return
    for state, listed in snapshots.items():
        print(state.value)
        for number, snapshot in enumerate(listed, 1):
            print(f"# {number}:")
            print_snapshot(snapshot, units, False)
    print()


def _print_table(rows: list[dict[str, str]]) -> None:
    """Columns as wide as their longest text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, *([row.get(name, "") for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    print("\n".join([rule, texts[0], rule, *texts[1:], rule]))


def by_number(name: str) -> list[Any]:
    """A key for sorting: ``layers.9`` comes before ``layers.10``."""
    parts = re.split("([0-9]+)", name)
    return [int(part) if part.isdigit() else part.lower() for part in parts]
