"""Compiled callables behave as uncompiled ones: random programs against eager."""

import pytest

import pellucid as torch
from pellucid._compile import background
from tests.compile.programs import inputs, make_program, observed, run

PROGRAMS = 60


def differing_call(seed):
    """The first call of a compiled program that differs from eager, or None.

    The kernels of its groups are ready before the last calls.
    """
    program = make_program(seed)
    compiled = torch.compile(run)
    expected = observed(run(program, inputs(seed)))
    for call in range(4):
        if observed(compiled(program, inputs(seed))) != expected:
            return call
        background.wait(60)
    return None


@pytest.mark.parametrize("first", range(0, PROGRAMS, 10))
def test_random_programs_agree(first):
    actual = {seed: differing_call(seed) for seed in range(first, first + 10)}
    assert not {seed: call for seed, call in actual.items() if call is not None}


def test_programs_reach_what_is_recorded():
    """Many ops are recorded, in groups, and their kernels run."""
    before = torch._C._recording_counts()
    for seed in range(5):
        differing_call(seed)
    recorded, grouped, _, fused, _ = (
        b - a for a, b in zip(before, torch._C._recording_counts(), strict=True)
    )
    assert recorded > 50 and grouped > 20 and fused > 0
