"""Functions are short and defined once; something names each one of the engine."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")
MOST = 90  # lines without the docstring


def functions(path):
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def lines_of(node):
    """Its lines but for those of its docstring."""
    lines = node.end_lineno - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def too_long(paths, most=MOST):
    return [
        f"{path}:{node.lineno} {node.name} has {lines_of(node)} lines"
        for path in paths
        for node in functions(path)
        if lines_of(node) > most
    ]


def unnamed(paths, words):
    """Functions whose name occurs once, where it is defined; Python calls ``__x__``,
    and a decorator may hand a function to whatever calls it.
    """
    return [
        f"{path}:{node.lineno} {node.name}"
        for path in paths
        for node in functions(path)
        if words[node.name] == 1
        and not node.decorator_list
        and not re.fullmatch("__.*__", node.name)
    ]


@pytest.mark.parametrize("package", ["pellucid", "pellucid_compiler"])
def test_functions_are_short(package):
    assert too_long((ROOT / "src" / package).rglob("*.py")) == []


def test_every_function_of_the_engine_is_named_somewhere():
    words = Counter()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            words.update(re.findall(r"\w+", path.read_text()))
    engine = (ROOT / "src/pellucid_compiler").rglob("*.py")
    assert unnamed(engine, words) == []


def test_the_rules_find_what_breaks_them(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def used():\n    pass\n\n\ndef unused():\n    used()\n")
    words = Counter(re.findall(r"\w+", path.read_text()))
    assert [row.split()[-1] for row in unnamed([path], words)] == ["unused"]
    assert len(too_long([path], most=1)) == 2


def test_module_functions_of_the_runtime_are_defined_once():
    """Of two functions with one name, the one that is added later would serve both."""
    tables = re.compile(r"PyMethodDef functions\[\] = \{\n(.*?)^\};", re.S | re.M)
    named = re.compile(r'^    \{"(\w+)",', re.MULTILINE)
    names = Counter(
        name
        for path in sorted((ROOT / "runtime").rglob("*.cpp"))
        for table in tables.findall(path.read_text())
        for name in named.findall(table)
    )
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []
