"""The figures in the documents: tables and numbers from ``benchmarks/results.json``.

    python tools/figures.py         # rewrites README.md and docs/*.md
    python tools/figures.py --check # fails when a document differs

A document marks generated parts with comments, which readers do not see: ``<!-- table
NAME -->`` and ``<!-- end -->`` around a table, ``<!-- figure NAME -->`` and ``<!-- end
-->`` around a number in a sentence. Counts are computed each time; measurements are in
the file, with machine and date. ``tests/docs/test_figures.py`` checks the documents.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import collective_costs, ops_page  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results.json"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = re.compile(r"(<!-- (table|figure) ([\w.-]+) -->)(.*?)(<!-- end -->)", re.DOTALL)

# README's cases: what the table calls them, the case's name, the aim.
_GPT_128 = "models | gpt width 128, 128 tokens, batch 8"
_GPT_64 = "models | gpt width 64, 32 tokens, batch 1"
_CNN = "models | cnn 28x28, batch 64"
_LSTM = "models | lstm 32 steps, batch 16"
SPEED = [
    ("`import`, with bytecode", "startup | import", "≤ 60 ms"),
    ("`shape` of a tensor", "overhead | shape", ""),
    ("`a + b`, 4x4", "overhead | a + b", ""),
    ("the same, recorded for gradients", "autograd | record a + b", ""),
    ("`(a * b).sum().backward()`", "autograd | (a * b).sum().backward()", "35x"),
    ("MLP 64-64-64-10, batch 8, SGD step", "training | SGD, batch 8", "12x"),
    ("the same, Adam step", "training | Adam, batch 8", "15x"),
    ("the same, batch 256, AdamW step", "training | AdamW, batch 256", ""),
    ("MLP inference, batch 8", "training | inference, batch 8", ""),
    ("CNN 28x28, batch 64, training step", f"{_CNN}, train", "1.4x"),
    ("the same, inference", f"{_CNN}, infer", "1.1x"),
    ("GPT width 128, 8x128 tokens, training step", f"{_GPT_128}, train", "1.2x"),
    ("the same, inference", f"{_GPT_128}, infer", "1.1x"),
    ("GPT width 64, 32 tokens, training step", f"{_GPT_64}, train", "2.5x"),
    ("the same, inference", f"{_GPT_64}, infer", "2x"),
    ("LSTM, 32 steps, batch 16, training step", f"{_LSTM}, train", "2x"),
    ("the same, inference", f"{_LSTM}, infer", "1.1x"),
    (
        "a loop of layers in Python, training step",
        "models | loop of layers, batch 4, train",
        "8x",
    ),
]

# The table of docs/distributed.md: the case's name, and the aim.
DISTRIBUTED = [
    ("2 ranks: all_reduce 8 B", "≤ 6 µs"),
    ("2 ranks: all_reduce 64 KiB", "≤ 30 µs"),
    ("2 ranks: all_reduce 16 MiB", "2.5x"),
    ("2 ranks: all_reduce 64 MiB, gradients' bucket", "6x"),
    ("4 ranks: all_reduce 1 KiB", "100x"),
    ("2 ranks: DDP step, CNN", "1.33x"),
    ("2 ranks: DDP step, GPT", "1.33x"),
    ("2 ranks: DTensor + DTensor", "≤ 1 µs"),
    ("2 ranks: rpc_sync 8 B", "≤ 40 µs"),
    ("2 ranks: rpc_sync 16 MiB", "1x"),
]


@cache
def sections() -> dict[str, Any]:
    return json.loads(RESULTS.read_text())


def times(side: str, section: str = "compare") -> dict[str, float]:
    return sections()[section]["values"][side]


def ratios(group: str) -> dict[str, float]:
    """PyTorch's time over ours, by case of the group."""
    ours, reference = times("pellucid"), times("torch")
    cases = [c for c in ours if c.startswith(f"{group} | ") and c in reference]
    return {case: reference[case] / ours[case] for case in cases}


def mean_and_worst(group: str) -> tuple[float, str, float]:
    """The geometric mean, the worst case's name and its ratio."""
    found = ratios(group)
    mean = math.exp(sum(map(math.log, found.values())) / len(found))
    worst = min(found, key=found.__getitem__)
    return mean, worst.partition(" | ")[2], found[worst]


# ------------------------------------------------------------------ how numbers look


