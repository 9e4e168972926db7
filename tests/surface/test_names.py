"""The main namespaces show PyTorch's names, and beside them only the package's own
modules.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.structure.test_names import OF_PYTORCH, OWN

# What is not PyTorch's name, with the reason.
OTHERS = {
    "torch": {
        **OWN,
        **dict.fromkeys(OF_PYTORCH, "PyTorch shows it once it is imported"),
        "roofline": "the package's own, of diagnose",
    },
    "torch.Tensor": dict.fromkeys(
        ("lengths", "offsets"), "of nested tensors, which have no class of their own"
    ),
}
# Pellucid's own names with an underscore: the ops that others are made of, which the
# declarations put beside PyTorch's, and the rooms of the package. May only fall.
MOST_PRIVATE = {"torch": 36, "torch.Tensor": 7}
# In a process of its own: imports and renamed backends add names.
SHOWN = """
import json, sys
import pellucid as torch
from pellucid import fft, linalg, nn, special
spaces = {title: eval(title) for title in sys.argv[1:]}
print(json.dumps({title: dir(space) for title, space in spaces.items()}))
"""


def recorded():
    """PyTorch's names by namespace (tools/record_names.py)."""
    found = {}
    for line in (Path(__file__).with_name("names.txt")).read_text().splitlines():
        if line.startswith("torch"):
            names = found[line.removesuffix(":")] = set()
        else:
            names |= set(line.split())
    return found


NAMES = recorded()


@pytest.fixture(scope="module")
def shown():
    command = [sys.executable, "-c", SHOWN, *NAMES]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


@pytest.mark.parametrize("space", NAMES)
def test_a_namespace_shows_names_of_pytorch(space, shown):
    names = {name for name in shown[space] if not name.startswith("_")}
    public = {name for name in NAMES[space] if not name.startswith("_")}
    assert names - NAMES[space] - OTHERS.get(space, {}).keys() == set()
    assert len(names & NAMES[space]) > 0.8 * len(public)


@pytest.mark.parametrize("space", MOST_PRIVATE)
def test_private_names_are_pytorchs_but_for_a_few(space, shown):
    names = {n for n in shown[space] if n[0] == "_" != n[1]} - NAMES[space]
    assert len(names) == MOST_PRIVATE[space], sorted(names)


def test_foreach_functions_are_pytorchs(shown):
    def of_lists(names):
        return {name for name in names if name.startswith("_foreach_")}

    assert of_lists(shown["torch"]) == of_lists(NAMES["torch"])


@pytest.mark.parametrize("space", OTHERS)
def test_other_names_are_not_pytorchs(space):
    assert NAMES[space] & OTHERS[space].keys() <= OF_PYTORCH
