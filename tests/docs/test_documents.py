"""The Python code in the documentation runs, block after block, in each document.

A ``text`` block directly after a ``python`` block is its exact output.
``PELLUCID_UPDATE_GOLDEN=1`` rewrites these.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n\n^```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
BETWEEN = "\x1e\n"  # printed between the blocks
# Code that only declares ops runs without the runtime. Its ops exist already, so their
# names are removed first.
WITHOUT_RUNTIME = """\
import pellucid_compiler.catalogue, pellucid_compiler.declare
pellucid_compiler.declare.REGISTRY.clear()
"""


def needs_runtime(code):
    return "import pellucid as torch" in code


def blocks(document):
    """The document's blocks in order; those without the runtime are a separate program.

    A document whose first block uses the runtime is one program.
    """
    found = list(BLOCK.finditer(document.read_text()))
    if found and needs_runtime(found[0]["code"]):
        return [("programs", found)]
    declaring = [block for block in found if not needs_runtime(block["code"])]
    running = [block for block in found if needs_runtime(block["code"])]
    return [("declarations", declaring), ("programs", running)]


CASES = [
    pytest.param(document, kind, found, id=f"{document.stem}-{kind}")
    for document in DOCUMENTS
    for kind, found in blocks(document)
    if found
]


@pytest.mark.parametrize(("document", "kind", "found"), CASES)
def test_code_runs(document, kind, found, tmp_path):
    codes = [block["code"] for block in found]
    program = f"print({BETWEEN!r}, end='')\n".join(codes)
    if kind == "declarations":
        program = WITHOUT_RUNTIME + program
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tools")])
    (tmp_path / "program.py").write_text(program)  # kernels are compiled from a file
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    outputs = done.stdout.split(BETWEEN)
    shown = [k for k, block in enumerate(found) if block["output"] is not None]
    if os.environ.get("PELLUCID_UPDATE_GOLDEN"):
        text = document.read_text()
        for k in reversed(shown):
            start, stop = found[k].span("output")
            text = text[:start] + outputs[k] + text[stop:]
        document.write_text(text)
    else:
        assert [outputs[k] for k in shown] == [found[k]["output"] for k in shown]


def test_one_call_shows_its_output():
    found = dict(blocks(ROOT / "docs" / "one-call.md"))["programs"]
    assert all(block["output"] for block in found)


def test_the_guide_to_ops_is_among_them():
    assert "add-an-op-declarations" in [case.id for case in CASES]


COMMAND = re.compile(r"`python (tools/show_op\.py \w+ \"[^`]*\")`")


def test_the_command_of_the_guide_shows_the_op():
    (command,) = COMMAND.findall((ROOT / "docs" / "add-an-op.md").read_text())
    done = subprocess.run(
        f"{sys.executable} {command}", shell=True, cwd=ROOT, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"softsign" in done.stdout


LINES_PER_HOUR = 500
PART = re.compile(
    r"^\*\*\d\. [^*]+\*\* \(([\d.]+) hours?\)\n(.*?)(?=^\*\*|^Then)", re.M | re.S
)


def named_files(part):
    """The files that a part of the list names, relative to the last folder named."""
    folder = ROOT
    for line in re.findall(r"^ *(?:\d+\.|`).*$", part, re.MULTILINE):
        for name in re.findall(r"`([\w/.-]+\.(?:py|h|md))`|\]\(([\w-]+\.md)\)", line):
            path = next(
                base / (name[0] or f"docs/{name[1]}")
                for base in (ROOT, folder, *folder.parents)
                if (base / (name[0] or f"docs/{name[1]}")).exists()
            )
            folder = path.parent
            yield path


def test_the_hours_of_the_reading_list_are_true():
    parts = PART.findall((ROOT / "docs" / "start-here.md").read_text())
    assert len(parts) == 5
    for hours, part in parts:
        files = set(named_files(part))
        lines = sum(len(path.read_text().splitlines()) for path in files)
        assert len(files) >= 3
        assert 0.7 < lines / LINES_PER_HOUR / float(hours) < 1.4, (hours, lines)


@pytest.mark.parametrize("page", ["architecture", "dispatcher"])
def test_the_keys_are_named_in_their_order(page):
    header = (ROOT / "runtime" / "core" / "keys.h").read_text()
    listed = header[: header.index("kNumKeys")]
    keys = dict(re.findall(r"^  (\w+) = (\d+),", listed, re.MULTILINE))
    above = sorted((k for k in keys if int(keys[k]) > 16), key=lambda k: -int(keys[k]))
    assert above[0] == "PreDispatch" and len(above) > 9
    text = (ROOT / "docs" / f"{page}.md").read_text()
    found = [key for key in re.findall(r"\w+", text) if key in above]
    places = [found.index(key) for key in above]
    assert places == sorted(places)