def seconds(value: float) -> str:
    """Two or three digits with a suitable unit."""
    units = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
    unit, scale = next((pair for pair in units if value >= pair[1]), units[-1])
    shown = value / scale
    return f"{shown:.0f} {unit}" if shown >= 100 else f"{shown:.3g} {unit}"


def times_faster(ratio: float) -> str:
    digits = 0 if ratio >= 20 else 1 if ratio >= 3 else 2
    return f"{ratio:.{digits}f}x"


def rows(*lines: tuple[str, ...]) -> str:
    """A table: the first line is the head."""
    head, *body = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body])


def machine(section: str) -> str:
    found = sections()[section]
    return f"{found['cpu']}, {found['date']}"


# ------------------------------------------------------------------ tables and figures


def speed() -> str:
    """README's table."""
    mean, worst, least = mean_and_worst("overhead")
    count = len(ratios("overhead"))
    lines = [("case", "PyTorch", "Pellucid", "ratio", "aim")]
    slowest = f"worst: `{worst}` {times_faster(least)}"
    calls = f"small calls, geometric mean of {count} ({slowest})"
    lines.append((calls, "", "", times_faster(mean), "12x, none below 4x"))
    for label, case, aim in SPEED:
        ours, reference = times("pellucid")[case], times("torch")[case]
        ratio = times_faster(reference / ours)
        lines.append((label, seconds(reference), seconds(ours), ratio, aim))
    return rows(*lines)


def groups() -> str:
    """The geometric mean and the worst case of each group of benchmarks."""
    lines = [("group", "cases", "mean", "worst")]
    for group in dict.fromkeys(case.partition(" | ")[0] for case in times("torch")):
        if group == "startup":
            continue
        mean, worst, least = mean_and_worst(group)
        count = str(len(ratios(group)))
        shown = f"{worst}: {times_faster(least)}"
        lines.append((group, count, times_faster(mean), shown))
    return rows(*lines)


def processes() -> str:
    """Collectives, training and RPC of several processes."""
    lines = [("case", "PyTorch", "Pellucid", "ratio", "aim")]
    for name, aim in DISTRIBUTED:
        case = f"distributed | {name}"
        ours, reference = (
            times(side, "distributed")[case] for side in ("pellucid", "torch")
        )
        ratio = times_faster(reference / ours)
        lines.append((name, seconds(reference), seconds(ours), ratio, aim))
    return rows(*lines)


def costs() -> str:
    """An all_reduce over TCP among many ranks, by the model of collective_costs.py."""
    found = collective_costs.fitted(collective_costs.measured(2))
    cluster = collective_costs.CLUSTER
    lines = [("ranks", *collective_costs.SIZES)]
    for ranks in collective_costs.RANKS:
        row = [
            seconds(collective_costs.simulated(ranks, nbytes, found, cluster))
            for nbytes in collective_costs.SIZES.values()
        ]
        lines.append((f"{ranks:,}", *row))
    return rows(*lines)


def checked_costs() -> str:
    """The model's times of 4 ranks on one machine over those measured."""
    found = collective_costs.fitted(collective_costs.measured(2))
    here = collective_costs.HERE
    ratios = [
        collective_costs.simulated(4, collective_costs.SIZES[name], found, here) / time
        for name, time in collective_costs.measured(4).items()
    ]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def memory() -> str:
    """Peaks of training steps above their networks, and the files of the build."""
    lines = [("bytes", "PyTorch", "Pellucid")]
    for name, ours in times("pellucid", "memory").items():
        reference = times("torch", "memory")[name]
        lines.append((name, binary_size(reference), binary_size(ours)))
    files = sections()["sizes"]["values"]
    lines += [(name, "", binary_size(size)) for name, size in files.items()]
    return rows(*lines)


def overrides() -> str:
    """A call of `add` that an override sees."""
    lines = [("`a + b`, 4x4", "PyTorch", "Pellucid")]
    for name, ours in times("pellucid", "overrides").items():
        reference = times("torch", "overrides")[name]
        lines.append((name, seconds(reference), seconds(ours)))
    return rows(*lines)


def binary_size(value: float) -> str:
    if value < 2**17:
        return f"{value / 2**10:.3g} KiB"
    return f"{value / 2**20:.3g} MiB"


