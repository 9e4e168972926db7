"""Which module of a package uses which: its imports, read from the source.

An import inside a function counts, and so does ``torch.nn.Linear`` after ``import
pellucid as torch``; ``torch.save`` is a use of the module that defines ``save``, which
the package says by its own imports and by its table of lazy names. These do not count:
what only type checkers read; the ``__getattr__`` of a package, which offers names and
uses none; and the packages around a module, whose namespaces it may read when it is
called.

``executed_modules`` are those of them that run while a module is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[2] / "src"


def modules_of(package: str) -> dict[str, Path]:
    """Every module of a package by its full name."""
    actual = {}
    for path in (SOURCES / package).rglob("*.py"):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        actual[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return actual


def used_modules(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules that one uses, itself and the packages around it left out; those of
    other packages of the project by the package's name.
    """
    used, _ = _full_names(path)
    return _modules_of_names(name, used, modules)


def executed_modules(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules that are imported before one is: what it uses outside of functions,
    and the packages around that. A lazy submodule of the package is not imported by
    ``from pellucid import nn``, but by reading ``nn.Module``.
    """
    _, executed = _full_names(path)
    actual = _modules_of_names(name, executed, modules)
    for module in list(actual):
        parts = module.split(".")
        actual |= {".".join(parts[:count]) for count in range(2, len(parts))}
    return {m for m in actual if not f"{name}.".startswith(f"{m}.")}


def _tree(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text())
    if path.name == "__init__.py":
        tree.body = [s for s in tree.body if getattr(s, "name", "") != "__getattr__"]
    return tree


def _imports_lazily(node: ast.AST) -> bool:
    is_of_package = isinstance(node, ast.ImportFrom) and node.module == "pellucid"
    return is_of_package and all(
        alias.name in _offers()["MODULES"] for alias in node.names
    )


@cache
def _full_names(path: Path) -> tuple[set[str], set[str]]:
    """The names that a module uses, and those of them that its import uses."""
    nodes = list(_counted(_tree(path)))
    bound = dict(_bound_names(node for node, _ in nodes))
    used: set[str] = set()
    executed: set[str] = set()
    for node, is_called in nodes:
        names = {*_imported(node), *_read_through(node, bound)}
        used |= names
        if not is_called and not _imports_lazily(node):
            executed |= names
    return used, executed


def _modules_of_names(
    name: str, names: Iterable[str], modules: dict[str, Path]
) -> set[str]:
    actual = {
        _module(_home(full), modules) for full in names if full.startswith("pellucid")
    }
    return {m for m in actual if m and not f"{name}.".startswith(f"{m}.")}


@cache
def _offers() -> dict[str, Any]:
    """The tables of lazy names (``_package/offers.py``)."""
    tables: dict[str, Any] = {}
    exec((SOURCES / "pellucid" / "_package" / "offers.py").read_text(), tables)
    return tables


@cache
def _homes() -> dict[str, str]:
    """The modules of what the package has under names of its own."""
    tables, modules = _offers(), modules_of("pellucid")
    homes = {f"pellucid._C.{n}": m for n, m in tables["OF_RUNTIME"].items()}
    for table in ("VALUES", "FUNCTIONS"):
        homes |= {f"pellucid.{n}": m for n, m in tables[table].items()}
    homes = {name: f"pellucid.{module}" for name, module in homes.items()}
    for node in ast.parse(modules["pellucid"].read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                shown = [alias.name]
                if alias.name == "*":
                    shown = _public_names(modules[node.module])
                homes |= {f"pellucid.{n}": node.module for n in shown if n[0] != "_"}
    return homes


def _public_names(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def _home(full: str) -> str:
    """The module that defines ``pellucid.NAME``, or the name as it is."""
    parts = full.split(".")
    for count in (2, 3):
        home = _homes().get(".".join(parts[:count]))
        if home is not None and home != "pellucid":
            return home
    return full


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COUNTED = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute)


def _counted(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """The imports, calls and attributes of a module; and whether each is in the body of
    a function, which its definition does not run.
    """
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, is_called = left.pop()
        if isinstance(node, _COUNTED):
            yield node, is_called
        inner: list[tuple[ast.AST, bool]] = []
        for field in node._fields:
            if field in ("annotation", "returns"):
                continue
            value = getattr(node, field, None)
            is_body = field == "body" and isinstance(node, _FUNCTIONS)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST) and not _is_for_type_checkers(child):
                    inner.append((child, is_called or is_body))
        left.extend(reversed(inner))


def _is_for_type_checkers(node: ast.AST) -> bool:
    is_named = isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    return is_named and node.test.id == "TYPE_CHECKING"


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
        yield from (a.value for a in node.args if isinstance(a, ast.Constant))


def _bound_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
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
    actual: list[set[str]] = []

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
                actual.append(group)

    for module in graph:
        if module not in index:
            visit(module)
    return actual
