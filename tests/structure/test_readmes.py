"""Every folder of some size has a README: short, and naming only files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPS = ("src/pellucid", "src/pellucid_compiler", "tools", "tests")
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
# Files that READMEs may name, by every end of their paths.
FILES = {
    "/".join(path.relative_to(ROOT).parts[start:])
    for top in ("src", "tools", "tests", "runtime", "docs")
    for path in (ROOT / top).rglob("*.*")
    for start in range(len(path.relative_to(ROOT).parts))
}


def shown(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("folder", FOLDERS, ids=shown)
def test_a_folder_of_some_size_has_a_readme(folder):
    assert (folder / "README.md").exists()


@pytest.mark.parametrize("readme", READMES, ids=shown)
def test_a_readme_is_short_and_names_files_that_exist(readme):
    text = readme.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    named = re.findall(r"`([\w/]+\.(?:py|cpp|h|js|md))`", text)
    assert not [name for name in named if name not in FILES]


def test_there_are_folders_and_names_to_check():
    assert len(FOLDERS) > 40 and "src/pellucid/__init__.py" in FILES
