"""Comments, docstrings and documents use the glossary's words, in readable lines."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
FOLDERS = ["src", "runtime", "tests", "tools", "benchmarks", "examples", "docs"]
SUFFIXES = {".py", ".h", ".cpp", ".md"}
WIDTH = 120


def rules():
    """{pattern: what to write}, from the glossary's second table."""
    _, _, table = GLOSSARY.read_text().partition("## Words not to write")
    found = {}
    for line in re.findall(r"^\| (.+) \|$", table, re.MULTILINE)[1:]:
        bad, _, good = line.partition(" | ")
        for word in bad.split(", "):
            found[re.compile(rf"(?<!there )\b{word}\b", re.IGNORECASE)] = good
    return found


def files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path not in (GLOSSARY, Path(__file__)):
                yield path


def prose_of_python(text):
    """(line number, text) of comments and docstrings."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                lines = text.splitlines()[value.lineno - 1 : value.end_lineno]
                yield from enumerate(lines, value.lineno)


def prose(path):
    text = path.read_text()
    if path.suffix == ".py":
        return list(prose_of_python(text))
    lines = list(enumerate(text.splitlines(), 1))
    if path.suffix == ".md":
        return lines
    comments = ((number, re.search("//.*", line)) for number, line in lines)
    return [(number, found[0]) for number, found in comments if found]


def test_the_glossary_has_rules():
    assert len(rules()) >= 20
    assert any(pattern.search("where it lies") for pattern in rules())


@pytest.mark.parametrize("folder", FOLDERS)
def test_prose_uses_the_glossarys_words(folder):
    patterns = rules()
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {found[0]!r}: write {good}"
        for path in files()
        if path.relative_to(ROOT).parts[0] == folder
        for number, line in prose(path)
        for pattern, good in patterns.items()
        if (found := pattern.search(line))
    ]
    assert wrong == []


def test_lines_of_documents_are_short():
    tops = [p for p in ROOT.glob("*.md") if p.name != "CHANGELOG.md"]
    documents = [*tops, *(p for p in files() if p.suffix == ".md")]
    long = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} columns"
        for path in documents
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > WIDTH and not line.startswith(("|", "<!--"))
    ]
    assert len(documents) > 50 and long == []
