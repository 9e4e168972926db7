"""The modules that a package needs, what needs them, and what happens to them."""

from __future__ import annotations

import importlib.machinery
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any

from pellucid.package.glob_group import GlobGroup
from pellucid.package.importer import Importer


class Action(Enum):
    """What happens to a module; a pickle is a node of the graph, too."""

    INTERN = auto()
    EXTERN = auto()
    MOCK = auto()
    DENY = auto()
    PICKLE = auto()


class PackagingErrorReason(Enum):
    """Why a module cannot be packed."""

    IS_EXTENSION_MODULE = "the module is compiled; packages hold Python only: extern it"
    NO_DUNDER_FILE = "the module has no __file__"
    SOURCE_FILE_NOT_FOUND = "the file of the module does not exist"
    DEPENDENCY_RESOLUTION_FAILED = "the source or one of its imports is not understood"
    NO_ACTION = "no pattern matches the module: intern, extern or mock it"
    DENIED = "a pattern denies the module"
    MOCKED_BUT_STILL_USED = (
        "the module is mocked, but an object of a pickle is of one of its classes: "
        "intern or extern it"
    )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}>"


@dataclass
class Pattern:
    """One call of ``intern``, ``extern``, ``mock`` or ``deny``."""

    group: GlobGroup
    action: Action
    allow_empty: bool
    was_matched: bool = False


@dataclass
class _Node:
    action: Action | None = None
    source: str | None = None
    is_package: bool = False
    problem: PackagingErrorReason | None = None
    detail: str = ""
    needs: dict[str, None] = field(default_factory=dict)


class DependencyGraph:
    """Modules and pickles by name."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}

    def need(self, name: str) -> _Node:
        """The node of this name, made if it is new."""
        return self._nodes.setdefault(name, _Node())

    def provide(
        self,
        name: str,
        action: Action,
        source: str | None = None,
        is_package: bool = False,
    ) -> None:
        """Decides what happens to a module."""
        node = self.need(name)
        node.action, node.source, node.is_package = action, source, is_package

    def refuse(self, name: str, reason: PackagingErrorReason, detail: str = "") -> None:
        """Remembers a problem, which ``close`` reports with all others."""
        node = self.need(name)
        node.problem, node.detail = reason, detail

    def connect(self, name: str, needed: str) -> None:
        """One needs the other."""
        self.need(name).needs[needed] = None
        self.need(needed)

    def is_decided(self, name: str) -> bool:
        """Whether there is an action or a problem."""
        node = self._nodes.get(name)
        return node is not None and (node.action or node.problem) is not None

    def action_of(self, name: str) -> Action | None:
        return self.need(name).action

    def with_action(self, action: Action) -> list[str]:
        return [name for name, node in self._nodes.items() if node.action is action]

    def refused_for(self, reason: PackagingErrorReason) -> list[str]:
        return [name for name, node in self._nodes.items() if node.problem is reason]

    def has_problems(self) -> bool:
        return any(node.problem for node in self._nodes.values())

    def sources(self) -> Iterator[tuple[str, str, bool]]:
        """The names, sources and kinds of the modules that are packed."""
        for name, node in self._nodes.items():
            if node.source is not None:
                yield name, node.source, node.is_package

    def needed_by(self, name: str) -> list[str]:
        return [k for k, node in self._nodes.items() if name in node.needs]

    def problems(self) -> dict[PackagingErrorReason, dict[str, str]]:
        """Details by module by reason."""
        found: dict[PackagingErrorReason, dict[str, str]] = {}
        for name, node in self._nodes.items():
            if node.problem:
                found.setdefault(node.problem, {})[name] = node.detail
        return found

    def as_dot(self) -> str:
        """The graph in Graphviz's language."""
        pairs = [(k, n) for k, node in self._nodes.items() for n in node.needs]
        return _dot(pairs)

    def paths(self, first: str, last: str) -> str:
        """The part of the graph that leads from one node to another."""
        leading = {last}
        is_growing = True
        while is_growing:
            more = {k for k, n in self._nodes.items() if leading & n.needs.keys()}
            is_growing = not more <= leading
            leading |= more
        reached, waiting = set[str](), [first]
        while waiting:
            name = waiting.pop()
            if name in leading and name not in reached:
                reached.add(name)
                waiting += self.need(name).needs
        pairs = [(k, n) for k in reached for n in self._nodes[k].needs if n in reached]
        return _dot(sorted(pairs))


def _dot(pairs: list[tuple[str, str]]) -> str:
    lines = "".join(f'"{a}" -> "{b}";\n' for a, b in pairs)
    return f"digraph G {{\nrankdir = LR;\nnode [shape=box];\n{lines}}}\n"


class EmptyMatchError(Exception):
    """A pattern with ``allow_empty=False`` matched no module."""


class PackagingError(Exception):
    """Modules that cannot be packed, with the reasons."""

    def __init__(self, dependency_graph: DependencyGraph, debug: bool = False) -> None:
        self.dependency_graph = dependency_graph
        lines = []
        for reason, modules in dependency_graph.problems().items():
            lines.append(f"\n* {reason.value}")
            for name, detail in modules.items():
                lines.append(f"    {name}{f': {detail}' if detail else ''}")
                users = dependency_graph.needed_by(name)
                lines += [f"        needed by {', '.join(users)}"] if users else []
        if debug:
            lines.append(f"\n{dependency_graph.as_dot()}")
        else:
            lines.append("\nPackageExporter(debug=True) shows all dependencies.")
        super().__init__("\n".join(lines))


_Problem = tuple[PackagingErrorReason, str]


def source_of(
    importer: Importer, module_name: str
) -> tuple[str | None, bool, _Problem]:
    """(source, whether it is a package, why there is no source)."""
    reason = PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED
    try:
        module = importer.import_module(module_name)
    except Exception as error:
        return None, False, (reason, f"{type(error).__name__}: {error}")
    is_package = hasattr(module, "__path__")
    loader: Any = getattr(module, "__loader__", None)
    source = None
    if hasattr(loader, "get_source"):
        source = loader.get_source(module.__name__)
    path = getattr(module, "__file__", None)
    if source is None and path:
        source = "".join(linecache.getlines(path, module.__dict__)) or None
    if source is not None or path is None:
        return source, is_package, (PackagingErrorReason.NO_DUNDER_FILE, "")
    if path.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        return None, is_package, (PackagingErrorReason.IS_EXTENSION_MODULE, path)
    if Path(path).is_file():  # an empty file
        return "", is_package, (PackagingErrorReason.NO_DUNDER_FILE, "")
    return None, is_package, (PackagingErrorReason.SOURCE_FILE_NOT_FOUND, path)
