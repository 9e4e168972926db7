"""``torch.utils.data._utils.pin_memory`` goes through containers."""

from collections import namedtuple

import pytest

import pellucid as torch
from pellucid.utils.data._utils.pin_memory import pin_memory

Pair = namedtuple("Pair", "first second")


class Batch:
    def pin_memory(self):
        return "pinned"


def test_containers_are_rebuilt():
    inputs = {"a": [Batch(), 1], "b": (Batch(), "text"), "c": Pair(Batch(), b"x")}
    actual = pin_memory(inputs)
    assert actual["a"] == ["pinned", 1]
    assert list(actual["b"]) == ["pinned", "text"]
    assert actual["c"] == Pair("pinned", b"x")


def test_tensors_need_an_accelerator():
    with pytest.raises(RuntimeError, match="accelerator"):
        pin_memory([torch.ones(2)])
