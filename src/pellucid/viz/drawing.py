"""``Drawing``: a graph with its layout, to be saved as a page or a picture.

Joins the parts: items, their tree of groups, the layers of each group. Read next:
svg.py (a still picture) and page.py (the page that folds and unfolds).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pellucid.viz.collect import Item, readable_bytes, shapes_text
from pellucid.viz.layers import arrange
from pellucid.viz.tree import Group, make_tree


class Drawing:
    """A graph with its layout. Notebooks show it; ``save`` writes it to a file."""

    def __init__(self, items: list[Item], fold: int) -> None:
        self.items = items
        self.top = make_tree(items)
        self.layers = arrange(self.top, items)
        self.open_groups = _groups_to_open(self.top, fold)

    def __repr__(self) -> str:
        saved = sum(item.bytes_saved for item in self.items)
        return f"<Drawing of {len(self.items)} nodes, {readable_bytes(saved)} saved>"

    def _repr_html_(self) -> str:
        from html import escape

        page = escape(self.html())
        return f'<iframe srcdoc="{page}" width="100%" height="600"></iframe>'

    def html(self) -> str:
        """A page of its own that needs no network."""
        from pellucid.viz.page import make_page

        return make_page(self)

    def svg(self, *, backward: bool = False) -> str:
        """A still picture with the groups folded as the page shows them at first."""
        from pellucid.viz.svg import make_svg

        return make_svg(self, backward)

    def save(self, path: str | Path) -> Path:
        """Writes the page (``.html``) or the picture (``.svg``); returns the path.

        Raises ValueError for other endings.
        """
        path = Path(path)
        makers = {".html": self.html, ".svg": self.svg}
        if path.suffix not in makers:
            raise ValueError(
                f"cannot save a graph as {path.suffix or 'a file without ending'}: "
                "use a name that ends in .html or .svg"
            )
        path.write_text(makers[path.suffix](), encoding="utf-8")
        return path

    def data(self) -> dict[str, Any]:
        """What the page draws, as JSON types."""
        return {
            "items": [_item_data(item) for item in self.items],
            "top": self._group_data(self.top),
        }

    def _group_data(self, group: Group) -> dict[str, Any]:
        return {
            "name": group.name,
            "path": group.path,
            "open": group.path in self.open_groups,
            "layers": self.layers[id(group)],
            "children": [
                self._group_data(child) if isinstance(child, Group) else child.number
                for child in group.children
            ],
        }


def _item_data(item: Item) -> dict[str, Any]:
    return {
        "name": item.name,
        "backward": item.backward_name,
        "shape": shapes_text(item),
        "module": item.module,
        "source": item.source,
        "leaf": item.is_leaf,
        "bytes": item.bytes_saved,
        "inputs": item.inputs,
        "saved": [
            f"{s.name}: {s.dtype}{list(s.shape)}, "
            + ("a leaf" if s.is_leaf else readable_bytes(s.nbytes))
            for s in item.saved
        ],
    }


def _groups_to_open(top: Group, limit: int) -> set[str]:
    """Paths of the groups to open, outer ones first, until `limit` boxes are seen."""
    opened = {top.path}
    seen = len(top.children)
    waiting = [child for child in top.children if isinstance(child, Group)]
    while waiting:
        group = waiting.pop(0)
        if seen + len(group.children) > limit:
            continue
        opened.add(group.path)
        seen += len(group.children)
        waiting += [child for child in group.children if isinstance(child, Group)]
    return opened
