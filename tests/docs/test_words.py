"""Comments, docstrings, messages and documents use the glossary's words, in readable
lines, and name files that exist.
"""

import ast
import functools
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
FOLDERS = ["src", "runtime", "tests", "tools", "benchmarks", "examples", "docs"]
SUFFIXES = {".py", ".h", ".cpp", ".md"}
WIDTH = 120
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# A comment of Python, or a string, in which none begins.
LONG_STRING = r"""('{3}|"{3})(?:\\.|.)*?\1"""
SHORT_STRING = r"""'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\""""
COMMENT = re.compile(rf"{LONG_STRING}|{SHORT_STRING}|(?P<comment>#[^\n]*)", re.DOTALL)
# A file that a comment names; paths with placeholders are excluded.
FILE = re.compile(
    r"(?<![\w./*{<>-])((?:[a-z_]\w*/)*[a-z_]\w*\.(?:py|cpp|h|md))\b(?!\w)"
)
OF_USERS = {
    "setup.py",
    "train.py",
    "script.py",
    "file.py",
    "fit.py",
    "hubconf.py",
    "lltm.cpp",
}
MADE_BY_THE_BUILD = {"offers.py", "pellucid_methods.h", "pellucid_functions.h"}


def pattern_of(words):
    """A pattern that matches any of the words, which are regular expressions."""
    text = rf"(?<!there )\b(?:{'|'.join(words)})\b(?! longer)"
    return re.compile(text, re.IGNORECASE)


def rules():
    """{word: what to write}, from the glossary's second table."""
    _, _, table = GLOSSARY.read_text().partition("## Words not to write")
    actual = {}
    for line in re.findall(r"^\| (.+) \|$", table, re.MULTILINE)[1:]:
        bad, _, good = line.partition(" | ")
        actual |= dict.fromkeys(bad.split(", "), good)
    return actual


def files_in(folder):
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in SUFFIXES and path not in (GLOSSARY, Path(__file__)):
            yield path


def files():
    yield from sorted(ROOT.glob("*.md"))
    for folder in FOLDERS:
        yield from files_in(folder)


class Texts(NamedTuple):
    """(line number, text) of a file's comments and docstrings, and of the lines of its
    strings: messages, and docstrings again.
    """

    prose: list[tuple[int, str]]
    strings: list[tuple[int, str]]


def texts_of_python(text):
    found = Texts([], [])
    number, end = 1, 0
    for match in COMMENT.finditer(text):
        if match["comment"]:
            number, end = number + text.count("\n", end, match.start()), match.start()
            found.prose.append((number, match["comment"]))
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                parts = node.value.splitlines()
                found.strings.extend((node.lineno, line) for line in parts)
            continue
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstring = lines[value.lineno - 1 : value.end_lineno]
                found.prose.extend(enumerate(docstring, value.lineno))
    return found


@functools.cache
def texts(path):
    text = path.read_text()
    if path.suffix == ".py":
        return texts_of_python(text)
    lines = list(enumerate(text.splitlines(), 1))
    if path.suffix == ".md":
        return Texts(lines, [])
    comments = ((number, re.search("//.*", line)) for number, line in lines)
    return Texts(
        [(number, actual[0]) for number, actual in comments if actual],
        [(number, actual) for number, line in lines for actual in STRING.findall(line)],
    )


def test_the_glossary_has_rules():
    assert len(rules()) >= 20
    assert pattern_of(rules()).search("where it lies")


def broken_rules(folder, lines_of):
    """Violations in lines of the folder's files, with the words to use."""
    patterns = {pattern_of([word]): good for word, good in rules().items()}
    # Few lines break a rule, so search for all words at once first.
    any_word = pattern_of(rules())
    return [
        f"{path.relative_to(ROOT)}:{number}: {actual[0]!r}: write {good}"
        for path in files_in(folder)
        for number, line in lines_of(path)
        if any_word.search(line)
        for pattern, good in patterns.items()
        if (actual := pattern.search(line))
    ]


def prose(path):
    return texts(path).prose


def messages(path):
    return ((n, line) for n, line in texts(path).strings if " " in line.strip())


@pytest.mark.parametrize("folder", FOLDERS)
def test_prose_uses_the_glossarys_words(folder):
    assert broken_rules(folder, prose) == []


@pytest.mark.parametrize("folder", ["src", "runtime", "tools"])
def test_messages_use_the_glossarys_words(folder):
    assert broken_rules(folder, messages) == []


def test_comments_name_files_that_exist():
    known = {
        "/".join(path.relative_to(ROOT).parts[start:])
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.*")
        for start in range(len(path.relative_to(ROOT).parts))
    }
    gone = [
        f"{path.relative_to(ROOT)}:{number}: {name}"
        for path in files()
        if path.suffix != ".md"
        for number, line in prose(path)
        for name in FILE.findall(line)
        if name not in known
        and name.rpartition("/")[2] not in OF_USERS | MADE_BY_THE_BUILD
    ]
    assert len(known) > 2000 and gone == []


def test_lines_of_documents_are_short():
    documents = [p for p in files() if p.suffix == ".md"]
    long = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} columns"
        for path in documents
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(re.sub("<!--.*?-->", "", line)) > WIDTH and not line.startswith("|")
    ]
    assert len(documents) > 50 and long == []
