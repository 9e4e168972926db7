"""One rule per file: ``find(facts)`` returns the findings of one cause, with a patch if
the source shows what to change. A finding is a hypothesis: its gain is measured
(``experiments.py``), and it is dropped if there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def all_rules() -> Iterator[Callable[[Any], list[Any]]]:
    """The rules of this folder."""
    for module in sorted(iter_modules(__path__), key=lambda info: info.name):
        yield import_module(f"{__name__}.{module.name}").find


def all_findings(facts: Any) -> tuple[list[Any], list[str]]:
    """The findings of every rule, and a line for each rule that failed: a fault in one
    rule does not cost the others' findings.
    """
    findings: list[Any] = []
    failures: list[str] = []
    for rule in all_rules():
        try:
            findings += rule(facts)
        except Exception as error:
            failures.append(_failure(rule, error))
    return findings, failures


def all_answers(places: Any, values: Any, questions: Any) -> list[Any]:
    """The findings of the rules that had questions: of the places that were asked
    about, as ``values.answered`` reports them.
    """
    modules = (import_module(rule.__module__) for rule in all_rules())
    asking = (module.answer for module in modules if hasattr(module, "answer"))
    return [one for answer in asking for one in answer(places, values, questions)]


def _failure(rule: Callable[..., Any], error: Exception) -> str:
    """The rule, the error and the line that raised it."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    name = rule.__module__.rpartition(".")[2]
    file = place.tb_frame.f_code.co_filename.rpartition("/")[2] if place else ""
    where = f"{file}:{place.tb_lineno}" if place else "unknown"
    return f"rule {name} failed: {type(error).__name__}: {error} ({where})"
