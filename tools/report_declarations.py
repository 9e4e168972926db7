"""Print what the declarations cost: lines, rules by hand, tracing times.

The rules' reasons are in docs/one-declaration.md (``figures.py``).
"""

import time
from collections import Counter

from figures import num_lines, rules_by_hand
from op_samples import calls, differentiable_inputs
from pellucid_compiler import passes, transforms
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.bounded import Bounded
from pellucid_compiler.ir.kinds import kind_of


def milliseconds(function, *args):
    """(result, the least time of five calls)."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        result = function(*args)
        times.append(time.perf_counter() - began)
    return result, min(times) * 1e3


def row(op):
    """(lines, rule lines, trace ms, backward ms, forward and backward loop kinds)."""
    rules = sum(num_lines(rule.function) for rule in rules_by_hand(op))
    sampled = calls(op.full_name) if op.kind != "foreach" else []
    if not sampled:
        return num_lines(op.function), rules, 0.0, 0.0, ""
    call, traced, _, _ = sampled[0]

    def traced_anew():
        op.traces = Bounded(1)
        return op.trace(call.key, call.env)

    _, trace = milliseconds(traced_anew)
    graph = traced.nominal
    wrt = differentiable_inputs(graph)
    floats = any(v.differentiable for v in graph.outputs)
    back, ms = (
        milliseconds(transforms.backward, graph, wrt) if wrt and floats else (None, 0)
    )
    kinds = "" if back is None else summary(passes.fuse(back))
    return (
        num_lines(op.function),
        rules,
        trace,
        ms,
        f"{summary(passes.fuse(graph))} / {kinds}",
    )


def summary(graph):
    counted = Counter(map(kind_of, graph.nodes))
    return ", ".join(f"{n} {kind}" if n > 1 else kind for kind, n in counted.items())


def main() -> None:
    rows = {name: row(op) for name, op in sorted(REGISTRY.items())}
    table(
        [
            "op",
            "kind",
            "lines",
            "rule",
            "trace ms",
            "backward ms",
            "forward / backward",
        ],
        [
            [
                name,
                REGISTRY[name].kind,
                lines,
                rules or "",
                f"{t:.1f}",
                f"{b:.1f}",
                kinds,
            ]
            for name, (lines, rules, t, b, kinds) in rows.items()
        ],
    )
    lines = sorted(r[0] for r in rows.values())
    print(f"{len(rows)} ops, {sum(lines)} lines, median {lines[len(lines) // 2]}")
    for what, position in (("trace", 2), ("backward", 3)):
        times = sorted(r[position] for r in rows.values())
        middle, greatest = times[len(times) // 2], times[-1]
        print(f"{what}: median {middle:.1f} ms, greatest {greatest:.1f} ms")


def table(heads, rows):
    """A Markdown table on standard output."""
    for cells in (heads, ["---"] * len(heads), *rows):
        print("| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |")
    print()


if __name__ == "__main__":
    main()
