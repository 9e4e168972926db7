"""Every folder of some size has a README: short, and naming only files that exist, as
all documents do.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("src/pellucid", "src/pellucid_compiler", "runtime")
TOPS = (*PRODUCT, "tools", "tests", "benchmarks", "examples")
SOURCE = {".py", ".pyi", ".cpp", ".h", ".js"}
MOST_LINES = 40
MADE = {"_op_types", "__pycache__", "include"}  # by the build; for other projects


def folders():
    for top in TOPS:
        for folder in (ROOT / top, *(ROOT / top).rglob("*/")):
            if not MADE & set(folder.parts):
                yield folder


def is_of_some_size(folder):
    return sum(path.suffix in SOURCE for path in folder.iterdir()) > 3


FOLDERS = [folder for folder in folders() if is_of_some_size(folder)]
READMES = [path for top in TOPS for path in sorted((ROOT / top).rglob("README.md"))]
DOCUMENTS = [*READMES, *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("R*.md"))]
# Files that documents may name, by every end of their paths.
FILES = {
    "/".join(path.relative_to(ROOT).parts[start:])
    for top in ("src", "tools", "tests", "runtime", "docs", "benchmarks", "examples")
    for path in (ROOT / top).rglob("*.*")
    for start in range(len(path.relative_to(ROOT).parts))
}


def shown(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("folder", FOLDERS, ids=shown)
def test_a_folder_of_some_size_has_a_readme(folder):
    assert (folder / "README.md").exists()


@pytest.mark.parametrize("readme", READMES, ids=shown)
def test_a_readme_is_short(readme):
    assert len(readme.read_text().splitlines()) <= MOST_LINES


OF_PRODUCT = [
    path
    for path in READMES
    if not MADE & set(path.parts) and shown(path).startswith(PRODUCT)
]


@pytest.mark.parametrize("readme", OF_PRODUCT, ids=shown)
def test_a_readme_says_what_to_read(readme):
    assert re.search(r"\bRead\b|[Rr]ead first", readme.read_text())


@pytest.mark.parametrize("document", DOCUMENTS, ids=shown)
def test_documents_name_files_that_exist(document):
    named = re.findall(r"`([\w/]+\.(?:py|cpp|h|js|md))`", document.read_text())
    assert not [name for name in named if name not in FILES]


def test_there_are_folders_and_names_to_check():
    assert len(FOLDERS) > 40 and "src/pellucid/__init__.py" in FILES
