"""Measures the gains of fixes for a function, in this process: `diagnose(fn)`.

The original and the changed function run alternately. A patch replaces its code object
by one compiled from the patched file; a setting changes how it runs: all cores,
torch.compile. Before that, `ask_function` compares the values of its expressions.
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from pellucid.diagnose.findings import Finding, Report
from pellucid.diagnose.judging import is_proved, is_worth, judge, rank

_PAIRS, _LONGEST = 7, 1.0  # at most; of at least three pairs together, in seconds
_SECONDS = 0.005  # of a run, at least
_CALLS = range(5, 200)  # in a run that is worth compiling, and soon compiled


def measure_function(call: Callable[[Any], Any], fn: Any, report: Report) -> None:
    """Fill in the gains of the findings that change ``fn``, drop those without, and
    add what settings gain as options. ``call(f)`` runs ``f`` on the arguments.
    """
    for finding in [*report.findings, *report.options]:
        changed = _patched(fn, finding)
        if changed is not None:
            _pairs(finding, lambda: call(fn), lambda f=changed: call(f))  # type: ignore[misc]
    report.options += _settings(call, fn, report)
    tried = [f for f in report.findings if f.pairs]
    report.dropped = [f.text for f in tried if not is_worth(f)]
    worth = (f for f in report.findings if not f.pairs or is_worth(f))
    report.findings = [f for f in worth if is_proved(f)]
    report.options = [f for f in report.options if is_worth(f)]


def ask_function(call: Callable[[Any], Any], fn: Any, report: Report) -> None:
    """Add what the values of the expressions of ``fn`` show, and of the functions of
    its file that it may call, in one run of it.
    """
    from pellucid.diagnose.instrument import AGAIN, Probes
    from pellucid.diagnose.rules import all_answers
    from pellucid.diagnose.values import Enough, Values, answered

    if not isinstance(fn, FunctionType) or not report.questions:
        return
    file = fn.__code__.co_filename
    asked = [(q.file, q.line) for q in report.questions if q.file == file]
    try:
        probes = Probes(asked)
        module = compile(probes.texts[file], file, "exec")
    except (KeyError, OSError, SyntaxError):
        return  # nothing to compare, or no source
    functions = {id(f): f for f in _functions_of(fn)}.values()
    before = [(f, f.__code__) for f in functions]
    values = Values()
    setattr(builtins, AGAIN, values.again)
    try:
        for function, _ in before:
            code = _code_of(module, function)
            function.__code__ = code or function.__code__
        with suppress(Enough):
            call(fn)
    finally:
        for function, code in before:
            function.__code__ = code
        delattr(builtins, AGAIN)
    found = all_answers(probes.places, answered(values), report.questions)
    report.findings = sorted([*found, *report.findings], key=rank)


def _functions_of(fn: FunctionType) -> Iterator[FunctionType]:
    """A function, and those of its file that its module names, with methods."""
    yield fn
    named = list(fn.__globals__.values())
    classes = [vars(value).values() for value in named if isinstance(value, type)]
    for value in [*named, *(v for methods in classes for v in methods)]:
        is_own = isinstance(value, FunctionType)
        if is_own and value.__code__.co_filename == fn.__code__.co_filename:
            yield value


def _code_of(module: CodeType, fn: FunctionType) -> CodeType | None:
    """A function's code in the compiled text of its file; None if it is not clear."""
    codes = [c for c in _codes(module) if c.co_qualname == fn.__code__.co_qualname]
    is_one = len(codes) == 1 and codes[0].co_freevars == fn.__code__.co_freevars
    return codes[0] if is_one else None


def _patched(fn: Any, finding: Finding) -> Any:
    """The function with the patch in its code; None where the patch is elsewhere."""
    if finding.patch is None or not isinstance(fn, FunctionType):
        return None
    file = fn.__code__.co_filename
    if finding.patch.file != file:
        return None
    try:
        source = Path(file).read_text(encoding="utf-8")
        module = compile(finding.patch.apply(source), file, "exec")
    except (OSError, SyntaxError, ValueError):
        return None
    code = _code_of(module, fn)
    if code is None or code.co_code == fn.__code__.co_code:
        return None  # the patch changes another function
    patched = FunctionType(
        code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
    )
    patched.__kwdefaults__ = fn.__kwdefaults__
    return patched


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _settings(call: Callable[[Any], Any], fn: Any, report: Report) -> Iterator[Finding]:
    import os

    import pellucid as torch

    threads, cores = torch.get_num_threads(), len(os.sched_getaffinity(0))
    if threads < cores:

        def on_all_cores() -> Any:
            torch.set_num_threads(cores)
            try:
                return call(fn)
            finally:
                torch.set_num_threads(threads)

        yield _setting(f"set_num_threads({cores})", lambda: call(fn), on_all_cores)
    if round(report.calls_each) in _CALLS and not hasattr(fn, "_pellucid_compilation"):
        compiled = torch.compile(fn)
        name = getattr(fn, "__name__", "fn")
        yield _setting(
            f"torch.compile({name})", lambda: call(fn), lambda: call(compiled)
        )


def _setting(fix: str, plain: Callable[[], Any], changed: Callable[[], Any]) -> Finding:
    finding = Finding("overhead", "", 0, fix, "", fix, 0.0, is_option=True)
    _pairs(finding, plain, changed)
    return finding


def _pairs(
    finding: Finding, plain: Callable[[], Any], changed: Callable[[], Any]
) -> None:
    """Runs both in turn; nothing is filled in if the changed one raises."""
    try:
        expected, again, result = plain(), plain(), changed()
    except Exception:  # a patched program may fail in any way: no gain
        return
    repeats = _repeats(plain)
    is_same = _same(expected, result) if _same(expected, again) else None
    sides: tuple[list[dict[str, Any]], ...] = ([], [])
    end = time.perf_counter() + _LONGEST
    while len(sides[0]) < _PAIRS and (len(sides[0]) < 3 or time.perf_counter() < end):
        for runs, work in zip(sides, (plain, changed), strict=True):
            runs.append(_timed(work, repeats))
    judge(finding, *sides)
    finding.same_output = is_same


def _repeats(work: Callable[[], Any]) -> int:
    begin = time.perf_counter()
    work()
    return max(1, round(_SECONDS / max(time.perf_counter() - begin, 1e-7)))


def _timed(work: Callable[[], Any], repeats: int) -> dict[str, Any]:
    from pellucid import _C

    _C._reset_memory_peaks()
    begin = time.perf_counter()
    for _ in range(repeats):
        work()
    seconds = time.perf_counter() - begin
    peak = _C._memory_statistics()["peak_allocated_bytes"]
    return {"seconds": seconds, "peak": peak, "output": ""}


def _same(a: Any, b: Any) -> bool:
    """Whether two results have the same bits."""
    import pellucid as torch
    from pellucid.utils._pytree import tree_flatten

    first, second = tree_flatten(a)[0], tree_flatten(b)[0]
    return len(first) == len(second) and all(
        torch.equal(x, y) if isinstance(x, torch.Tensor) else x is y or x == y
        for x, y in zip(first, second, strict=True)
    )
