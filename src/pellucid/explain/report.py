"""The sections of an explanation: one op each, down to its kernels.

An explanation of several ops is printed as one line each, equal ones together;
``more`` is all of it.

Everything is computed again from the declaration, by the code that the runtime's
tracing uses, so what is shown is what runs. Read next: specialise/answer.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from pellucid.explain.notes import Note, Notes
from pellucid_compiler.abi.requests import PlanRequest, read_request
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.ir.elements import show_elements
from pellucid_compiler.lower.plan import (
    show_plan,
)
from pellucid_compiler.passes.manager import Stage
from pellucid_compiler.specialise.answer import resolve
from pellucid_compiler.specialise.graphs import GraphOp
from pellucid_compiler.specialise.keyed import KeyedOp
from pellucid_compiler.specialise.pointwise import PointwiseOp

_DIGEST = re.compile("_[0-9a-f]{16}$")  # tells derivatives of one op apart
_LINES, _COLUMNS = 30, 120  # of the table
_HANDLING = {"join": "copies pieces that fit together; else runs the plan of its key"}


@dataclass(frozen=True)
class Section:
    """One op of the call; ``kernels`` are its own, not those of their fallbacks.

    ``stages``: the passes that changed its Graph. ``brief``: its name, its keys and
    what runs.
    """

    text: str
    kernels: Sequence[Kernel]
    stages: Sequence[Stage] = ()
    brief: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """The ops of a call in order. ``str`` fits a screen: of several ops a line each;
    of one op, and in ``more``, all but the Graphs between passes and machine code.
    """

    sections: Sequence[Section]

    def __str__(self) -> str:
        return self.more if len(self.sections) == 1 else self._table()

    __repr__ = __str__

    @property
    def more(self) -> str:
        """Of every op the schema, keys, Graph, passes, plan and kernels.

        Example: ``print(pellucid.explain(model, x).more)``.
        """
        return "\n\n".join(section.text for section in self.sections)

    def _table(self) -> str:
        """One line for all ops that were called alike."""
        counts = Counter(section.brief for section in self.sections)
        shown = [(f"{n}x" if n > 1 else "", *brief) for brief, n in counts.items()]
        rows = shown[: len(shown) if len(shown) <= _LINES else _LINES - 1]
        widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
        lines = [_aligned(row, widths) for row in rows]
        if len(rows) < len(shown):
            lines.append(f"and {len(shown) - len(rows)} more kinds of calls")
        found = len(self.kernels)
        head = f"{len(self.sections)} calls, {found} kernels; .more shows all of each"
        return "\n".join([head, *lines])

    @property
    def kernels(self) -> list[Kernel]:
        """The distinct kernels of all ops."""
        found = {k.kernel_id: k for s in self.sections for k in s.kernels}
        return list(found.values())

    def passes(self) -> str:
        """The Graph of every op before and after each pass that changed it."""
        stages = [stage for section in self.sections for stage in section.stages]
        return "\n\n".join(
            f"before {stage.name}\n{stage.before}\nafter {stage.name}\n{stage.after}"
            for stage in stages
        )

    def llvm(self, level: str = "") -> str:
        """The LLVM assembly of every kernel, for this machine or another ISA level."""
        from pellucid_compiler.pack.generate import kernel_text

        target = _target(level)
        return "\n".join(kernel_text(kernel, target) for kernel in self.kernels)

    def assembly(self, level: str = "") -> str:
        """The machine instructions of every kernel."""
        from pellucid_compiler.pack.generate import kernel_text
        from pellucid_compiler.pack.jit import compile_assembly

        target = _target(level)
        texts = (kernel_text(kernel, target) for kernel in self.kernels)
        return "\n".join(compile_assembly(text, target) for text in texts)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
    return "  ".join(cells).rstrip()[:_COLUMNS]


def _target(level: str) -> Any:
    from pellucid_compiler.codegen.targets.x86 import host_target, target_named

    return target_named(level) if level else host_target()


def sections_of(
    calls: list[tuple[str, str, int, bytes]], notes: Notes | None = None
) -> Iterator[Section]:
    """One section per op: the keys it passed, then what its last key ran. A call with a
    note has a section of its own.
    """
    passed: list[str] = []
    for position, (op, key, depth, request) in enumerate(calls):
        passed.append(key)
        following = calls[position + 1] if position + 1 < len(calls) else None
        note = notes.get(position) if notes else None
        if note is not None:
            yield _noted(op, passed, note)
            passed = []
        elif following is None or following[0] != op or following[2] <= depth:
            yield explain_request(op, passed, request)
            passed = []


def _noted(name: str, keys: Sequence[str], note: Note) -> Section:
    """Of a call that Python answered, by other calls, which follow."""
    shown = " -> ".join(keys)
    text = "\n".join([name, f"  keys       {shown}", *note.lines])
    return Section(text, (), (), (_brief_name(name), shown, note.brief))


def _brief_name(name: str) -> str:
    return _DIGEST.sub("", name).removeprefix("aten::")


def explain_request(name: str, keys: Sequence[str], request: bytes) -> Section:
    """The section of one dispatched call."""
    asked = read_request(PlanRequest, request)
    head = [name, f"  keys       {' -> '.join(keys)}"]
    brief = _brief_name(name), " -> ".join(keys)
    try:
        op = resolve(asked.op, asked.arguments)
    except NotImplementedError:
        text = "\n".join([*head, "  a composite or a kernel of its own"])
        return Section(text, (), (), (*brief, "a composite or a kernel of its own"))
    return explain_op(op, head, brief)


def explain_op(
    op: KeyedOp, head: Sequence[str], brief: tuple[str, ...] = ()
) -> Section:
    """An op at one key, under the lines of ``head``."""
    if isinstance(op, PointwiseOp):
        return _explain_pointwise(op, head, brief)
    assert isinstance(op, GraphOp)
    return _explain_graph(op, head, brief)


def _explain_pointwise(
    op: PointwiseOp, head: Sequence[str], brief: tuple[str, ...]
) -> Section:
    kernels: dict[bytes, Kernel] = {}
    op.encoded(kernels)
    kernel = next(iter(kernels.values()))
    lines = [
        *head,
        f"  schema     {op.schema.text}",
        "  handler    pointwise: promotes, broadcasts, calls one map kernel",
        f"  key        computed in {op.common}",
        f"  function   {show_elements(op.graph)}",
        *_kernel_lines(kernel),
    ]
    what = f"map in {op.common} {_shown_kernel(kernel)}"
    return Section("\n".join(lines), (kernel,), (), (*brief, what))


def _explain_graph(op: GraphOp, head: Sequence[str], brief: tuple[str, ...]) -> Section:
    observed: list[Stage] = []
    lowered = op.lower(observed.append)
    stages = [stage for stage in observed if stage.changed]
    used = {use for use in _kernel_ids(lowered.plan)}
    kernels = [k for k in lowered.kernels.values() if k.kernel_id in used]
    guards = [f"{e} is {answer}" for e, answer in op.guards.items()]
    lines = [
        *head,
        f"  schema     {op.schema.text}",
        f"  handler    {op.kind}: {_HANDLING.get(op.kind, 'runs the plan of its key')}",
        f"  key        {_show_key(op)}",
        f"  guards     {', '.join(guards) or 'none'}",
        *_indented("graph", repr(op.graph)),
        *_pass_lines(stages),
        *_indented("plan", show_plan(lowered.plan)),
    ]
    for kernel in kernels:
        lines += _kernel_lines(kernel)
    what = ", ".join(map(_shown_kernel, kernels)) or op.kind
    return Section("\n".join(lines), kernels, stages, (*brief, what))


def _shown_kernel(kernel: Kernel) -> str:
    """``rows #aa1b2878``, and whether there is no machine code of it yet."""
    form = kernel.text.partition(" ")[0]
    missing = "" if _is_packed(kernel) else " (a tile program)"
    return f"{form} #{kernel.kernel_id.hex()[:8]}{missing}"


