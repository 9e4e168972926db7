#!/usr/bin/env python3
"""Writes the list of the package's lazily imported names.

``src/pellucid/_package/offers.py`` is derived from the marks in the sources
(``_package/calls/offered.py``) without importing them; submodules are the package's
files. Called by tools/build.py; run it after adding a mark.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "pellucid"
RESULT = PACKAGE / "_package" / "offers.py"
TABLES = {
    "value": ("VALUES", "Functions, classes and numbers, by their modules."),
    "function": ("FUNCTIONS", "Functions that ``__torch_function__`` sees."),
    "method": ("METHODS", "Functions that are methods of Tensor."),
    "runtime_value": ("OF_RUNTIME", "What libraries find in ``torch._C``."),
}
INTO = "into "  # and the place
HEADER = '''\
"""Made by tools/write_offers.py from the marks in the modules: what is lazy."""

from __future__ import annotations
'''


def module_name(path: Path) -> str:
    """A module's name below the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def marks(node: ast.AST) -> Iterator[str]:
    """The marks that decorate a definition, or wrap a value one in another."""
    found = getattr(node, "decorator_list", [])
    while isinstance(node, ast.Call) and len(node.args) == 1:
        found = [*found, node.func]
        node = node.args[0]
    for mark in found:
        if isinstance(mark, ast.Attribute) and ast.unparse(mark.value) == "offered":
            yield mark.attr
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "offered.into":
            yield INTO + ast.literal_eval(mark.args[0])


def offers(source: str) -> Iterator[tuple[str, str]]:
    """(mark, name) of all that a module offers."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield from ((mark, statement.name) for mark in marks(statement))
        elif isinstance(statement, ast.Assign):
            names = [t.id for t in statement.targets if isinstance(t, ast.Name)]
            yield from ((m, name) for m in marks(statement.value) for name in names)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if ast.unparse(call.func) == "offered.values":
                yield from (("value", ast.literal_eval(name)) for name in call.args)


def collect() -> dict[str, dict[str, str]]:
    """The modules of all offers, by mark and name."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text()
        if "offered." not in source or path.name == "offered.py":
            continue
        for mark, name in offers(source):
            if name in found[mark]:
                twice = f"{found[mark][name]} and {module_name(path)}"
                raise SystemExit(f"{name} is offered as a {mark} by {twice}")
            found[mark][name] = module_name(path)
    return found


def submodules() -> list[str]:
    """The modules and folders of the package."""
    files = [path for path in PACKAGE.glob("*.py") if path.stem != "__init__"]
    folders = [path.parent for path in PACKAGE.glob("*/__init__.py")]
    return sorted(path.stem for path in (*files, *folders))


def text() -> str:
    """The source of the result."""
    found = collect()
    modules = [name for name in submodules() if name not in found["value"]]
    lines = ["# Submodules, as attributes of the package.", "MODULES = ("]
    lines += [*(f'    "{name}",' for name in modules), ")"]
    for mark, (table, what) in TABLES.items():
        lines += [f"# {what}", f"{table} = {{"]
        lines += [f'    "{n}": "{m}",' for n, m in sorted(found[mark].items())]
        lines += ["}"]
    lines += ["# What modules and classes are offered by those above.", "INTO = {"]
    for mark in sorted(mark for mark in found if mark.startswith(INTO)):
        given = ", ".join(f'"{n}": "{m}"' for n, m in sorted(found[mark].items()))
        lines += [f'    "{mark.removeprefix(INTO)}": {{{given}}},']
    lines += ["}"]
    return "\n".join([HEADER, *lines, ""])


def write_offers() -> None:
    """Writes the table if it has changed."""
    fresh = text()
    if not RESULT.exists() or RESULT.read_text() != fresh:
        RESULT.write_text(fresh)


if __name__ == "__main__":
    write_offers()
