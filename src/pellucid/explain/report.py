"""The sections of an explanation: one op each, down to its kernels.

An explanation of several ops is printed as one line each, equal ones together;
``more`` is all of it.

The calls are those of the timeline's log. Graphs, plans and kernels are computed again
from the declaration, by the code that the runtime's tracing uses, so what is shown is
what ran. Read next: profiler/_timeline/ops.py, specialise/answer.py.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from pellucid.profiler._timeline.log import (
    ROUTE_REASONS,
    ROUTES,
    Event,
    Kind,
    Log,
    Session,
    Watch,
)
from pellucid.profiler._timeline.ops import op_of
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.ir.elements import show_elements
from pellucid_compiler.lower.plan import (
    show_plan,
)
from pellucid_compiler.passes.manager import Stage
from pellucid_compiler.specialise.graphs import GraphOp
from pellucid_compiler.specialise.keyed import KeyedOp
from pellucid_compiler.specialise.pointwise import PointwiseOp

_DIGEST = re.compile("_[0-9a-f]{16}$")  # tells derivatives of one op apart
_LINES, _COLUMNS = 30, 120  # of the table
_SCREEN = 40  # lines of one op
_BELOW, _FIRST = "      ", 4  # lines below a heading, and how many are shown
_HANDLING = {"join": "copies pieces that fit together; else runs the plan of its key"}


@dataclass(frozen=True)
class Call:
    """A recorded call, and the steps, first-time work and notes in it but not in calls
    that it made.
    """

    event: Event
    inside: list[Event]

    @property
    def keys(self) -> str:
        """The dispatch keys that it passed."""
        return " -> ".join(self.event.keys)

    def drivers(self) -> list[str]:
        """The drivers that ran its products."""
        found = (ROUTES[e.detail] for e in self.inside if e.kind is Kind.STEP)
        return [name for name in dict.fromkeys(found) if name]

    def lines(self) -> Iterator[str]:
        """How it ran: from which cache, what it did once, and why by which driver."""
        if self.event.is_repeated:
            yield "  call       prepared: it repeats a call of the inline cache"
        once = [event.name for event in self.inside if event.kind is Kind.PREPARE]
        if once:
            yield f"  once       {', '.join(dict.fromkeys(once))}"
        for name in self.drivers():
            yield f"  driver     {name}: {ROUTE_REASONS[ROUTES.index(name)]}"


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


def _screen(text: str) -> str:
    """A text of one op as it fits a screen: of a longer one the headings, and the first
    lines below each.
    """
    lines = text.splitlines()
    if len(lines) <= _SCREEN:
        return text
    shown: list[str] = []
    below = 0
    for line in [*lines, ""]:
        is_below = line.startswith(_BELOW)
        if not is_below and below > _FIRST:
            shown.append(f"{_BELOW}... {below - _FIRST} more lines in .more")
        below = below + 1 if is_below else 0
        if below <= _FIRST:
            shown.append(
                line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 3]}..."
            )
    return "\n".join(shown[:-1])


@dataclass(frozen=True)
class Explanation:
    """The ops of a call in order. ``str`` fits a screen: of several ops a line each, of
    one op the beginnings of its Graph, plan and kernels; ``more`` has all but the
    Graphs between passes and machine code.
    """

    sections: Sequence[Section]

    def __str__(self) -> str:
        return _screen(self.more) if len(self.sections) == 1 else self._table()

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


def watched_log(fn: Callable[[], Any]) -> Log:
    """What the timeline records of a call, with what explanations show."""
    session = Session(Watch.FACTS | Watch.LINES | Watch.STEPS | Watch.NOTES)
    session.start()
    try:
        fn()
    finally:
        log = session.stop()
    return log


def calls_of(log: Log) -> list[Call]:
    """The calls of this thread, in the order in which they began."""
    own = threading.get_ident()
    calls: dict[int, Call] = {}
    for event in log.events:
        if event.thread.python_id != own:
            continue
        if event.kind is Kind.CALL:
            calls[event.row] = Call(event, [])
        elif event.kind in (Kind.STEP, Kind.PREPARE, Kind.NOTE):
            around = event.call
            if around is not None:
                calls[around.row].inside.append(event)
    return list(calls.values())


def sections_of(calls: Sequence[Call]) -> Iterator[Section]:
    """One section for each call: the keys it passed, and what the last one ran."""
    for call in calls:
        notes = [e.name for e in call.inside if e.kind is Kind.NOTE]
        yield _noted(call, notes[0]) if notes else _explain_call(call)


def _noted(call: Call, note: str) -> Section:
    """Of a call that Python answered, by other calls, which follow."""
    brief, *lines = note.split("\n")
    text = "\n".join([call.event.name, f"  keys       {call.keys}", *lines])
    return Section(text, (), (), (_brief_name(call.event.name), call.keys, brief))


def _brief_name(name: str) -> str:
    return _DIGEST.sub("", name).removeprefix("aten::")


def _explain_call(call: Call) -> Section:
    name = call.event.name
    head = [name, f"  keys       {call.keys}"]
    brief = _brief_name(name), call.keys
    try:
        op = op_of(name, call.event.arguments)
    except NotImplementedError:
        what = "a composite or a kernel of its own"
        return Section("\n".join([*head, f"  {what}"]), (), (), (*brief, what))
    section = explain_op(op, [*head, *call.lines()], brief)
    drivers = ", ".join(call.drivers())
    if not drivers:
        return section
    *others, what = section.brief
    return replace(section, brief=(*others, f"{what}, {drivers}"))


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