def _pass_lines(stages: Sequence[Stage]) -> list[str]:
    """What each pass that changed the Graph did to the number of its nodes."""
    if not stages:
        return ["  passes     none changed the graph"]
    counts = [f"{s.name}: {s.nodes_before} -> {s.nodes_after} nodes" for s in stages]
    return _indented("passes", "\n".join(counts))


def _kernel_ids(plan: Any) -> list[bytes]:
    steps = [s for step in plan.steps for s in getattr(step, "steps", (step,))]
    uses = [getattr(step, "kernel", None) for step in steps]
    return [use.id for use in uses if use is not None]


def _show_key(op: GraphOp) -> str:
    arguments = zip(op.schema.arguments, op.key, strict=True)
    return ", ".join(f"{a.name}: {item}" for a, item in arguments)


def _kernel_lines(kernel: Kernel) -> list[str]:
    where = "in the pack" if _is_packed(kernel) else "a tile program runs instead"
    title = f"kernel {kernel.kernel_id.hex()} ({where})"
    return _indented(title, kernel.text.rstrip())


def _is_packed(kernel: Kernel) -> bool:
    from pellucid import _C

    return bool(_C._kernel_is_packed(kernel.kernel_id))


def _indented(title: str, text: str) -> list[str]:
    return [f"  {title}", *(f"      {line}" for line in text.splitlines())]
