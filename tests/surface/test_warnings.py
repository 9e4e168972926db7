"""Programs that PyTorch warns of warn here, by its category, at the line that calls."""

from __future__ import annotations

import warnings

import pytest
from program_warnings import ADVICE

import pellucid as torch

# Their functions are called by modules, whose line is named, as in PyTorch.
_CALLED_BY_MODULES = ("nn.KLDivLoss", "nn.MultiheadAttention", "nn.Softmax")


def warnings_of(program: str) -> list[warnings.WarningMessage]:
    """The warnings of a program."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(program, "<program>", "exec"), names)
    return caught


@pytest.mark.parametrize(("program", "category"), ADVICE)
def test_a_program_warns_as_with_pytorch(program: str, category: str) -> None:
    caught = warnings_of(program)
    assert [w.category.__name__ for w in caught] == ([category] if category else [])
    if not program.startswith(_CALLED_BY_MODULES):
        assert all(w.filename == "<program>" for w in caught)
