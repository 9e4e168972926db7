"""The files of a package as a tree, which prints as one."""

from __future__ import annotations

from collections.abc import Iterable

from pellucid.package.glob_group import GlobGroup, GlobPattern


class Directory:
    """A folder of a package, or a file, which has no children."""

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name, self.is_dir = name, is_dir
        self.children: dict[str, Directory] = {}

    def _add(self, path: str) -> None:
        first, _, rest = path.partition("/")
        child = self.children.setdefault(first, Directory(first, bool(rest)))
        if rest:
            child._add(rest)

    def has_file(self, filename: str) -> bool:
        """Whether there is a file of this path."""
        first, _, rest = filename.partition("/")
        child = self.children.get(first)
        return child is not None and (child.has_file(rest) if rest else True)

    def __str__(self) -> str:
        return "─── " + "".join(self._lines("    "))

    def _lines(self, indent: str) -> Iterable[str]:
        yield f"{self.name}\n"
        ordered = sorted(self.children.values(), key=lambda c: (not c.is_dir, c.name))
        for k, child in enumerate(ordered):
            is_last = k + 1 == len(ordered)
            yield f"{indent}{'└── ' if is_last else '├── '}"
            yield from child._lines(indent + ("    " if is_last else "│   "))


def directory_of(
    name: str, paths: Iterable[str], include: GlobPattern, exclude: GlobPattern
) -> Directory:
    """The tree of the paths that match."""
    group = GlobGroup(include, exclude=exclude, separator="/")
    top = Directory(name, True)
    for path in paths:
        if group.matches(path):
            top._add(path)
    return top
