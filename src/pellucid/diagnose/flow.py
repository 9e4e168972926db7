"""Whether a backward pass may go through the gradients that a call gives, by the names
of the program's syntax trees: also in a branch that was not taken, or later than what
was recorded.

What is computed from the gradients is followed through assignments, loops, containers,
attributes, arguments and results of the program's functions. Names are those of all
scopes: it rather follows too much.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pellucid.diagnose.patterns import MODULES

_PASSES = (
    *("backward", "grad", "jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"),
    *("value_and_grad", "grad_and_value"),
)
_QUIET = ("no_grad", "inference_mode")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_differentiated(trees: Sequence[ast.Module], call: ast.Call) -> bool:
    """Whether what depends on a call of ``backward`` or ``grad`` is given to another
    one, or to the same in a later round.
    """
    flow = _Flow(trees, call)
    return any(flow.passes(node) for node in flow.nodes if isinstance(node, ast.Call))


class _Flow:
    """``names``: variables, ``.attributes`` and ``functions()`` that depend on a call's
    gradients.
    """

    def __init__(self, trees: Sequence[ast.Module], call: ast.Call) -> None:
        self.nodes = [node for tree in trees for node in ast.walk(tree)]
        self._call = call
        self._functions: dict[str, list[_Function]] = {}
        self._returning: dict[ast.AST, str] = {}
        self._quiet: set[ast.AST] = set()
        for node in self.nodes:
            if isinstance(node, _Function):
                self._functions.setdefault(node.name, []).append(node)
                self._returning |= dict.fromkeys(ast.walk(node), f"{node.name}()")
            if _is_quiet(node):
                self._quiet.update(ast.walk(node))
        self.names = {".grad"} if _last(call) == "backward" else set()
        while more := {n for node in self.nodes for n in self._bound(node)}:
            if more <= self.names:
                break
            self.names |= more

    def passes(self, node: ast.Call) -> bool:
        """Whether a call is a backward pass through what depends on the gradients."""
        if _last(node) not in _PASSES:
            return False
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            given.append(node.func.value)
        return any(map(self._depends, given))

    def _depends(self, node: ast.AST) -> bool:
        for inner in ast.walk(node):
            if inner is self._call:
                return True
            name = getattr(inner, "id", None) or getattr(inner, "attr", None)
            if f"{name}()" in self.names:
                return True
            if isinstance(inner, ast.Name) and inner.id in self.names:
                return True
            is_own = isinstance(inner, ast.Attribute) and _root(inner) not in MODULES
            if is_own and f".{name}" in self.names:
                return True
        return False

    def _bound(self, node: ast.AST) -> Iterator[str]:
        """The names that depend on the gradients by a node."""
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_update = isinstance(node, ast.AugAssign) and node in self._quiet
            if node.value is not None and not is_update and self._depends(node.value):
                yield from (name for target in targets for name in _targets(target))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            for target, value in _pairs(node.target, node.iter):
                if self._depends(value):
                    yield from _targets(target)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            if self._depends(node.context_expr):
                yield from _targets(node.optional_vars)
        elif isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
            if node.value is not None and self._depends(node.value):
                yield self._returning.get(node, "()")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from self._kept(node.value)
        if isinstance(node, ast.Call):
            yield from self._given(node)

    def _kept(self, call: ast.Call) -> Iterator[str]:
        """The object whose method is given what depends: ``kept.append(g)``."""
        root = _root(call.func) if isinstance(call.func, ast.Attribute) else None
        if root is None or root in MODULES or call in self._quiet:
            return
        if any(map(self._depends, _arguments(call))):
            yield from _targets(call.func.value)  # type: ignore[attr-defined]

    def _given(self, call: ast.Call) -> Iterator[str]:
        """The parameters of the program's functions that a call gives what depends."""
        for function in self._functions.get(_last(call), ()):
            own = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
            if isinstance(call.func, ast.Attribute) and own[:1] == ["self"]:
                own = own[1:]
            rest = [a.arg for a in (function.args.vararg, function.args.kwarg) if a]
            if any(isinstance(argument, ast.Starred) for argument in call.args):
                own, rest = [], [*own, *rest]
            for place, argument in enumerate(call.args):
                if self._depends(argument):
                    yield from own[place : place + 1] or rest
            for keyword in call.keywords:
                if self._depends(keyword.value):
                    yield from [keyword.arg] if keyword.arg else [*own, *rest]


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _last(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _root(node: ast.AST) -> str | None:
    """The name that a chain of attributes, items and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _targets(target: ast.expr) -> Iterator[str]:
    """The names that are bound, or whose object is changed; ``.data`` has no graph."""
    if isinstance(target, ast.Tuple | ast.List):
        yield from (name for inner in target.elts for name in _targets(inner))
    elif isinstance(target, ast.Starred | ast.Subscript):
        yield from _targets(target.value)
    elif isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Attribute) and target.attr != "data":
        yield f".{target.attr}"
        if target.attr != "grad" and _root(target) != "self":
            yield from _targets(target.value)


def _pairs(target: ast.expr, iterable: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """A loop's targets and what each goes over: of ``zip`` each its own."""
    is_zip = isinstance(iterable, ast.Call) and ast.unparse(iterable.func) == "zip"
    owners = target.elts if isinstance(target, ast.Tuple) else []
    values = iterable.args if isinstance(iterable, ast.Call) and is_zip else []
    if not owners or len(owners) != len(values):
        return [(target, iterable)]
    return list(zip(owners, values, strict=True))


def _is_quiet(node: ast.AST) -> bool:
    """Whether no graph is recorded inside of a node."""
    if isinstance(node, ast.With):
        around: list[ast.expr] = [item.context_expr for item in node.items]
    else:
        around = getattr(node, "decorator_list", [])
    return any(word in ast.unparse(one) for one in around for word in _QUIET)
