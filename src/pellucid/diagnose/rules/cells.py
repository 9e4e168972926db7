"""A recurrent cell written by hand, which a loop calls once per time step."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Sequence

from pellucid.diagnose.edits import enclosing, is_loop
from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.stacks import Place
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.1, 100
# The ops of cells.
_CELLS = {f"pellucid::_{name.lower()}": name for name in ("LSTM", "GRU", "RNN")}
_GATES = {4: "LSTM", 3: "GRU"}  # the layer, by the number of gates
_TANHS = {"LSTM": 2, "GRU": 1}  # of a step
_PRODUCTS = ("linear", "matmul", "mm", "addmm")
_MULTIPLICATIONS = 3  # of a step; more are another cell
# What else the cells of these layers compute, and views.
_OTHERS = (
    *("add", "mul", "sub", "rsub", "lerp", "sigmoid", "tanh", "cat", "narrow", "slice"),
    *("select", "split", "chunk", "unbind", "view", "reshape", "unsqueeze", "squeeze"),
    *("t", "transpose", "add_", "mul_", "addcmul"),
)
# Parts of the names of calls by which a loop makes its next step's input itself, or
# changes the cell between steps.
_CHOOSING = ("argmax", "multinomial", "sample", "topk", "rand", "item", "backward")
# What a sequence is taken apart by.
_PARTS = (
    *("enumerate", "zip", "reversed", "unbind", "split", "chunk", "transpose"),
    *("permute", "flip", "size", "len"),
)
_SEPARATE = """
layers = [torch.nn.Linear(inputs + hidden, hidden) for _ in range(gates)]

def project(x, h):
    z = torch.cat([x, h], 1)
    return [layer(z) for layer in layers]
"""
_FUSED = """
of_input = torch.nn.Linear(inputs, gates * hidden)
of_state = torch.nn.Linear(hidden, gates * hidden)

def project(x, h):
    return (of_input(x) + of_state(h)).chunk(gates, 1)
"""
_SETUP = """
steps, batch, inputs, hidden, gates = {sizes}
built_in = torch.nn.{name}(inputs, hidden)
xs = torch.randn(steps, batch, inputs)
{project}
def by_hand():
    h = c = torch.zeros(batch, hidden)
    for x in xs:
        *gated, g = project(x, h)
        gated = [torch.sigmoid(value) for value in gated]
        c = gated[0] * c + gated[1] * torch.tanh(g)
        h = gated[-1] * torch.tanh(c)
    return h
"""


def find(facts: Facts) -> list[Finding]:
    """Functions with the products of three or four gates and a tanh, called many
    times, on steps that are known before.
    """
    groups: dict[tuple[str, int], list[Computation]] = defaultdict(list)
    for item in facts.items:
        if item.calls < _CALLS or item.line is None:
            continue
        functions = enclosing(
            item.line.file, item.line.number, lambda n: isinstance(n, ast.FunctionDef)
        )
        if functions:
            groups[item.line.file, functions[-1].lineno].append(item)
    findings = []
    for (file, _), every in groups.items():
        counts = [item.calls for item in every if item.name in _PRODUCTS]
        # Of each step, not of each sequence or of its last batch.
        items = [item for item in every if 3 * item.calls > max(counts, default=0)]
        products = [item for item in items if item.name in _PRODUCTS]
        name = _separate_gates(items, products) or _fused_gates(items, products)
        if name is None:
            continue
        places = {(i.line.file, i.line.number) for i in items if i.line is not None}
        forward = sum(facts.lines[p].total for p in places if p in facts.lines)
        backward = sum(facts.backward.get(place, 0.0) for place in places)
        share = facts.share_of(forward + backward)
        number = min(p.line.number for p in products if p.line is not None)
        if share < _SHARE or not _takes_steps(_loop_around(facts, (file, number))):
            continue
        findings.append(
            Finding.at(
                file,
                number,
                kind="overhead",
                evidence=f"{share:.0%} of the time, with its backward pass: a cell of "
                f"{len(items)} ops, {products[0].calls} times",
                fix=f"nn.{name}: all steps in one call",
                share=share,
                replay=_replay(products, name),
            )
        )
    return findings + _called_cells(facts)


def _separate_gates(
    items: Sequence[Computation], products: Sequence[Computation]
) -> str | None:
    """The layer whose cell has a product for each gate."""
    counts = [sum(i.name == name for i in items) for name in ("sigmoid", "tanh")]
    is_cell = counts[0] >= 2 and counts[1]
    is_linear = all(item.name == "linear" for item in products)
    return _GATES.get(len(products)) if is_cell and is_linear else None


def _fused_gates(
    items: Sequence[Computation], products: Sequence[Computation]
) -> str | None:
    """The layer whose cell computes all gates in one product, or in one of the input
    and one of the state, and nothing else.
    """
    if {item.name for item in items} - {*_PRODUCTS, *_OTHERS}:
        return None
    hidden = {i.arguments[0].shape[-1] for i in items if i.name == "tanh"}
    widths = {_width(item) for item in products}
    if len(hidden) != 1 or len(widths) != 1:
        return None
    gates, rest = divmod(widths.pop(), hidden.pop())
    name = _GATES.get(gates) if not rest else None
    if name is None:
        return None
    counts = Counter[str]()
    for item in items:
        counts["product" if item.name in _PRODUCTS else item.name] += item.calls
    steps = counts["tanh"] // _TANHS[name]
    is_cell = counts["product"] in (steps, 2 * steps) and counts["sigmoid"] > 0
    return name if is_cell and counts["mul"] <= _MULTIPLICATIONS * steps else None


def _width(product: Computation) -> int:
    """The number of columns of a product's result."""
    if product.name == "linear":
        return int(product.arguments[1].shape[0])
    return int(product.arguments[2 if product.name == "addmm" else 1].shape[-1])


