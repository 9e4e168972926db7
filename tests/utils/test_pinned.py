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


@pytest.mark.parametrize(
    "make",
    [
        torch.hann_window,
        torch.hamming_window,
        torch.blackman_window,
        torch.bartlett_window,
        torch.kaiser_window,
        lambda n, **options: torch.tril_indices(n, n, **options),
        lambda n, **options: torch.triu_indices(n, n, **options),
        torch.ones,
        torch.arange,
        torch.fft.fftfreq,
    ],
)
def test_new_tensors_are_pinned_or_refused(make):
    assert not make(3, pin_memory=False).is_pinned()
    with pytest.raises(RuntimeError, match="accelerator"):
        make(3, pin_memory=True)
