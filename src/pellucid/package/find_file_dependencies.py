"""Which modules a source imports, found in its syntax tree without running it."""

from __future__ import annotations

import ast
from importlib.util import resolve_name


def find_files_source_depends_on(
    source: str, package: str
) -> list[tuple[str, str | None]]:
    """(module, None) for ``import module``; (module, name) for what is imported from
    it, which may be a module too. ``package`` is that of relative imports.

    ``__import__`` with a literal name counts, too.
    """
    found: dict[tuple[str, str | None], None] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update({(alias.name, None): None for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            module = resolve_name(name, package) if node.level else name
            found.update({(module, alias.name): None for alias in node.names})
        elif isinstance(node, ast.Call):
            found.update(dict.fromkeys(_called(node)))
    return list(found)


def _called(node: ast.Call) -> list[tuple[str, str | None]]:
    is_import = isinstance(node.func, ast.Name) and node.func.id == "__import__"
    if not is_import or not node.args:
        return []
    name = node.args[0]
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return []
    return [(name.value, None)]