def _loop_around(facts: Facts, place: Place) -> ast.stmt | None:
    """The innermost loop around a line, or around the calls that lead to it."""
    for frames in facts.stacks.frames:
        if place in frames:
            for frame in frames[frames.index(place) :]:
                loops = enclosing(*frame, is_loop)
                if loops:
                    return loops[-1]
    return None


def _takes_steps(loop: ast.stmt | None) -> bool:
    """Whether a loop goes over the steps of a sequence, or reads one in each round,
    and does not choose the next one itself.
    """
    if not isinstance(loop, ast.For):
        return False
    nodes = [n for statement in loop.body for n in ast.walk(statement)]
    called = [ast.unparse(n.func) for n in nodes if isinstance(n, ast.Call)]
    names = [name.rpartition(".")[2] for name in called]
    if any(part in name for name in names for part in _CHOOSING):
        return False
    target, stored = _names(loop.target), _stored(loop)
    if not ast.unparse(loop.iter).startswith("range("):
        heads = [n.func for n in ast.walk(loop.iter) if isinstance(n, ast.Call)]
        made = {ast.unparse(head).rpartition(".")[2] for head in heads}
        return made <= set(_PARTS)
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and bool(_names(node.slice) & target)
        and not _names(node.value) & stored
        for node in nodes
    )


def _stored(loop: ast.stmt) -> set[str]:
    """The variables that the statements of a loop bind."""
    return {
        n.id
        for statement in loop.body  # type: ignore[attr-defined]
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _called_cells(facts: Facts) -> list[Finding]:
    """``nn.LSTMCell`` and the like in a loop over steps that are known before."""
    findings = []
    for item in facts.items:
        name = _CELLS.get(item.name)
        if name is None or item.line is None or item.calls < _CALLS:
            continue
        file, number = item.line.file, item.line.number
        loops = enclosing(file, number, is_loop)
        if not loops or not _reads_steps(loops[-1], number):
            continue
        inside = facts.within(file, loops[-1])
        place = file, loops[-1].lineno
        share = facts.share_of(inside.total + facts.backward.get(place, 0.0))
        if share < _SHARE:
            continue
        findings.append(
            Finding.at(
                file,
                number,
                kind="overhead",
                evidence=f"{share:.0%} of the time: a cell is called {item.calls} "
                "times, on steps that are all known before",
                fix=f"nn.{name}: all steps in one call",
                share=share,
                replay=_replay_of_cell(item, name),
            )
        )
    return findings


def _reads_steps(loop: ast.stmt, number: int) -> bool:
    """Whether the first argument of the call of a line does not depend on what the
    loop computes.
    """
    stored = _stored(loop)
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and node.lineno == number and len(node.args) > 1:
            return not _names(node.args[0]) & stored
    return False


def _replay_of_cell(item: Computation, name: str) -> Replay:
    batch, hidden = item.arguments[1].shape
    state_text = "(h, h)" if name == "LSTM" else "h"
    setup = f"""
cell = torch.nn.{name}Cell({hidden}, {hidden})
built_in = torch.nn.{name}({hidden}, {hidden})
xs = torch.randn(50, {batch}, {hidden})

def by_hand():
    h = torch.zeros({batch}, {hidden})
    state = {state_text}
    for x in xs:
        state = cell(x, state)
    return state[0] if isinstance(state, tuple) else state
"""
    return Replay(
        setup,
        "by_hand().sum().backward()",
        "built_in(xs)[0].sum().backward()",
    )


def _replay(products: list[Computation], name: str) -> Replay:
    """The steps of a cell, and the layer, of the recorded sizes."""
    gates = next(count for count, layer in _GATES.items() if layer == name)
    batch, width = products[0].arguments[0].shape[-2:]
    hidden = _width(products[0])
    if len(products) in _GATES:
        inputs, project = max(width - hidden, 1), _SEPARATE
    else:
        hidden, project = hidden // gates, _FUSED
        inputs = width if len(products) == 2 else max(width - hidden, 1)
    sizes = 50, batch, inputs, hidden, gates
    return Replay(
        _SETUP.format(sizes=sizes, name=name, project=project),
        "by_hand().sum().backward()",
        "built_in(xs)[0].sum().backward()",
    )
