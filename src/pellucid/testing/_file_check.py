"""``FileCheck``: what a text contains, in which order, like LLVM's tool of this name.

Called by tests of printed graphs. The search of a check begins where the match
of the previous one ends.
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
        self, check: _Check, message: str, start: int, end: int | None = None
    ) -> None:
        searched = self.text[start:end]
        raise RuntimeError(f"{message}\nSearched string:\n{searched}\nFrom {check}\n")


def _span(check: _Check, text: _Text, start: int) -> tuple[int, int]:
    """The beginning of a check's first match and the end of its last."""
    if check.kind == "regex":
        match = re.compile(check.text).search(text.text, start)
        if match is None:
            message = f'Expected to find regex "{check.text}" but did not find it'
            text.fail(check, message, start)
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
    """Text that is underlined by tildes on the next line."""
    while True:
        place = text.find(check, start)
        start = place + len(check.text)
        column = place - (text.text.rfind("\n", 0, place) + 1)
        below = text.end_of_line(place) + 1
        line = text.text[below : text.end_of_line(below)]
        marks = line[column : column + len(check.text)]
        adjacent = (
            line[max(column - 1, 0) : column] + line[column + len(check.text) :][:1]
        )
        if marks == "~" * len(check.text) and "~" not in adjacent:
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
        """The string occurs after the previous match."""
        return self._add("check", test_string)

    def check_not(self, test_string: str) -> FileCheck:
        """It does not occur between the previous and the next match."""
        return self._add("not", test_string)

    def check_same(self, test_string: str) -> FileCheck:
        """It follows on the line of the previous match."""
        return self._add("same", test_string)

    def check_next(self, test_string: str) -> FileCheck:
        """It is on the line after the previous match."""
        return self._add("next", test_string)

    def check_count(
        self, test_string: str, count: int, exactly: bool = False
    ) -> FileCheck:
        """It occurs ``count`` times; ``exactly``: no more before the next match."""
        self._add("count", test_string, count)
        return self.check_not(test_string) if exactly else self

    def check_dag(self, test_string: str) -> FileCheck:
        """It occurs; matches of adjacent checks of this kind are in any order."""
        return self._add("dag", test_string)

    def check_source_highlighted(self, test_string: str) -> FileCheck:
        """It occurs, underlined by tildes."""
        return self._add("highlighted", test_string)

    def check_regex(self, test_string: str) -> FileCheck:
        """A match of the regular expression occurs."""
        return self._add("regex", test_string)

    def run(self, checks: Any, text: Any = None) -> None:
        """Checks a text, or an object as printed. Given two, the checks are comments of
        the first: ``# CHECK: relu``, ``# CHECK-NOT: ...``,
        ``# CHECK-COUNT-2: ...``.

        Raises RuntimeError if a check fails.
        """
        if text is None:
            all_checks, text = self._checks, checks
        else:
            all_checks = [*self._checks, *_parsed_checks(str(checks))]
            if not all_checks:
                raise RuntimeError(
                    "FileCheck: the text has no line like '# CHECK: ...'"
                )
        _run(all_checks, _Text(str(text)))


def _parsed_checks(text: str) -> Iterator[_Check]:
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
                message = f'Expected to not find "{check.text}" but found it'
                text.fail(check, message, place, end)
        absent.clear()

    is_unordered: Callable[[_Check], bool] = lambda check: check.kind == "dag"  # noqa: E731
    for unordered, group in groupby(checks, is_unordered):
        for together in [[*group]] if unordered else [[check] for check in group]:
            if together[0].kind == "not":
                absent.append(together[0])
                continue
            spans = [_span(check, text, place) for check in together]
            refuse(min(first for first, _ in spans))
            place = max(last for _, last in spans)
    refuse(None)
