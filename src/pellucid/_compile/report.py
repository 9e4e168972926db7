"""``pellucid.explain(compiled)``: what a compiled callable records, and what runs.

Reads the record of the first call (compilation.py) and the table of groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pellucid import _C
from pellucid._compile.compilation import Compilation, Event


class Segment(NamedTuple):
    """Ops that were recorded until their values were needed."""

    recorded: tuple[Event, ...]
    ran: tuple[Event, ...]  # ops that ran immediately meanwhile
    end: str

    def lines(self) -> Iterator[str]:
        yield f"{len(self.recorded)} ops recorded; {self.end}"
        for place, ops in _by_place(self.recorded):
            yield f"    {place}: {' '.join(ops)}"
        if self.ran:
            yield "  at once:"
        for place, ops in _by_place(self.ran, with_reason=True):
            yield f"    {place}: {'; '.join(dict.fromkeys(ops))}"


class GroupReport(NamedTuple):
    """A group of this process: its ops, and whether one kernel runs them."""

    number: int
    ops: tuple[str, ...]
    state: str
    description: bytes

    def function(self) -> Any:
        """The Graph of elements that the kernel computes; for a group with a reduction,
        the Graph of tensors.
        """
        import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
        from pellucid_compiler.specialise.anchored import graph_of, is_anchored
        from pellucid_compiler.specialise.answer import resolve
        from pellucid_compiler.specialise.groups import group_of

        if is_anchored(self.description):
            return graph_of(self.description, resolve)
        return group_of(self.description).graph


class CompilationReport:
    """The report that ``explain`` prints for a compiled callable."""

    def __init__(self, compilation: Compilation) -> None:
        self.name = compilation.name
        self.calls = compilation.calls
        self.resting = compilation.left
        self.events = compilation.events()
        self.segments = tuple(_segments(self.events or []))
        self.replays = tuple(r.facts() for r in compilation.replays or ())
        self.recomputed = tuple(r.recomputed() for r in compilation.replays or ())
        replayer = compilation.replayer
        self.no_replay = replayer.reason if replayer else None
        groups = [(n, tuple(ops), s, d) for n, ops, s, d in _C._recorded_groups()]
        self.groups = tuple(GroupReport(*group) for group in groups)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.events is None:
            yield f"{self.name}: compiled, not called yet"
            return
        yield f"{self.name}: {self.calls} calls in a region; in the first one:"
        for number, segment in enumerate(self.segments):
            first, *others = segment.lines()
            yield f"segment {number}: {first}"
            yield from others
        if self.resting:
            yield (
                f"The next {self.resting} calls run without a region: the last had too "
                "little to group, or were not faster in a region."
            )
        yield from self._replay_lines()
        used = {e.op for e in self.events if e.kind == "recorded"}
        for group in self.groups:
            if used.issuperset(group.ops):
                ops = " ".join(map(_short, group.ops))
                yield f"group {group.number}: {group.state}: {ops}"

    def _replay_lines(self) -> Iterator[str]:
        for number, replay in enumerate(self.replays):
            ops, actions, objects, runs, joined, nbytes = replay
            yield (
                f"replay {number}: {runs} calls ran {len(ops)} ops in {actions} "
                f"actions without Python, which would read {objects} objects; "
                f"{joined} ops are launches in one block of {nbytes} bytes"
            )
            results, before, after = self.recomputed[number]
            if results:
                yield (
                    f"  it computes {results} results twice; what it makes needs "
                    f"{after} bytes at most, {before} without that"
                )
        if self.no_replay:
            yield f"no replay of the last call that was analysed: {self.no_replay}"


def _segments(events: list[Event]) -> Iterator[Segment]:
    recorded: list[Event] = []
    ran: list[Event] = []
    for event in events:
        if event.kind == "flushed":
            asked = f" by {_short(event.op)}" if event.op else ""
            place = f" at {event.place}" if event.place else ""
            end = f"ran because {event.reason}{asked}{place}"
            yield Segment(tuple(recorded), tuple(ran), end)
            recorded, ran = [], []
        else:
            (recorded if event.kind == "recorded" else ran).append(event)
    if recorded or ran:
        yield Segment(tuple(recorded), tuple(ran), "nothing was left to run")


def _short(op: str | None) -> str:
    return (op or "").removeprefix("aten::")


def _by_place(
    events: tuple[Event, ...], with_reason: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """Ops in program order, grouped by source line."""
    found: dict[str, list[str]] = {}
    for event in events:
        text = _short(event.op)
        if with_reason:
            text += f" ({event.reason})"
        found.setdefault(event.place or "(no line)", []).append(text)
    yield from found.items()