def counted() -> str:
    """What the catalogue and the composites hold, and what covers PyTorch's table."""
    from pellucid_compiler import catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.composites import all_composites
    from pellucid_compiler.declare.op import REGISTRY

    kinds = {op.kind for op in REGISTRY.values()}
    aten = sections()["aten"]["values"]
    mistakes, warned = wrong_calls()
    return rows(
        ("what", "count"),
        ("declared ops with kernels", f"{len(REGISTRY)} of {len(kinds)} kinds"),
        ("declared composites", str(len(all_composites()))),
        (
            f"names in `torch.ops.aten`, of PyTorch's {aten['public names']:,}",
            f"{aten['names']:,}",
        ),
        (
            "overloads with PyTorch's schema to the letter, of "
            f"{aten['public overloads']:,}",
            f"{aten['overloads']:,}",
        ),
        ("wrong calls that raise PyTorch's type of error", f"{mistakes:,}"),
        ("doubtful calls that warn as PyTorch does", str(warned)),
    )


def wrong_calls() -> tuple[int, int]:
    """The cases of ``tests/surface/test_mistakes.py``."""
    sys.path.insert(0, str(ROOT / "tests" / "surface"))
    from mistakes import MISTAKES
    from program_warnings import ADVICE

    return sum(map(len, MISTAKES.values())), sum(bool(kind) for _, kind in ADVICE)


def declared() -> list[Any]:
    """Every op with a kernel, by name."""
    from pellucid_compiler import catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.declare.op import REGISTRY

    return [REGISTRY[name] for name in sorted(REGISTRY)]


def num_lines(function: Callable[..., Any]) -> int:
    """The lines of a function without blank ones, comments and its docstring."""
    source = inspect.getsource(function)
    if function.__doc__:
        source = source.replace(function.__doc__, "")
    lines = [line.strip() for line in source.splitlines()]
    return sum(
        bool(line) and not line.startswith("#") and line != '""""""' for line in lines
    )


def rules_by_hand(op: Any) -> list[Any]:
    """The derivatives that a declaration does not leave to be derived."""
    return [rule for rule in (op.hand_partials, op.hand_vjp) if rule is not None]


def hand_rules() -> str:
    """The derivatives that declarations give by hand, by their reasons."""
    names: dict[str, list[str]] = {}
    for op in declared():
        for rule in rules_by_hand(op):
            names.setdefault(rule.reason, []).append(f"`{op.full_name}`")
    found = [
        (", ".join(ops), reason.replace("|", r"\|")) for reason, ops in names.items()
    ]
    return rows(("ops", "reason"), *sorted(found, key=lambda row: row[1]))


def hand_rule_count() -> str:
    """How many declared ops have one."""
    by_hand = [op for op in declared() if rules_by_hand(op)]
    return f"{len(by_hand)} of {len(declared())}"


def median_lines() -> str:
    """The lines of the median declaration, with its schema."""
    lines = sorted(num_lines(op.function) for op in declared())
    return str(lines[len(lines) // 2])


TABLES: dict[str, Callable[[], str]] = {
    "speed": speed,
    "groups": groups,
    "counted": counted,
    "distributed": processes,
    "collective-costs": costs,
    "ops": ops_page.tables,
    "memory": memory,
    "overrides": overrides,
    "hand-rules": hand_rules,
}
FIGURES: dict[str, Callable[[], str]] = {
    "compare.machine": lambda: machine("compare"),
    "compare.rounds": lambda: str(sections()["compare"]["rounds"]),
    "compare.load": lambda: str(sections()["compare"].get("load", "none")),
    "collective-costs.check": checked_costs,
    "distributed.machine": lambda: machine("distributed"),
    "distributed.load": lambda: sections()["distributed"]["load"],
    "overrides.machine": lambda: machine("overrides"),
    "overrides.load": lambda: sections()["overrides"]["load"],
    "declarations.by-hand": hand_rule_count,
    "declarations.lines": median_lines,
    "small-calls": lambda: times_faster(mean_and_worst("overhead")[0]),
}


def rendered(text: str) -> str:
    """``text`` with all that is marked generated again."""

    def replace(match: re.Match[str]) -> str:
        start, kind, name, _, end = match.groups()
        if kind == "table":
            return f"{start}\n{TABLES[name]()}\n{end}"
        return f"{start}{FIGURES[name]()}{end}"

    return MARK.sub(replace, text)


def main(check: bool) -> None:
    outdated = []
    for document in DOCUMENTS:
        text = document.read_text()
        if rendered(text) != text:
            outdated.append(str(document.relative_to(ROOT)))
            if not check:
                document.write_text(rendered(text))
    if check and outdated:
        sys.exit(f"run tools/figures.py: {', '.join(outdated)}")


if __name__ == "__main__":
    main("--check" in sys.argv)
