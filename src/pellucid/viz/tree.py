"""Groups of items by module, none of them too wide to read.

A group's children are items and groups, in the order of forward. More than ``WIDEST``
children are put into folds of their own ("ops 1 to 40"), so that a function of
thousands of ops without modules stays readable too. Called by drawing.py; read next:
layers.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pellucid.viz.collect import Item

WIDEST = 40


@dataclass
class Group:
    """A module, a fold of a wide one, or (at the top) everything."""

    name: str  # the last part of its path
    path: str
    children: list[Item | Group] = field(default_factory=list)

    @property
    def order(self) -> int:
        """The place of its first item in the forward pass."""
        return min(child.order for child in self.children)

    def items(self) -> Iterator[Item]:
        """All items in it and in its groups."""
        for child in self.children:
            if isinstance(child, Group):
                yield from child.items()
            else:
                yield child


def make_tree(items: list[Item]) -> Group:
    """The top group."""
    top = Group("", "")
    groups = {"": top}
    for item in items:
        _group_of(item.module, groups).children.append(item)
    _arrange(top)
    return top


def _group_of(path: str, groups: dict[str, Group]) -> Group:
    if path not in groups:
        parent, _, name = path.rpartition(".")
        groups[path] = Group(name, path)
        _group_of(parent, groups).children.append(groups[path])
    return groups[path]


def _arrange(group: Group) -> None:
    for child in group.children:
        if isinstance(child, Group):
            _arrange(child)
    group.children.sort(key=lambda child: (child.order, isinstance(child, Group)))
    while len(group.children) > WIDEST:
        group.children = _folded(group)


def _folded(group: Group) -> list[Item | Group]:
    """The children in folds of about equal width."""
    count = len(group.children)
    folds = -(-count // WIDEST)
    width = -(-count // folds)
    made: list[Item | Group] = []
    for start in range(0, count, width):
        part = group.children[start : start + width]
        name = f"ops {start + 1} to {start + len(part)}"
        if isinstance(part[0], Group) and isinstance(part[-1], Group):
            name = (
                f"{part[0].name.split(' to ')[0]} to {part[-1].name.split(' to ')[-1]}"
            )
        made.append(Group(name, f"{group.path}.{name}".lstrip("."), part))
    return made
