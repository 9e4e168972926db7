"""Which module of a package uses which: its imports, read from the source.

An import inside a function counts, and so does ``torch.nn.Linear`` after ``import
pellucid as torch``. These do not: what only type checkers read; the ``__getattr__`` of
a package, which offers names and uses none; and the packages around a module, whose
namespaces it may read when it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"


def modules_of(package: str) -> dict[str, Path]:
    """Every module of a package by its full name."""
    found = {}
    for path in (SOURCES / package).rglob("*.py"):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def used_modules(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules that one uses, itself and the packages around it left out; those of
    other packages of the project by the package's name.
    """
    tree = ast.parse(path.read_text())
    if path.name == "__init__.py":
        tree.body = [s for s in tree.body if getattr(s, "name", "") != "__getattr__"]
    nodes = list(_counted(tree))
    bound = dict(_bound_names(nodes))
    named = {full for node in nodes for full in _imported(node)}
    named |= {full for node in nodes for full in _read_through(node, bound)}
    found = {_module(full, modules) for full in named if full.startswith("pellucid")}
    return {m for m in found if m and not f"{name}.".startswith(f"{m}.")}


def _counted(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_for_type_checkers(child):
                yield from _counted(child)


def _is_for_type_checkers(node: ast.AST) -> bool:
    is_named = isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    return is_named and node.test.id == "TYPE_CHECKING"


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":
        yield from (a.value for a in node.args if isinstance(a, ast.Constant))


def _bound_names(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Names that denote modules, and those modules."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                outermost = alias.name.partition(".")[0]
                yield (
                    alias.asname or outermost,
                    alias.name if alias.asname else (outermost),
                )


def _read_through(node: ast.AST, bound: dict[str, str]) -> Iterator[str]:
    """``torch.nn.Linear`` as a full name, where ``torch`` is an imported module."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if attributes and isinstance(node, ast.Name) and node.id in bound:
        yield ".".join((bound[node.id], *reversed(attributes)))


def _module(full: str, modules: dict[str, Path]) -> str:
    """The module that a full name is in, or the package, if it is another one."""
    package = full.partition(".")[0]
    if package not in modules:
        return package
    while full not in modules:
        full = full.rpartition(".")[0]
    return full


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of modules that use one another in a circle (Tarjan 1972)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        index[module] = lowest[module] = len(index)
        path.append(module)
        for used in graph.get(module, ()):
            if used not in index:
                visit(used)
            if used in path:
                lowest[module] = min(lowest[module], lowest[used])
        if lowest[module] == index[module]:
            group = set(path[path.index(module) :])
            del path[path.index(module) :]
            if len(group) > 1:
                found.append(group)

    for module in graph:
        if module not in index:
            visit(module)
    return found
