"""Patterns of module names and of paths, as ``intern``, ``extern`` and the like take.

``*`` matches any part of a name between separators, ``**`` any number of names:
``torch.**`` matches ``torch`` and everything below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

GlobPattern = str | Iterable[str]


class GlobGroup:
    """Matches what some pattern of ``include`` and none of ``exclude`` matches."""

    def __init__(
        self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = "."
    ) -> None:
        self._shown = f"GlobGroup(include={include}, exclude={exclude})"
        self.separator = separator
        self.include = _compiled(include, separator)
        self.exclude = _compiled(exclude, separator)

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__

    def matches(self, candidate: str) -> bool:
        """Whether the name is in the group."""
        whole = self.separator + candidate
        if any(pattern.fullmatch(whole) for pattern in self.exclude):
            return False
        return any(pattern.fullmatch(whole) for pattern in self.include)


def _compiled(patterns: GlobPattern, separator: str) -> list[re.Pattern[str]]:
    patterns = [patterns] if isinstance(patterns, str) else patterns
    return [_expression(pattern, separator) for pattern in patterns]


def _expression(pattern: str, separator: str) -> re.Pattern[str]:
    """Matches names that begin with the separator."""
    mark = re.escape(separator)
    parts = []
    for part in pattern.split(separator):
        if part == "**":
            parts.append(f"(?:{mark}[^{mark}]+)*")
        elif "**" in part:
            raise ValueError(
                f"the pattern {pattern!r} has ** beside other characters: ** is a "
                "whole name"
            )
        else:
            words = (re.escape(word) for word in part.split("*"))
            parts.append(mark + f"[^{mark}]*".join(words))
    return re.compile("".join(parts))
