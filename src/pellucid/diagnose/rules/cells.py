"""A recurrent cell written by hand, which a loop calls once per time step."""

from __future__ import annotations

import ast
from collections import defaultdict

from pellucid.diagnose.edits import enclosing, is_loop
from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.1, 100
# The ops of cells.
_CELLS = {f"pellucid::_{name.lower()}": name for name in ("LSTM", "GRU", "RNN")}
_GATES = {4: "LSTM", 3: "GRU"}  # the layer, by the number of products per step
_SETUP = """
steps, batch, inputs, hidden, gates = {sizes}
layers = [torch.nn.Linear(inputs + hidden, hidden) for _ in range(gates)]
built_in = torch.nn.{name}(inputs, hidden)
xs = torch.randn(steps, batch, inputs)

def by_hand():
    h = c = torch.zeros(batch, hidden)
    for x in xs:
        z = torch.cat([x, h], 1)
        *gated, g = [layer(z) for layer in layers]
        gated = [torch.sigmoid(value) for value in gated]
        c = gated[0] * c + gated[1] * torch.tanh(g)
        h = gated[-1] * torch.tanh(c)
    return h
"""


def find(facts: Facts) -> list[Finding]:
    """Functions with three or four products, gates and a tanh, called many times."""
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
    for (file, _), items in groups.items():
        products = [item for item in items if item.name.startswith("linear")]
        counts = [sum(i.name == name for i in items) for name in ("sigmoid", "tanh")]
        name = _GATES.get(len(products))
        if name is None or counts[0] < 2 or not counts[1]:
            continue
        places = {(i.line.file, i.line.number) for i in items if i.line is not None}
        forward = sum(facts.lines[p].total for p in places if p in facts.lines)
        backward = sum(facts.backward.get(place, 0.0) for place in places)
        share = facts.share_of(forward + backward)
        if share < _SHARE:
            continue
        number = min(p.line.number for p in products if p.line is not None)
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
    stored = {
        n.id
        for statement in loop.body  # type: ignore[attr-defined]
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and node.lineno == number and len(node.args) > 1:
            names = {n.id for n in ast.walk(node.args[0]) if isinstance(n, ast.Name)}
            return not names & stored
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
    (batch, width), weight = products[0].arguments[0].shape, products[0].arguments[1]
    hidden = weight.shape[0]
    sizes = 50, batch, max(width - hidden, 1), hidden, len(products)
    return Replay(
        _SETUP.format(sizes=sizes, name=name),
        "by_hand().sum().backward()",
        "built_in(xs)[0].sum().backward()",
    )
