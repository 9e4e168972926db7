"""``FileCheck``: what a text contains, in which order. As LLVM's tool of this name.

Called by tests of printed graphs. A check moves the place from which the next one
searches to the end of what it found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from pellucid._package.calls import offered

__all__ = ["FileCheck"]

_MARK = re.compile(
    r"#\s*CHECK(?:-(?P<kind>[A-Z_]+))?(?:-(?P<count>\d+))?:(?P<exactly> EXACTLY)?"
    r"\s*(?P<text>.*)$",
    re.MULTILINE,
)


class _Check(NamedTuple):
    kind: str
    text: str
    times: int = 1

    def __str__(self) -> str:
        kind = {"check": "", "count": f"-COUNT-{self.times}"}.get(
            self.kind, f"-{self.kind.upper()}"
        )
        return f"CHECK{kind}: {self.text}"


class _Text:
    """The text that is searched."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, check: _Check, start: int, end: int | None = None) -> int:
        place = self.text.find(check.text, start, end)
        if place < 0:
            self.fail(
                check,
                f'Expected to find "{check.text}" but did not find it',
                start,
                end,
            )
        return place

    def end_of_line(self, place: int) -> int:
        end = self.text.find("\n", place)
        return len(self.text) if end < 0 else end

    def fail(
        self, check: _Check, what: str, start: int, end: int | None = None
    ) -> None:
        searched = self.text[start:end]
        raise RuntimeError(f"{what}\nSearched string:\n{searched}\nFrom {check}\n")


def _found(check: _Check, text: _Text, start: int) -> tuple[int, int]:
    """Where the first of what is looked for begins, and the last one ends."""
    if check.kind == "regex":
        match = re.compile(check.text).search(text.text, start)
        if match is None:
            what = f'Expected to find regex "{check.text}" but did not find it'
            text.fail(check, what, start)
        assert match is not None
        return match.span()
    if check.kind == "highlighted":
        return _highlighted(check, text, start)
    end = None
    if check.kind == "same":
        end = text.end_of_line(start)
    elif check.kind == "next":
        line = text.end_of_line(start)
        if line == len(text.text):
            text.fail(check, f'Expected to find "{check.text}" on a next line', start)
        start, end = line + 1, text.end_of_line(line + 1)
    first = place = text.find(check, start, end)
    for _ in range(check.times - 1):
        place = text.find(check, place + len(check.text))
    last = place + len(check.text)
    return first, last


def _highlighted(check: _Check, text: _Text, start: int) -> tuple[int, int]:
    """What is underlined by as many tildes on the next line."""
    while True:
        place = text.find(check, start)
        start = place + len(check.text)
        column = place - (text.text.rfind("\n", 0, place) + 1)
        below = text.end_of_line(place) + 1
        line = text.text[below : text.end_of_line(below)]
        marks = line[column : column + len(check.text)]
        beside = (
            line[max(column - 1, 0) : column] + line[column + len(check.text) :][:1]
        )
        if marks == "~" * len(check.text) and "~" not in beside:
            return place, start


@offered.value
class FileCheck:
    """Checks a text: each method adds a check and returns the object, ``run`` checks.

    Example::

        FileCheck().check("forward").check_next("relu").check_not("exp").run(code)
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def __repr__(self) -> str:
        return f"FileCheck({', '.join(map(str, self._checks))})"

    def _add(self, *check: Any) -> FileCheck:
        self._checks.append(_Check(*check))
        return self

    def check(self, test_string: str) -> FileCheck:
        """The string is there, after what was found before."""
        return self._add("check", test_string)

    def check_not(self, test_string: str) -> FileCheck:
        """It is not there between what the checks before and behind find."""
        return self._add("not", test_string)

    def check_same(self, test_string: str) -> FileCheck:
        """It is on the same line as what was found before, after it."""
        return self._add("same", test_string)

    def check_next(self, test_string: str) -> FileCheck:
        """It is on the line after what was found before."""
        return self._add("next", test_string)

    def check_count(
        self, test_string: str, count: int, exactly: bool = False
    ) -> FileCheck:
        """It is there ``count`` times; not once more before what the next check finds
        if ``exactly``.
        """
        self._add("count", test_string, count)
        return self.check_not(test_string) if exactly else self

    def check_dag(self, test_string: str) -> FileCheck:
        """It is there; what adjacent checks of this kind find is in any order."""
        return self._add("dag", test_string)

    def check_source_highlighted(self, test_string: str) -> FileCheck:
        """It is there, underlined by tildes."""
        return self._add("highlighted", test_string)

    def check_regex(self, test_string: str) -> FileCheck:
        """A match of the regular expression is there."""
        return self._add("regex", test_string)

    def run(self, checks: Any, text: Any = None) -> None:
        """Checks the text, or what a graph prints. Given two, the checks are those
        written in the first: ``# CHECK: relu``, ``# CHECK-NOT: ...``,
        ``# CHECK-COUNT-2: ...``.

        Raises RuntimeError where a check fails.
        """
        if text is None:
            given, text = self._checks, checks
        else:
            given = [*self._checks, *_written(str(checks))]
            if not given:
                raise RuntimeError(
                    "FileCheck: the text has no line like '# CHECK: ...'"
                )
        _run(given, _Text(str(text)))


def _written(text: str) -> Iterator[_Check]:
    for mark in _MARK.finditer(text):
        kind = (mark["kind"] or "check").lower()
        if kind not in ("check", "not", "same", "next", "dag", "count", "regex"):
            raise RuntimeError(f"FileCheck: {mark[0]!r} is not a check")
        yield _Check(kind, mark["text"], int(mark["count"] or 1))
        if mark["exactly"]:
            yield _Check("not", mark["text"])


def _run(checks: list[_Check], text: _Text) -> None:
    place = 0
    absent: list[_Check] = []

    def refuse(end: int | None) -> None:
        for check in absent:
            if text.text.find(check.text, place, end) >= 0:
                what = f'Expected to not find "{check.text}" but found it'
                text.fail(check, what, place, end)
        absent.clear()

    is_unordered: Callable[[_Check], bool] = lambda check: check.kind == "dag"  # noqa: E731
    for unordered, group in groupby(checks, is_unordered):
        for together in [[*group]] if unordered else [[check] for check in group]:
            if together[0].kind == "not":
                absent.append(together[0])
                continue
            spans = [_found(check, text, place) for check in together]
            refuse(min(first for first, _ in spans))
            place = max(last for _, last in spans)
    refuse(None)
