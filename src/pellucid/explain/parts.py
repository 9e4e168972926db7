"""Questions about what other parts made of a model, each with one answer.

``explain.quantized(model, narrow, inputs)``: which layer loses most, on which input.
``explain.exported(model, args)``: what of a module is not in its exported program.
``explain.buckets(step)``: which buckets of gradients the backward pass hid.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from pellucid._tensor import Tensor
from pellucid.memory._peak import readable
from pellucid.profiler._timeline.log import Event, Kind, Line, Session, Watch
from pellucid.profiler._timeline.storages import BUCKET, BUCKETS, REDUCED

_MOST = 18  # lines of a list in an answer
_Place = tuple[str, int]


def explain_quantized(model: Any, narrow: Any, inputs: Iterable[Any]) -> str:
    """See `pellucid.explain.quantized`."""
    from pellucid.ao.quantization import accuracy_report

    layers = accuracy_report(model, narrow, inputs).layers
    if not layers:
        return "no layer of the one is a layer of the other: compared by name"
    types = {name: type(module) for name, module in model.named_modules()}
    kept = [k for k in layers if k.kind == types[k.name].__name__ and not k.own]
    last, worst = layers[-1], max(layers, key=lambda layer: layer.own)
    lines = [
        f"{len(layers) - len(kept)} of {len(layers)} layers differ; after the last, "
        f"{last.name}, the error is {last.total:.2%} (input {last.worst_input})",
        f"{worst.name} loses most by itself: {worst.own:.2%}",
        "   by itself   in all   input",
    ]
    for layer in sorted(layers, key=lambda layer: -layer.own)[: _MOST - 1]:
        lines.append(
            f"{layer.own:>12.3%} {layer.total:>8.2%} {layer.worst_input:>7}"
            f"  {layer.name} ({layer.kind})"
        )
    return "\n".join(lines)


def explain_exported(model: Any, args: tuple[Any, ...], dynamic_shapes: Any) -> str:
    """See `pellucid.explain.exported`."""
    from pellucid.export import export

    with _Executed() as executed:
        before = _attributes(model)
        program = export(model, args, dynamic_shapes=dynamic_shapes)
        after = _attributes(model)
    nodes = [n for n in program.graph.nodes if n.op == "call_function"]
    traced = {place for node in nodes for place in _places(node.stack_trace)}
    lines = [f"{len(nodes)} ops in the program; not in it, or fixed:"]
    changed = [name for name in after if before.get(name) != after[name]]
    for name in changed:
        lines.append(
            f"attribute {name}: {before.get(name)!r} -> {after[name]!r} while traced; "
            "the program leaves it as it is"
        )
    lines += executed.dropped(traced)
    for node in program.graph.nodes:
        if not node.users and node.op in ("placeholder", "call_function"):
            place = _places(node.stack_trace)[-1:]
            where = f" at {_shown(place[0])}" if place else ""
            lines.append(f"{node.name}{where}: nothing reads it")
    lines += _fixed_sizes(program)
    if len(lines) == 1:
        return f"{len(nodes)} ops in the program; all that the module does is in it"
    return "\n".join(lines[: _MOST + 1])


def _attributes(model: Any) -> dict[str, Any]:
    """Plain values that its modules hold, by path."""
    return {
        f"{path}.{name}" if path else name: value
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, bool | int | float | str) and name != "training"
    }


def _fixed_sizes(program: Any) -> Iterator[str]:
    """Of each input that is a tensor the dims that are numbers."""
    given = set(program.graph_signature.user_inputs)
    for node in program.graph.nodes:
        value = node.meta.get("val") if node.op == "placeholder" else None
        if node.name not in given or not isinstance(value, Tensor):
            continue
        fixed = {k: n for k, n in enumerate(value.shape) if type(n) is int}
        if fixed:
            sizes = ", ".join(f"dim {k} is {n}" for k, n in fixed.items())
            yield f"input {node.name}: {sizes}"


def _places(trace: str | None) -> list[_Place]:
    """The files and lines of a stack trace's text."""
    places = []
    for text in (trace or "").splitlines():
        head, separator, rest = text.strip().partition('", line ')
        if separator and head.startswith('File "'):
            places.append((head[6:], int(rest.partition(",")[0])))
    return places


def _shown(place: _Place) -> str:
    file, number = place
    name = file.rpartition("/")[2]
    return f"{name}:{number} `{linecache.getline(file, number).strip()[:60]}`"


