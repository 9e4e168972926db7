"""Masks, positions, tables and the like that a function recomputes in every call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from statistics import mode

from pellucid.diagnose.edits import indent_of, text_of, top_of, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.independence import ADDING, is_changing
from pellucid.diagnose.verdict import Facts

# Functions of numbers alone; equal arguments give equal tensors.
_FACTORIES = (
    *("arange", "ones", "zeros", "full", "eye", "linspace", "logspace", "empty"),
    *("tril_indices", "triu_indices", "hann_window", "hamming_window"),
)
# Methods whose variables are sizes, dtypes and devices.
_SHAPED = ("expand", "view", "reshape", "repeat", "to", "type", "unsqueeze")
# Methods of containers, besides those that add to them; and parts of the names of
# functions whose results differ from call to call.
_CHANGING = ("appendleft", "extendleft", "insert", "reverse", "rotate", "sort", "fill")
_DRAWN = (
    *("rand", "item", "normal", "bernoulli", "multinomial", "poisson", "binomial"),
    *("sample", "dropout", "gumbel", "distributions", "seed", "now", "time", "today"),
    *("exponential", "uniform", "cauchy", "choice", "permutation", "shuffle", "perf_"),
)
_PURE = "torch.", "math.", "np.", "numpy."
_BUILTINS = "float", "int", "range", "list", "min", "max", "abs", "sum"
_SHARE, _CALLS = 0.05, 5
_Function = ast.FunctionDef


def find(facts: Facts) -> list[Finding]:
    """Runs of statements in functions that do not depend on tensor arguments."""
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        for outer, function in _functions(tree) if tree else ():
            fixed = _fixed_of(outer)
            numbers = _numbers_of(outer)
            for run in _constant_runs(function, numbers | fixed):
                finding = _finding(facts, file, outer, function, run, numbers, fixed)
                findings += [finding] if finding is not None else []
    return findings


def _functions(tree: ast.Module) -> Iterator[tuple[ast.stmt, _Function]]:
    """Each function, with the top-level statement that contains it."""
    for outer in tree.body:
        for node in ast.walk(outer):
            if isinstance(node, _Function):
                yield outer, node


def _numbers_of(outer: ast.stmt) -> set[str]:
    """Attributes that a class sets only once, to plain names and numbers."""
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(outer):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        for target in node.targets if isinstance(node, ast.Assign) else ():
            value = node.value  # type: ignore[attr-defined]
            is_tuple = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs += (
                zip(target.elts, value.elts, strict=False)  # type: ignore[attr-defined]
                if is_tuple
                else [(target, value)]
            )
        for target, value in pairs:
            if isinstance(target, ast.Attribute):
                assigned.setdefault(target.attr, []).append(value)
    plain = ast.Name | ast.Constant | ast.BinOp | ast.operator | ast.expr_context
    return {
        name
        for name, values in assigned.items()
        if len(values) == 1 and all(isinstance(n, plain) for n in ast.walk(values[0]))
    }


def _fixed_of(outer: ast.stmt) -> set[str]:
    """Attributes of a class that are assigned only once and whose objects none of its
    methods changes; of a module none, whose parameters are trained.
    """
    bases = [ast.unparse(base) for base in getattr(outer, "bases", ())]
    if not isinstance(outer, ast.ClassDef) or any("Module" in base for base in bases):
        return set()
    counts: dict[str, int] = {}
    for node in ast.walk(outer):
        is_method = isinstance(node, ast.Attribute) and _may_change(node.attr)
        is_stored = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        if is_method or is_stored:
            is_plain = isinstance(node, ast.Attribute) and not is_method
            for inner in ast.walk(node):
                if isinstance(inner, ast.Attribute):
                    counts[inner.attr] = counts.get(inner.attr, 0) + 2 - is_plain
    return {name for name, count in counts.items() if count == 1}


def _may_change(method: str) -> bool:
    """Whether a method of this name may change its object, or is one in place."""
    is_known = is_changing(method) or method in (*ADDING, *_CHANGING)
    return is_known or method.endswith("_")


def _constant_runs(
    function: _Function, numbers: set[str]
) -> Iterator[Sequence[ast.stmt]]:
    """Adjacent statements that depend only on numbers and on each other."""
    known: set[str] = set()
    run: list[ast.stmt] = []
    for statement in [*function.body, None]:
        if statement is not None and _is_constant(statement, known, numbers):
            run.append(statement)
            known |= _targets(statement)
            continue
        if any(isinstance(n, ast.Call) for s in run for n in ast.walk(s)):
            yield run
        run, known = [], set()


def _targets(statement: ast.stmt) -> set[str]:
    """The names that an assignment, or a loop's, binds or writes elements of."""
    if isinstance(statement, ast.For):
        inner = [_bound(statement.target), *map(_targets, statement.body)]
        return set().union(*inner)
    if isinstance(statement, ast.AugAssign):
        return _bound(statement.target)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return set()
    return _bound(statement.targets[0])


