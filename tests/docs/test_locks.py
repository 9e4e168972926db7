"""docs/threads-and-locks.md names every mutex of the runtime."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime"
PAGE = ROOT / "docs" / "threads-and-locks.md"
ROW = re.compile(r"^\| `([\w/.]+: \w+)` \| [^|]+ \| (\w+)[^|]* \|$", re.MULTILINE)
PLAIN = r"std::(?:\w+_)?mutex"
FORK_SAFE = r"ForkSafe(?:\w+)?Mutex"
# Constant-initialised, in the section that a fork reads.
AT_NAMESPACE_SCOPE = re.compile(
    rf"^FORK_SAFE (?:static )?{FORK_SAFE} \w+(?:\[.*\])?;", re.MULTILINE
)
MOST_HELD = 32  # each fork takes all, and ThreadSanitizer follows 64 per thread
AT_A_FORK = {"held", "replaced", "left", "not"}


def mutexes(text, kind):
    """The names of members, statics and globals that are mutexes of a kind."""
    declared = re.compile(
        rf"(?<!extern ){kind} (\w+)\s*(?:;|\{{|=|\[)|(\w+) = new {kind}\b"
    )
    return [name or pointer for name, pointer in declared.findall(text)]


def sources():
    return [p for p in RUNTIME.rglob("*") if p.suffix in {".h", ".cpp"}]


def declared(kind):
    """``FILE: NAME`` of each mutex of the runtime."""
    return {
        f"{path.relative_to(RUNTIME)}: {name}"
        for path in sources()
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
    text = (
        "ForkSafeMutex one; static ForkSafeRecursiveMutex two; ForkSafeMutex three[4];"
    )
    assert mutexes(text, FORK_SAFE) == ["one", "two", "three"]


def test_few_mutexes_are_held_and_all_are_made_at_load():
    held = declared(FORK_SAFE)
    at_load = [AT_NAMESPACE_SCOPE.findall(path.read_text()) for path in sources()]
    assert sum(map(len, at_load)) == len(held)
    assert len(held) <= MOST_HELD
