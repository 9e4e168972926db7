"""Edits of a program's source for patches, found by its syntax tree."""

from __future__ import annotations

import ast
import difflib
import linecache
import os
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate

from pellucid.diagnose.findings import Patch

LAST = ("-1", "-1:")  # indices of a sequence's last position


def tree_of(file: str) -> ast.Module | None:
    """The syntax tree of a file; None if it cannot be read."""
    try:
        return _parsed(file, os.stat(file).st_mtime_ns)
    except (OSError, SyntaxError, ValueError):
        return None


@lru_cache(maxsize=64)
def _parsed(file: str, changed: int) -> ast.Module:
    """The cached tree of a file at its last modification."""
    with open(file, encoding="utf-8") as source:
        return ast.parse(source.read())


@lru_cache(maxsize=64)
def _nodes(tree: ast.Module | None) -> list[ast.AST]:
    """All nodes of a tree."""
    return list(ast.walk(tree)) if tree is not None else []


def text_of(file: str, line: int) -> str:
    """A line without its newline."""
    return linecache.getline(file, line).rstrip("\n")


def replaced(file: str, line: int, pattern: str, by: str) -> Patch | None:
    """The patch that replaces a pattern in a line; None without a match."""
    text = text_of(file, line)
    new = re.sub(pattern, by, text)
    return Patch(file, ((line, line, (new,)),)) if new != text else None


def replaced_anywhere(file: str, pattern: str, by: str) -> Patch | None:
    """Like `replaced`, in every line of a file."""
    edits = []
    for number, text in enumerate(linecache.getlines(file), 1):
        new = re.sub(pattern, by, text.rstrip("\n"))
        if new != text.rstrip("\n"):
            edits.append((number, number, (new,)))
    return Patch(file, tuple(edits)) if edits else None


def replaced_nodes(
    file: str, replacements: Sequence[tuple[ast.expr | ast.keyword, str]]
) -> Patch | None:
    """The patch that replaces expressions by texts; an expression inside of another
    replaced one is left to that.
    """
    lines = [line.rstrip("\n").encode() for line in linecache.getlines(file)]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    spans = [
        (
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
            text,
        )
        for node, text in replacements
    ]
    source = b"\n".join(lines)
    outer: list[tuple[int, int, str]] = []
    for begin, end, text in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not outer or begin >= outer[-1][1]:
            outer.append((begin, end, text))
    for begin, end, text in reversed(outer):
        source = source[:begin] + text.encode() + source[end:]
    return patch_to(file, source.decode().split("\n"))


def patch_to(file: str, new: Sequence[str]) -> Patch | None:
    """The patch from a file's lines to others; None if they are equal."""
    old = [line.rstrip("\n") for line in linecache.getlines(file)]
    codes = difflib.SequenceMatcher(None, old, new, False).get_opcodes()
    edits = [
        (first + 1, last, tuple(new[begin:end]))
        for kind, first, last, begin, end in codes
        if kind != "equal"
    ]
    return Patch(file, tuple(edits)) if edits else None


def enclosing(
    file: str, line: int, wanted: Callable[[ast.AST], bool]
) -> list[ast.stmt]:
    """The statements around a line that are wanted, the outermost first."""
    return [node for node in _around(tree_of(file), line) if wanted(node)]


@lru_cache(maxsize=4096)
def _around(tree: ast.Module | None, line: int) -> list[ast.stmt]:
    """The statements around a line, the outermost first."""
    nodes = [
        node
        for node in _nodes(tree)
        if isinstance(node, ast.stmt)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return sorted(nodes, key=lambda node: node.lineno)


def is_loop(node: ast.AST) -> bool:
    """Whether a statement repeats others."""
    return isinstance(node, ast.For | ast.While)


def repeating(file: str, line: int) -> int:
    """The line of the innermost loop or comprehension around a line; 0 without."""
    kinds = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    places = [loop.lineno for loop in enclosing(file, line, is_loop)]
    for node in _nodes(tree_of(file)):
        if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or 0):
            places.append(node.lineno)
    return max(places, default=0)


def is_repeated(file: str, line: int) -> bool:
    """Whether a line is in a loop, or in a function that a loop calls by its name."""
    if enclosing(file, line, is_loop):
        return True
    functions = enclosing(file, line, lambda n: isinstance(n, ast.FunctionDef))
    names = {function.name for function in functions}  # type: ignore[attr-defined]
    calls = (n for n in _nodes(tree_of(file)) if isinstance(n, ast.Call))
    return any(
        ast.unparse(call.func).rpartition(".")[2] in names
        and bool(enclosing(file, call.lineno, is_loop))
        for call in calls
    )


def statement_at(file: str, line: int) -> ast.stmt | None:
    """The innermost simple statement of a line."""
    statements = enclosing(file, line, lambda node: not hasattr(node, "body"))
    return statements[-1] if statements else None


def wrapped(file: str, node: ast.stmt, head: str) -> Patch:
    """The statement inside of ``head``, a line that ends with a colon."""
    first, last = node.lineno, node.end_lineno or node.lineno
    lines = [text_of(file, number) for number in range(first, last + 1)]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    inner = [f"    {line}" if line.strip() else line for line in lines]
    return Patch(file, ((first, last, (indent + head, *inner)),))


