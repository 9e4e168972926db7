"""docs/aten.md lists what is left out of PyTorch's table: nothing that exists.

``tools/aten_page.py`` writes the page, for which it needs PyTorch.
"""

import re
from pathlib import Path

import pytest

import pellucid as torch
from pellucid.distributed import autograd

_TEXT = (Path(__file__).parents[2] / "docs/aten.md").read_text()
_NAMES = re.findall(r"`(\w+(?:\.\w+)?)`", _TEXT[_TEXT.index("|") :])


def test_each_name_is_listed_once():
    assert len(_NAMES) > 50
    assert len({*_NAMES}) == len(_NAMES)


def test_what_python_has_is_there():
    (line,) = (line for line in _TEXT.splitlines() if "methods in Python" in line)
    names = re.findall(r"`(\w+)`", line)
    assert len(names) > 40
    places = torch.Tensor, torch, autograd
    assert [
        name
        for name in names
        if not any(hasattr(place, name) for place in places)
        and not hasattr(torch.sparse, name.removeprefix("sparse_"))
    ] == []


@pytest.mark.parametrize("name", _NAMES)
def test_left_out_names_do_not_exist(name):
    op, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, op, None)
    assert (packet is None) != bool(overload), f"take {name} off docs/aten.md"
    if overload:
        assert overload not in packet.overloads(), f"take {name} off docs/aten.md"
