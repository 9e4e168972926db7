"""docs/aten.md lists the omitted ops of PyTorch's table: none of them exists.

``tools/aten_page.py`` writes the page, for which it needs PyTorch.
"""

import re
from pathlib import Path

import pytest

import pellucid as torch

_TEXT = (Path(__file__).parents[2] / "docs/aten.md").read_text()
_NAMES = re.findall(r"`(\w+(?:\.\w+)?)`", _TEXT[_TEXT.index("|") :])


def test_each_name_is_listed_once():
    assert len(_NAMES) > 20
    assert len({*_NAMES}) == len(_NAMES)


@pytest.mark.parametrize("name", _NAMES)
def test_left_out_names_do_not_exist(name):
    op, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, op, None)
    assert (packet is None) != bool(overload), f"take {name} off docs/aten.md"
    if overload:
        assert overload not in packet.overloads(), f"take {name} off docs/aten.md"
