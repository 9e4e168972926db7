"""Which folder of the C++ runtime may include which: the table of runtime/README.md."""

import re
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "runtime"
ROW = re.compile(r"^\| `([\w/]+)` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
PUBLIC_HEADERS = "pellucid"  # src/pellucid/include, which users of extensions include


def names_in(text):
    return {name.strip(" `") for name in text.split(",") if name.strip()}


ROWS = dict(ROW.findall((RUNTIME / "README.md").read_text()))


def allowed_by(folder, text):
    """The folders that a row names; "all": those of every row but its own."""
    names = names_in(text)
    return set(ROWS) - {folder} if names == {"all"} else names


MAY_INCLUDE = {folder: allowed_by(folder, text) for folder, text in ROWS.items()}


def sources(folder):
    paths = sorted((RUNTIME / folder).iterdir())
    return [path for path in paths if path.suffix in {".h", ".cpp"}]


def folders_with_sources():
    actual = {p.parent for p in RUNTIME.rglob("*") if p.suffix in {".h", ".cpp"}}
    return {p.relative_to(RUNTIME).as_posix() for p in actual} - {"."}


def forbidden_includes(folder, name, text):
    """The includes of a source of `folder` that its row does not allow."""
    allowed = {folder, *MAY_INCLUDE[folder], PUBLIC_HEADERS}
    return [
        f"{folder}/{name} includes {included}"
        for included in INCLUDE.findall(text)
        if Path(included).parent.as_posix() not in allowed
    ]


def test_every_folder_has_a_row():
    assert folders_with_sources() == set(MAY_INCLUDE)


@pytest.mark.parametrize("folder", MAY_INCLUDE)
def test_folder_includes_only_what_it_may(folder):
    for path in sources(folder):
        assert not forbidden_includes(folder, path.name, path.read_text())


def test_an_include_of_a_higher_folder_is_found():
    text = '#include "core/tensor.h"\n#include "autograd/node.h"\n'
    assert forbidden_includes("kernels", "pack.cpp", text) == [
        "kernels/pack.cpp includes autograd/node.h"
    ]
    assert forbidden_includes("core", "ref.h", '  # include "../plan/key.h"')


def test_rows_name_folders_of_rows_above_them():
    above = set()
    for folder, allowed in MAY_INCLUDE.items():
        assert allowed <= above, folder
        above.add(folder)


def needs_guide(folder):
    return len(sources(folder)) > 3 or (RUNTIME / folder / "README.md").exists()


@pytest.mark.parametrize("folder", [f for f in MAY_INCLUDE if needs_guide(f)])
def test_folder_of_many_files_has_a_short_guide(folder):
    guide = RUNTIME / folder / "README.md"
    text = guide.read_text()
    assert len(text.splitlines()) <= 40
    stated = re.search(r"^May include: (.*)\.$", text, re.MULTILINE)
    assert stated
    stated_names = stated[1].replace("nothing", "")
    assert allowed_by(folder, stated_names) == MAY_INCLUDE[folder]
    for name in re.findall(r"`(\w+\.(?:h|cpp))`", text):
        assert (RUNTIME / folder / name).exists(), f"{guide} names {name}"