def cached(file: str, function: ast.FunctionDef) -> Patch:
    """The patch that keeps a function's results by its arguments."""
    number = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    top = top_of(file, number)
    decorator = f"{indent_of(file, number)}@functools.cache"
    if top == number:
        return Patch(file, ((top, top - 1, ("import functools", decorator)),))
    edits = (number, number - 1, (decorator,)), (top, top - 1, ("import functools",))
    return Patch(file, edits)


def top_of(file: str, line: int) -> int:
    """The first line of the statement of the module that contains a line."""
    statements = enclosing(file, line, lambda node: True)
    if not statements:
        return line
    decorators = getattr(statements[0], "decorator_list", [])
    return min([statements[0].lineno, *(int(node.lineno) for node in decorators)])


def every_tenth(file: str, line: int) -> Patch | None:
    """The statement at a line guarded to run in every tenth round of its loop; None if
    the loop has no counter.
    """
    starting = enclosing(file, line, lambda node: node.lineno == line)  # type: ignore[attr-defined]
    statement = starting[0] if starting else statement_at(file, line)
    loops = [loop for loop in enclosing(file, line, is_loop) if loop is not statement]
    loop = loops[-1] if loops else None
    if statement is None or not isinstance(loop, ast.For):
        return None
    source = ast.unparse(loop.iter)
    target = loop.target
    if source.startswith("enumerate(") and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif not source.startswith("range("):
        return None
    counter = ast.unparse(target)
    if source.startswith("range(") and len(loop.iter.args) == 3:  # type: ignore[attr-defined]
        counter += f" // {ast.unparse(loop.iter.args[2])}"  # type: ignore[attr-defined]
    return wrapped(file, statement, f"if {counter} % 10 == 0:")


def indent_of(file: str, line: int) -> str:
    """The spaces that a line begins with."""
    text = text_of(file, line)
    return text[: len(text) - len(text.lstrip())]


def called_names(file: str, node: ast.AST, depth: int = 2) -> set[str]:
    """The last names of the functions that a node calls, and of those that the file's
    functions of these names call.
    """
    functions = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    names = {ast.unparse(function).rpartition(".")[2] for function in functions}
    found = set(names)
    for own in _nodes(tree_of(file)) if depth else ():
        if isinstance(own, ast.FunctionDef) and own.name in names:
            found |= called_names(file, own, depth - 1)
    return found


def called_in_loops(file: str) -> list[tuple[ast.stmt, ast.stmt, str]]:
    """(the outermost loop, a statement in it, the plain name that it calls), of names
    that the file defines outside of the loop.
    """
    tree = tree_of(file)
    calls: list[tuple[ast.stmt, ast.stmt, str]] = []
    for call in _nodes(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        loops = enclosing(file, call.lineno, is_loop)
        statement = statement_at(file, call.lineno)
        if loops and statement is not None and definition_of(tree, call.func.id):
            calls.append((loops[0], statement, call.func.id))
    return calls


def constant_of(tree: ast.Module | None, value: ast.expr) -> ast.Constant | None:
    """The number that an expression is: a constant, or the only one that the program
    gives a variable, an attribute, a key of a dict or a default of that name.
    """
    if isinstance(value, ast.Constant):
        return value
    name = ""
    if isinstance(value, ast.Name | ast.Attribute):
        name = value.id if isinstance(value, ast.Name) else value.attr
    elif isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        name = str(value.slice.value)
    given = [own for node in _nodes(tree) for own in _given(node, name)] if name else []
    constants = [own for own in given if isinstance(own, ast.Constant)]
    return constants[0] if len(constants) == len(given) == 1 else None


def _given(node: ast.AST, name: str) -> list[ast.expr | None]:
    """What a node gives a name; an attribute of the same name is not counted, as in
    ``batch_size=config.batch_size``.
    """
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == name]
    if isinstance(node, ast.Assign):
        names = [ast.unparse(target).rpartition(".")[2] for target in node.targets]
        return [node.value] if name in names else []
    if isinstance(node, ast.AnnAssign):
        is_own = ast.unparse(node.target).rpartition(".")[2] == name
        return [node.value] if is_own and node.value is not None else []
    if isinstance(node, ast.arguments):
        defaults = zip(reversed(node.args), reversed(node.defaults), strict=False)
        return [value for argument, value in defaults if argument.arg == name]
    if isinstance(node, ast.Call) and node.args:
        option = node.args[0]
        text = str(option.value) if isinstance(option, ast.Constant) else ""
        if text.startswith("--") and text[2:].replace("-", "_") == name:
            return [k.value for k in node.keywords if k.arg == "default"]
    return []


def definition_of(tree: ast.Module | None, name: str) -> ast.stmt | None:
    """Of a function, or of the class of an object that is bound to the name; the
    binding itself if the class is not the file's.
    """
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        if name in [ast.unparse(target) for target in node.targets]:
            constructor = ast.unparse(node.value.func)
            classes = (n for n in tree.body if isinstance(n, ast.ClassDef))  # type: ignore[union-attr]
            return next((n for n in classes if n.name == constructor), node)
    return None
