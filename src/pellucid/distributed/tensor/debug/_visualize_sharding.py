"""``visualize_sharding``: a table of which process has which elements."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from itertools import product
from typing import Any

from pellucid import distributed as dist
from pellucid.distributed.tensor._redistribute import line_of
from pellucid.distributed.tensor.placement_types import Shard

__all__ = ["visualize_sharding"]

Box = tuple[tuple[int, int], ...]
"""The first element and the one after the last, per dim."""


def _boxes(dtensor: Any) -> dict[Box, list[int]]:
    """The ranks that have each part."""
    mesh, found = dtensor.device_mesh, defaultdict(list)
    for place in product(*(range(size) for size in mesh.shape)):
        box = [(0, size) for size in dtensor.shape]
        for mesh_dim, placement in enumerate(dtensor.placements):
            if isinstance(placement, Shard):
                first, end = box[placement.dim]
                line = line_of(mesh, mesh_dim)
                size, offset = line.part(end - first, place[mesh_dim])
                box[placement.dim] = first + offset, first + offset + size
        found[tuple(box)].append(int(mesh.mesh[place]))
    return dict(found)


def visualize_sharding(dtensor: Any, header: str = "", use_rich: bool = False) -> None:
    """Prints, on the first process of the mesh, the rows and columns that each process
    has of a DTensor with one or two dims, after ``header``. ``use_rich`` colours the
    table; it needs rich.
    """
    if dtensor.numel() == 0:
        return
    if not 1 <= dtensor.dim() <= 2:
        raise RuntimeError(
            f"visualize_sharding shows DTensors of 1 or 2 dims, not {dtensor.dim()}"
        )
    if dist.get_rank() != int(dtensor.device_mesh.mesh.flatten()[0]):
        return
    boxes = _boxes(dtensor)
    rows = sorted({box[0] for box in boxes}) if dtensor.dim() == 2 else [(0, 1)]
    columns = sorted({box[-1] for box in boxes})
    kind = dtensor.device_mesh.device_type
    cells = []
    for row in rows:
        keys = [(row, c) if dtensor.dim() == 2 else (c,) for c in columns]
        cells.append([", ".join(f"{kind}:{r}" for r in boxes[key]) for key in keys])
    heads = [f"Row {a}-{end - 1}" for a, end in rows] if dtensor.dim() == 2 else [""]
    titles = [f"Col {a}-{end - 1}" for a, end in columns]
    if header:
        print(header)
    if use_rich:
        _print_rich(heads, titles, cells)
    else:
        lines = [[h, *c] for h, c in zip(heads, cells, strict=True)]
        print(_table(["", *titles], lines))


def _table(titles: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    lines = [titles, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _print_rich(heads: list[str], titles: list[str], cells: list[list[str]]) -> None:
    table = import_module("rich.table").Table("", *titles, show_lines=True)
    for head, row in zip(heads, cells, strict=True):
        table.add_row(head, *row)
    import_module("rich.console").Console().print(table)
