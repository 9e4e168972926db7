"""docs/threads-and-locks.md names every mutex of the runtime."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "threads-and-locks.md"
ROW = re.compile(r"^\| `([\w/.]+: \w+)` \| [^|]+ \| (\w+)[^|]* \|$", re.MULTILINE)
PLAIN = r"std::(?:\w+_)?mutex"
FORK_SAFE = r"ForkSafe(?:\w+)?Mutex"
FOLDER_OF_FORKS = "threads"  # which implements the mutexes that a fork holds
AT_A_FORK = {"held", "replaced", "left", "not"}


def mutexes(text, kind):
    """The names of members, statics and globals that are mutexes of a kind."""
    declared = re.compile(rf"{kind} (\w+)\s*(?:;|\{{|=)|(\w+) = new {kind}\b")
    return [name or pointer for name, pointer in declared.findall(text)]


def declared(kind):
    """``FILE: NAME`` of each mutex of the runtime."""
    runtime = ROOT / "runtime"
    sources = [p for p in runtime.rglob("*") if p.suffix in {".h", ".cpp"}]
    return {
        f"{path.relative_to(runtime)}: {name}"
        for path in sources
        if path.parent.name != FOLDER_OF_FORKS
        for name in mutexes(path.read_text(), kind)
    }


def test_the_page_names_every_mutex_once():
    rows = ROW.findall(PAGE.read_text())
    assert len({name for name, _ in rows}) == len(rows)
    assert {fork for _, fork in rows} == AT_A_FORK
    held = {name for name, fork in rows if fork == "held"}
    assert held == declared(FORK_SAFE)
    assert {name for name, _ in rows} - held == declared(PLAIN)


def test_declarations_are_found_and_uses_are_not():
    text = """
    std::mutex mutex;
    mutable std::recursive_mutex held_;
    static auto* shared = new std::shared_mutex;
    std::unique_lock<std::mutex> lock(mutex);
    void f(std::mutex& given);
    """
    assert mutexes(text, PLAIN) == ["mutex", "held_", "shared"]
    text = "mutable ForkSafeMutex one;  auto* two = new ForkSafeRecursiveMutex;"
    assert mutexes(text, FORK_SAFE) == ["one", "two"]
