"""The Python code in the documentation runs as it stands, block after block."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Code that only declares ops runs without the runtime. The ops it shows exist already:
# their names are freed.
WITHOUT_RUNTIME = """\
import pellucid_compiler.catalogue, pellucid_compiler.declare
pellucid_compiler.declare.REGISTRY.clear()
"""


def needs_runtime(code):
    return "import pellucid as torch" in code


def blocks(document):
    """The document's code in order, those with the runtime apart from those without."""
    found = BLOCK.findall(document.read_text())
    declaring = [code for code in found if not needs_runtime(code)]
    running = [code for code in found if needs_runtime(code)]
    return [("declarations", declaring), ("programs", running)]


CASES = [
    pytest.param(kind, code, id=f"{document.stem}-{kind}")
    for document in DOCUMENTS
    for kind, code in blocks(document)
    if code
]


@pytest.mark.parametrize(("kind", "code"), CASES)
def test_code_runs(kind, code, tmp_path):
    program = "\n".join(code)
    if kind == "declarations":
        program = WITHOUT_RUNTIME + program
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tools")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


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