class _Executed:
    """Inside of it, the lines that functions of the program execute."""

    def __init__(self) -> None:
        self.lines: dict[_Place, None] = {}
        self._functions: dict[_Place, None] = {}
        self._steps: set[tuple[str, int, int]] = set()  # from a line to the next one

    def __enter__(self) -> _Executed:
        self._outer = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._outer)

    def _on_call(self, frame: FrameType, event: str, value: Any) -> Any:
        code = frame.f_code
        if not Line(code.co_filename, "", 0, 0).is_user:
            return None
        self._functions[code.co_filename, code.co_firstlineno] = None
        before = 0

        def on_line(frame: FrameType, event: str, value: Any) -> Any:
            nonlocal before
            if event in ("line", "return"):
                after = frame.f_lineno if event == "line" else 0
                self._steps.add((code.co_filename, before, after))
                before = after
            if event == "line":
                self.lines[code.co_filename, frame.f_lineno] = None
            return on_line

        return on_line

    def dropped(self, traced: set[_Place]) -> list[str]:
        """Branches that were decided, and calls of Python that left no op."""
        lines = []
        for file, first in self._functions:
            for function in _functions(file, first):
                for node in ast.walk(function):
                    is_run = (file, getattr(node, "lineno", 0)) in self.lines
                    reason = self._reason(file, node, traced) if is_run else ""
                    if reason:
                        lines.append(f"{_shown((file, node.lineno))}: {reason}")  # type: ignore[attr-defined]
        return list(dict.fromkeys(lines))

    def _reason(self, file: str, node: ast.AST, traced: set[_Place]) -> str:
        if isinstance(node, ast.If):
            answers = self._answers(file, node)
            if len(answers) > 1:
                return ""
            (answer,) = answers or {True}
            return f"was {answer} for this example; the other case is not in it"
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            numbers = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if not any((file, number) in traced for number in numbers):
                return "Python's own, ran while it was traced"
        return ""

    def _answers(self, file: str, node: ast.If) -> set[bool]:
        """What the condition was, by the lines that ran after it. A body on its line
        cannot be told from the condition: none then.
        """
        condition = range(node.lineno, (node.test.end_lineno or node.lineno) + 1)
        body = range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
        if body.start in condition:
            return set()
        return {
            after in body
            for path, before, after in self._steps
            if path == file and before in condition and after not in condition
        }


def _functions(file: str, first: int) -> Iterator[ast.FunctionDef]:
    """The function of a file that begins at a line, decorators included."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            own = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if own == first:
                yield node


def explain_buckets(step: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """See `pellucid.explain.buckets`."""
    step(*args, **kwargs)  # the first pass orders the buckets
    session = Session(Watch.CALLS)
    session.start()
    try:
        step(*args, **kwargs)
    finally:
        log = session.stop()
    ranges: dict[str, list[Event]] = defaultdict(list)
    for event in log.events_of(Kind.RANGE):
        ranges[event.name.partition(" ")[0]].append(event)
    nodes = log.events_of(Kind.NODE)
    if not ranges[BUCKET] or not nodes or not ranges[BUCKETS]:
        return "no bucket of gradients was reduced: no DistributedDataParallel ran"
    begin = min(node.begin for node in nodes)
    wait = ranges[BUCKETS][0]
    ends = {event.name.split()[1]: event.end for event in ranges[REDUCED]}
    rows = []
    hidden_all = taken_all = 0.0
    for event in ranges[BUCKET]:
        _, number, nbytes = event.name.split()
        end = ends.get(number, event.end)
        hidden = max(min(end, wait.begin) - event.begin, 0.0) if number in ends else 0.0
        taken = max(end - event.begin, 1e-9)
        hidden_all, taken_all = hidden_all + hidden, taken_all + taken
        rows.append(
            f"{number:>6} {readable(int(nbytes)):>10} "
            f"{(event.begin - begin) / 1e6:>9.3f} {taken / 1e6:>9.3f} "
            f"{hidden / taken:>7.0%}"
        )
    head = (
        f"{len(rows)} buckets; backward {(wait.begin - begin) / 1e6:.3f} ms, then "
        f"{wait.duration / 1e6:.3f} ms of waiting; {hidden_all / taken_all:.0%} of "
        "their time is hidden by it"
    )
    return "\n".join([head, "bucket       size   full at  reduced  hidden", *rows][:20])
