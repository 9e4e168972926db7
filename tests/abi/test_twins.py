"""Facts of the API that C++ repeats: those that are not generated are compared here.

Public enumerations stay plain Python, for readers and type checkers; the layouts are
those of arrays that C++ writes and Python reads.
"""

import re
from pathlib import Path

import pytest

from pellucid.distributed._group.reduce_op import RedOpType
from pellucid.distributed._transport.codes import KINDS
from pellucid.memory import _current, _policies
from pellucid.profiler._timeline import log
from pellucid.profiler._timeline.columns import LAYOUT
from pellucid.profiler._timeline.facts import _TAGS

RUNTIME = Path(__file__).parents[2] / "runtime"


def source(name):
    return re.sub(r"//.*", "", (RUNTIME / name).read_text())


def members(name, enumeration):
    """The members of an enumeration in C++, with their values."""
    body = re.search(
        rf"enum (?:class )?{enumeration}\b[^{{]*{{([^}}]*)}}", source(name)
    )[1]
    actual = {}
    for text in filter(None, (part.strip() for part in body.split(","))):
        symbol, _, value = (part.strip() for part in text.partition("="))
        actual[symbol] = int(value) if value else max(actual.values(), default=-1) + 1
    return actual


def snake_case(symbol):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", symbol).lower()


ENUMERATIONS = [
    ("timeline/events.h", "EventKind", {kind.name.lower(): kind for kind in log.Kind}),
    ("distributed/group.h", "Kind", {name: code for code, name in enumerate(KINDS)}),
    ("distributed/reduction.h", "Reduction", {r.name.lower(): r for r in RedOpType}),
    ("core/value.h", "Tag", {snake_case(tag): code for code, tag in enumerate(_TAGS)}),
]


@pytest.mark.parametrize(("name", "enumeration", "expected"), ENUMERATIONS)
def test_an_enumeration_is_that_of_the_runtime(name, enumeration, expected):
    actual = {snake_case(k): v for k, v in members(name, enumeration).items()}
    assert actual == expected


def test_flags_of_events_are_those_of_the_runtime():
    watched = members("timeline/watch.h", r"\w+")
    for flag in log.Watch:
        assert watched[f"kWatch{flag.name.capitalize()}"] == flag
    flags = members("timeline/events.h", "EventFlag")
    assert (flags["kRepeatedFlag"], flags["kOwnerFlag"]) == (log._REPEATED, log._OWNER)


SIZES = {"uint8_t": 1, "EventKind": 1, "uint16_t": 2, "uint32_t": 4, "const void*": 8}


def test_events_have_the_runtimes_layout():
    body = re.search(r"struct TimelineEvent {([^}]*)}", source("timeline/events.h"))[1]
    fields = re.findall(r"([\w ]+\*?)\s(\w+);", body)
    assert [name for _, name in fields] == list(LAYOUT.names)
    sizes = [SIZES.get(kind.strip(), 8) for kind, _ in fields]
    assert sizes == [LAYOUT[name].itemsize for name in LAYOUT.names]


def test_the_model_of_the_allocator_has_its_limits():
    limits = {
        name: eval(value)
        for name, value in re.findall(
            r"constexpr size_t (k\w+) = ([\d* ]+);",
            source("core/allocator.h") + source("core/large_blocks.cpp"),
        )
    }
    assert limits["kThreadCacheLimit"] == _current._THREAD_LIMIT
    assert limits["kListLimit"] == _current._LIST_LIMIT
    assert limits["kSmallShare"] == _current._SEPARATE
    segment = re.search(r"kSegment\w* = ([^;]+);", source("core/allocator.cpp"))[1]
    assert eval(re.sub(r"size_t{(\d+)}", r"\1", segment)) == _policies.SEGMENT