def _bound(target: ast.expr) -> set[str]:
    """The names of a target; none if it is an attribute."""
    nodes = target.elts if isinstance(target, ast.Tuple) else [target]
    names: set[str] = set()
    for node in nodes:
        while isinstance(node, ast.Subscript):
            node = node.value
        names |= {node.id} if isinstance(node, ast.Name) else {""}
    return set() if "" in names else names


def _is_constant(statement: ast.stmt, known: set[str], numbers: set[str]) -> bool:
    if isinstance(statement, ast.For):
        return _is_constant_loop(statement, known, numbers)
    if isinstance(statement, ast.Expr):
        return _appends(statement.value, known, numbers)
    targets = _targets(statement)
    if not isinstance(statement, ast.Assign | ast.AugAssign) or not targets:
        return False
    is_new = isinstance(statement, ast.Assign) and not isinstance(
        statement.targets[0], ast.Subscript
    )
    if not is_new and not targets <= known:
        return False
    return _depends(statement.value, known, numbers)


def _is_constant_loop(loop: ast.For, known: set[str], numbers: set[str]) -> bool:
    """Whether a loop goes over what stays the same, and so do its statements."""
    call = loop.iter
    is_range = isinstance(call, ast.Call) and ast.unparse(call.func) == "range"
    parts = call.args if is_range else [call]  # type: ignore[attr-defined]
    own = known | _bound(loop.target)
    if loop.orelse or not all(_depends(part, known, numbers) for part in parts):
        return False
    for statement in loop.body:
        if not _is_constant(statement, own, numbers):
            return False
        own |= _targets(statement)
    return True


def _appends(node: ast.expr, known: set[str], numbers: set[str]) -> bool:
    """``rows.append(value)`` of a name that the run bound."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    is_own = isinstance(owner, ast.Name) and owner.id in known
    is_adding = is_own and node.func.attr in ("append", "extend")
    return is_adding and all(_depends(value, known, numbers) for value in node.args)


def _keys(run: Sequence[ast.stmt], numbers: set[str]) -> list[str]:
    """The sizes and numbers, of the object and of arguments, that statements read."""
    bound = set().union(*map(_targets, run))
    found = {
        ast.unparse(node): {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for node in _outside_factories(run)
        if _is_size_of(node) or (_is_own(node) and node.attr in numbers)  # type: ignore[attr-defined]
    }
    return sorted(text for text, names in found.items() if not names & bound)


def _outside_factories(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Nodes and what they contain, but the arguments of factories: the recorded calls
    show whether these change.
    """
    for node in nodes:
        if not _is_factory(node):
            yield node
            yield from _outside_factories(list(ast.iter_child_nodes(node)))


