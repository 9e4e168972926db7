"""A recurrent cell written by hand, which a loop calls once per time step."""

from __future__ import annotations

import ast
from collections import defaultdict

from pellucid.diagnose.edits import enclosing
from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.1, 100
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
    return findings


def _replay(products: list[Computation], name: str) -> Replay:
    (batch, width), weight = products[0].arguments[0].shape, products[0].arguments[1]
    hidden = weight.shape[0]
    sizes = 50, batch, max(width - hidden, 1), hidden, len(products)
    return Replay(
        _SETUP.format(sizes=sizes, name=name),
        "by_hand().sum().backward()",
        "built_in(xs)[0].sum().backward()",
    )
