"""A still picture of a Drawing: boxes stacked layer by layer, edges between them.

page.js does the same for the page, where groups open and close. Called by drawing.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from pellucid.viz.collect import Item, readable_bytes, shapes_text
from pellucid.viz.tree import Group

if TYPE_CHECKING:
    from pellucid.viz.drawing import Drawing

Edge = tuple[tuple[float, float], ...]  # a curve: its start, two controls, its end

LETTER, PADDING, HEADER, GAP, LAYER_GAP = 6.6, 12, 22, 16, 30

STYLE = """\
text { font: 11px ui-monospace, monospace; fill: #1d2733; }
.small { fill: #5b6876; font-size: 10px; }
.group > rect { fill: #f4f7fa; stroke: #b6c2cf; }
.folded > rect { fill: #dfe8f2; stroke: #7f93a8; }
.item > rect { fill: #ffffff; stroke: #52708f; }
.leaf > rect { fill: #e9f5e6; stroke: #6c9a60; }
.edge { fill: none; stroke: #8596a6; }
"""


@dataclass
class Box:
    """A child of an open group with its place: an item, or a group."""

    child: Item | Group
    is_open: bool = False
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0
    lines: list[str] = field(default_factory=list)
    inner: list[Box] = field(default_factory=list)


def make_svg(drawing: Drawing, backward: bool) -> str:
    """The picture as text."""
    top = _measure(drawing, drawing.top, backward)
    _move(top, 0, 0)
    boxes = list(_walk(top))[1:]
    edges = _edges(drawing.items, boxes, backward)
    width = max(top.width, *(x for edge in edges for x, _ in edge))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} '
        f'{top.height:.0f}" width="{width:.0f}" height="{top.height:.0f}">',
        f"<style>{STYLE}</style>",
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#8596a6"/>'
        "</marker>",
        *(_box_text(box) for box in boxes),
        *(_edge_text(edge) for edge in edges),
        "</svg>",
    ]
    return "\n".join(parts)


def _measure(drawing: Drawing, child: Item | Group, backward: bool) -> Box:
    if isinstance(child, Item):
        saved = f", {readable_bytes(child.bytes_saved)} saved"
        second = shapes_text(child) + (saved if child.bytes_saved else "")
        return _small_box(
            child, child.backward_name if backward else child.name, second
        )
    if child.path not in drawing.open_groups:
        items = list(child.items())
        saved = readable_bytes(sum(item.bytes_saved for item in items))
        return _small_box(
            child, f"+ {child.name}", f"{len(items)} nodes, {saved} saved"
        )
    inner = [_measure(drawing, c, backward) for c in child.children]
    layers = drawing.layers[id(child)]
    rows = [[inner[k] for k in layer] for layer in layers]
    box = Box(child, is_open=True, lines=[child.name], inner=inner)
    _stack(box, rows[::-1] if backward else rows)
    return box


def _small_box(child: Item | Group, first: str, second: str) -> Box:
    width = max(len(first), len(second)) * LETTER + 2 * PADDING
    return Box(child, width=width, height=38, lines=[first, second])


def _stack(box: Box, rows: list[list[Box]]) -> None:
    """Sets the box's size and the positions of its contents, relative to it."""
    widths = [sum(b.width for b in row) + GAP * (len(row) - 1) for row in rows]
    title = len(box.lines[0]) * LETTER
    box.width = max([*widths, title, 0]) + 2 * PADDING
    y: float = PADDING + HEADER
    for row, width in zip(rows, widths, strict=True):
        x = (box.width - width) / 2
        for inner in row:
            inner.x, inner.y = x, y
            x += inner.width + GAP
        y += max(inner.height for inner in row) + LAYER_GAP
    box.height = y - (LAYER_GAP if rows else 0) + PADDING


def _move(box: Box, x: float, y: float) -> None:
    """Makes places absolute."""
    box.x += x
    box.y += y
    for inner in box.inner:
        _move(inner, box.x, box.y)


def _walk(box: Box) -> list[Box]:
    return [box, *(found for inner in box.inner for found in _walk(inner))]


def _box_text(box: Box) -> str:
    kind = "group" if box.is_open else "folded"
    if isinstance(box.child, Item):
        kind = "leaf" if box.child.is_leaf else "item"
    lines = [
        f'<text x="{box.x + PADDING:.1f}" y="{box.y + 15 + 14 * k:.1f}"'
        f"{' class=' + chr(34) + 'small' + chr(34) if k else ''}>{escape(line)}</text>"
        for k, line in enumerate(box.lines)
    ]
    rectangle = (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="4"/>'
    )
    return f'<g class="{kind}">{rectangle}{"".join(lines)}</g>'


def _edges(items: list[Item], boxes: list[Box], backward: bool) -> list[Edge]:
    shown: dict[int, Box] = {}
    for box in boxes:
        if isinstance(box.child, Item):
            shown[box.child.number] = box
        elif not box.is_open:
            shown.update((item.number, box) for item in box.child.items())
    pairs = {
        (id(shown[source]), id(shown[item.number])): (shown[source], shown[item.number])
        for item in items
        for source in item.inputs
        if shown[source] is not shown[item.number]
    }
    return [_edge(*(pair[::-1] if backward else pair)) for pair in pairs.values()]


def _edge(start: Box, end: Box) -> Edge:
    x0, y0 = start.x + start.width / 2, start.y + start.height
    x1, y1 = end.x + end.width / 2, end.y
    if y1 - y0 > 3 * LAYER_GAP:
        return _edge_around_rows(start, end)
    bend = max(abs(y1 - y0) / 2, LAYER_GAP / 2)
    return (x0, y0), (x0, y0 + bend), (x1, y1 - bend), (x1, y1)


def _edge_around_rows(start: Box, end: Box) -> Edge:
    """An edge that passes rows goes out to the right: it would hide what is in them."""
    x0, y0 = start.x + start.width, start.y + start.height / 2
    x1, y1 = end.x + end.width, end.y + end.height / 2
    out = max(x0, x1) + 60 + min((y1 - y0) / 6, 200)
    return (x0, y0), (out, y0), (out, y1), (x1, y1)


def _edge_text(edge: Edge) -> str:
    start, *curve = (f"{x:.1f} {y:.1f}" for x, y in edge)
    return f'<path class="edge" marker-end="url(#tip)" d="M{start}C{" ".join(curve)}"/>'
