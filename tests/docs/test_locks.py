"""docs/threads-and-locks.md names every mutex of the runtime."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "threads-and-locks.md"
ROW = re.compile(r"^\| `([\w/.]+: \w+)` \| [^|]+ \| (\w+)[^|]* \|$", re.MULTILINE)
DECLARED = re.compile(
    r"std::(?:\w+_)?mutex (\w+)\s*(?:;|\{|=)|(\w+) = new std::(?:\w+_)?mutex\b"
)
AT_A_FORK = {"held", "replaced", "left", "not"}


def mutexes(text):
    """The names of members, statics and globals that are mutexes."""
    return [name or pointer for name, pointer in DECLARED.findall(text)]


def declared():
    """``FILE: NAME`` of each mutex of the runtime."""
    runtime = ROOT / "runtime"
    sources = [p for p in runtime.rglob("*") if p.suffix in {".h", ".cpp"}]
    return [
        f"{path.relative_to(runtime)}: {name}"
        for path in sorted(sources)
        for name in mutexes(path.read_text())
    ]


def test_the_page_names_every_mutex_once():
    rows = ROW.findall(PAGE.read_text())
    assert sorted(name for name, _ in rows) == sorted(declared())
    assert {fork for _, fork in rows} == AT_A_FORK


@pytest.mark.parametrize(
    "name", [n for n, f in ROW.findall(PAGE.read_text()) if f == "held"]
)
def test_a_mutex_that_is_held_has_a_handler(name):
    path = ROOT / "runtime" / name.partition(":")[0]
    assert "pthread_atfork" in path.with_suffix(".cpp").read_text()


def test_declarations_are_found_and_uses_are_not():
    text = """
    std::mutex mutex;
    mutable std::recursive_mutex held_;
    static auto* shared = new std::shared_mutex;
    std::unique_lock<std::mutex> lock(mutex);
    void f(std::mutex& given);
    """
    assert mutexes(text) == ["mutex", "held_", "shared"]
