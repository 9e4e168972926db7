"""``python -m pellucid.tour``: the map of layers, with one call's stage in each.

    >>> print(pellucid.tour(torch.softmax, x, -1))

All of it is derived: folders and their purposes are read from the source; the stages
come from the call itself: keys, Graph, passes, plan and kernels from `explain`, what
ran and for how long from the timeline.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pellucid.explain import explain
from pellucid.explain.report import Explanation
from pellucid.profiler._timeline.log import ROUTES, Kind, Log, Session, Watch

__all__ = ["Layer", "Tour", "layers", "tour"]

_ENGINE = "pellucid_compiler"
_COLUMNS = 110
# The stages of a call in order, by the engine's folder that implements each.
_STAGES = ("declare", "ir", "passes", "lower", "codegen", "pack")


@dataclass(frozen=True)
class Layer:
    """A folder of a package: its purpose, its numbers of files and lines."""

    name: str
    purpose: str
    files: int
    lines: int


def layers(package: str = _ENGINE) -> list[Layer]:
    """The folders of a package, from their sources.

    Example: ``[layer.name for layer in pellucid.tour.layers()]``.
    """
    import importlib.util

    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"no package is named {package!r}")
    root = Path(found.origin).parent
    folders = sorted(path.parent for path in root.glob("*/__init__.py"))
    return [_layer(folder) for folder in folders]


def _layer(folder: Path) -> Layer:
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    words = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    files = list(folder.rglob("*.py"))
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    return Layer(folder.name, words, len(files), lines)


class Tour:
    """What a call did at each layer; ``str`` fits a screen, ``explanation`` has all."""

    def __init__(self, explanation: Explanation, log: Log) -> None:
        self.explanation = explanation
        self.log = log

    def stages(self) -> list[tuple[str, str]]:
        """(layer, the stage of the call's longest op there)."""
        section = max(self.explanation.sections, key=lambda s: len(s.text))
        text = section.text.splitlines()
        shown = {
            "declare": _field(text, "schema"),
            "ir": _block(text, "graph", "t0:"),
            "passes": ", ".join(f"{s.name} {s.nodes_before}->{s.nodes_after}"
                                for s in section.stages) or _field(text, "passes"),
            "lower": _block(text, "plan", " = rows(", " = gemm(", " = map(", "view("),
            "codegen": ", ".join(k.text.partition("\n")[0] for k in section.kernels),
            "pack": ", ".join(k.kernel_id.hex()[:8] for k in section.kernels),
        }  # fmt: skip
        return [(name, shown[name] or "-") for name in _STAGES]

    def runs(self) -> Iterator[tuple[str, str]]:
        """(what ran, how long), from the timeline, in order of start times."""
        for event in self.log.events:
            if event.kind in (Kind.CALL, Kind.STEP, Kind.NODE, Kind.PREPARE):
                depth = _depth(event)
                route = ROUTES[event.detail] if event.kind is Kind.STEP else ""
                name = f"{'  ' * depth}{event.kind.name.lower()} {event.name}"
                yield f"{name} {route}".rstrip(), f"{event.duration / 1000:.1f} us"

    def __str__(self) -> str:
        known = {layer.name: layer for layer in layers()}
        lines = [f"engine: {len(known)} folders; the call's stage below each"]
        for name, stage in self.stages():
            layer = known[name]
            lines.append(f"{name:10} {layer.purpose}"[:_COLUMNS])
            lines.append(f"{'':10} -> {stage}"[:_COLUMNS])
        others = sorted(set(known) - set(_STAGES))
        lines.append(f"{'others':10} {', '.join(others)}")
        lines.append(f"runtime: {len(self.explanation.sections)} dispatched calls")
        ran = list(self.runs())
        lines += [f"  {name:60} {time:>10}"[:_COLUMNS] for name, time in ran[:12]]
        if len(ran) > 12:
            lines.append(f"  and {len(ran) - 12} more")
        return "\n".join(lines)

    __repr__ = __str__


def tour(fn: Callable[..., Any] | None = None, *args: Any, **kwargs: Any) -> Tour:
    """Calls ``fn`` three times: explained, to warm up, and timed.
    Without a function the call is a softmax.
    """
    import pellucid

    if fn is None:
        x = pellucid.linspace(-1.0, 1.0, 4096).reshape(64, 64)
        fn, args = pellucid.softmax, (x, -1)
    explanation = explain(fn, *args, **kwargs)
    if not isinstance(explanation, Explanation) or not explanation.sections:
        raise ValueError("tour: the function called no op; give one that computes")
    fn(*args, **kwargs)
    session = Session(Watch.STEPS | Watch.CALLS)
    session.start()
    try:
        fn(*args, **kwargs)
    finally:
        log = session.stop()
    return Tour(explanation, log)


def _field(text: list[str], name: str) -> str:
    """The rest of an explanation's line after a prefix."""
    found = (line.split(None, 1)[1] for line in text if line.split()[:1] == [name]
             and len(line.split()) > 1)  # fmt: skip
    return next(found, "")


def _block(text: list[str], name: str, *marks: str) -> str:
    """The first line of an explanation's block that has one of these."""
    if f"  {name}" not in text:
        return _field(text, "function")
    lines = text[text.index(f"  {name}") + 1 :]
    return next((x.strip() for x in lines if any(m in x for m in marks)), "")


def _depth(event: Any) -> int:
    depth = 0
    while (event := event.parent) is not None:
        depth += 1
    return depth


class _Callable(ModuleType):
    """Makes the module callable: ``pellucid.tour(...)``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tour:
        return tour(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    print(tour())