def _is_size_of(node: ast.AST) -> bool:
    """``x.shape[1]``, ``x.size(1)``, ``len(x)`` of a name."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        owner, place = getattr(node.value, "value", None), node.slice
        is_size = node.value.attr == "shape"
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        if ast.unparse(node.func) == "len":
            return isinstance(node.args[0], ast.Name)
        owner, place = getattr(node.func, "value", None), node.args[0]
        is_size = getattr(node.func, "attr", "") == "size"
    else:
        return False
    return is_size and isinstance(owner, ast.Name) and ast.unparse(place).isdigit()


def _is_own(node: ast.AST) -> bool:
    """Whether a node is an attribute of ``self``."""
    return isinstance(node, ast.Attribute) and (
        isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def _depends(node: ast.AST, known: set[str], numbers: set[str]) -> bool:
    """Whether an expression depends only on numbers, sizes and ``known`` names."""
    if _is_size_of(node):
        return True
    if isinstance(node, ast.Call):
        return _call_depends(node, known, numbers)
    if isinstance(node, ast.Name):
        return node.id in known
    if isinstance(node, ast.Attribute):
        if _is_own(node) and node.attr in numbers:
            return True
        is_module = ast.unparse(node).startswith(_PURE)
        return is_module or _depends(node.value, known, numbers)
    if isinstance(node, ast.Lambda | ast.Await | ast.NamedExpr | ast.JoinedStr):
        return False
    for part in getattr(node, "generators", ()):
        known = known | _bound(part.target)
    return all(_depends(inner, known, numbers) for inner in ast.iter_child_nodes(node))


def _call_depends(node: ast.Call, known: set[str], numbers: set[str]) -> bool:
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    if _is_factory(node):
        # Factories take numbers; the recorded calls show whether these change.
        calls = (n for g in arguments for n in ast.walk(g) if isinstance(n, ast.Call))
        return all(map(_is_size, calls))
    name = ast.unparse(node.func)
    if any(word in name.rpartition(".")[2] for word in _DRAWN) or "random" in name:
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPED:
        arguments = [
            argument for argument in arguments if not isinstance(argument, ast.Name)
        ]
    if not all(_depends(argument, known, numbers) for argument in arguments):
        return False
    if isinstance(node.func, ast.Name) or name.startswith(_PURE):
        return name.startswith(_PURE) or name in _BUILTINS
    return isinstance(node.func, ast.Attribute) and _depends(
        node.func.value, known, numbers
    )


def _is_factory(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _FACTORIES
    )


def _is_size(node: ast.Call) -> bool:
    name = ast.unparse(node.func).rpartition(".")[2]
    return name in ("size", "len", "int", "max", "min")


def _finding(
    facts: Facts,
    file: str,
    outer: ast.stmt,
    function: _Function,
    run: Sequence[ast.stmt],
    numbers: set[str],
    fixed: set[str],
) -> Finding | None:
    first, last = run[0].lineno, run[-1].end_lineno or run[-1].lineno
    own = [
        entry
        for (name, number), entry in facts.lines.items()
        if name == file and first <= number <= last
    ]
    span = ast.Pass(lineno=first, end_lineno=last)
    share = facts.share_within(file, span)
    items = [item for entry in own for item in entry.items]
    counts = [item.calls for item in items]
    python = _sampled(facts, file, span)
    calls = min(counts, default=len(python))
    if share < _SHARE or calls < _CALLS:
        return None
    if _is_written_later(function, run):
        return None
    if len(counts) > sum(1 for s in run for n in ast.walk(s) if _counts(n)):
        return None  # a line's calls have different arguments
    line = (
        max(own, key=lambda entry: entry.total).line.number
        if counts
        else mode(line for lines in python for line in lines)
    )
    keys = _keys(run, numbers)
    return Finding.at(
        file,
        line,
        kind="waste",
        evidence=f"{share:.0%} of the time: {function.name} recomputes the same "
        f"values from what stays the same {calls} times",
        fix="compute them once: a buffer of the module, a cache",
        share=share,
        patch=_patch(file, outer, function, run, fixed, keys),
        keeps_output=True,
    )


def _sampled(facts: Facts, file: str, span: ast.stmt) -> list[list[int]]:
    """Of each gap between calls with samples of Python's time in some lines of a
    function, these lines.
    """
    last = span.end_lineno or span.lineno
    gaps = (
        [
            n
            for stack in stacks
            for f, n in stack
            if f == file and span.lineno <= n <= last
        ]
        for stacks in facts.sampled.values()
    )
    return [lines for lines in gaps if lines]


def _is_written_later(function: _Function, run: Sequence[ast.stmt]) -> bool:
    """Whether the function changes the tensors of a run: they are not constants."""
    last = run[-1].end_lineno or run[-1].lineno
    names = set().union(*map(_targets, run))
    for node in ast.walk(function):
        is_later = getattr(node, "lineno", 0) > last
        is_item = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        is_method = (
            isinstance(node, ast.Attribute)
            and (node.attr in ADDING or node.attr.endswith("_"))
            and not node.attr.endswith("__")
        )
        is_update = isinstance(node, ast.AugAssign)
        if is_later and (is_item or is_method or is_update):
            root: ast.AST = node.target if is_update else node.value  # type: ignore[attr-defined]
            while isinstance(root, ast.Subscript | ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in names:
                return True
    return False


def _counts(node: ast.AST) -> bool:
    """Whether an expression may be an op's call; one of them may be several."""
    kinds = ast.Call | ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Compare
    return isinstance(node, kinds)


def _patch(
    file: str,
    outer: ast.stmt,
    function: _Function,
    run: Sequence[ast.stmt],
    fixed: set[str],
    keys: Sequence[str],
) -> Patch | None:
    """The run inside of ``if key not in cache:``, with the names that are read later;
    ``keys``: the sizes and numbers that it depends on.
    """
    last = run[-1].end_lineno or run[-1].lineno
    names = sorted(set().union(*map(_targets, run)))
    later = [n for n in ast.walk(function) if getattr(n, "lineno", 0) > last]
    read = {n.id for n in later if isinstance(n, ast.Name)}
    wanted = [name for name in names if name in read]
    if not wanted:
        return None
    cache = f"_kept_{function.name.strip('_')}_{run[0].lineno}"
    indent = indent_of(file, run[0].lineno)
    block = [text_of(file, number) for number in range(run[0].lineno, last + 1)]
    values = ", ".join(f"{n}={n}" for n in wanted)
    key = f"({', '.join(keys)})" if len(keys) > 1 else (*keys, "0")[0]
    lines = (
        f"{indent}if {key} not in {cache}:",
        *(f"    {line}" if line.strip() else line for line in block),
        f"{indent}    {cache}[{key}] = dict({values})",
        *(f'{indent}{name} = {cache}[{key}]["{name}"]' for name in wanted),
    )
    attributes = [n for s in run for n in ast.walk(s) if isinstance(n, ast.Attribute)]
    if any(node.attr in fixed for node in attributes):  # of each object its own
        own = f'{indent}kept = self.__dict__.setdefault("{cache}", {{}})'
        text = "\n".join(lines).replace(cache, "kept")
        return Patch(file, ((run[0].lineno, last, (own, *text.split("\n"))),))
    top = top_of(file, outer.lineno)
    before = f"{indent_of(file, top)}{cache} = {{}}"
    edits = ((top, top - 1, (before,)), (run[0].lineno, last, lines))
    return Patch(file, edits)
