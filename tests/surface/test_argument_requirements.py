"""What declarations require of numbers and elements is checked at every call."""

from __future__ import annotations

import numpy as np
import pytest

import pellucid as torch

REFUSED = [
    "torch.bernoulli(torch.ones(3), 2.0)",
    "torch.bernoulli(torch.ones(3), -0.5)",
    "torch.ones(3).exponential_(-1)",
    "torch.ones(3).exponential_(float('nan'))",
    "torch.empty(0).exponential_(0)",
    "torch.ones(3).geometric_(1)",
    "torch.ones(3).cauchy_(0, 0)",
    "torch.native_dropout(torch.ones(3), 2.0, True)",
    "torch.nn.functional.celu(torch.ones(3), 0.0)",
    "torch.nn.functional.softshrink(torch.ones(3), -1.0)",
]


@pytest.mark.parametrize("program", REFUSED)
def test_numbers_that_are_not_as_required_are_refused(program: str) -> None:
    for _ in range(3):  # also once the call is known
        with pytest.raises(RuntimeError):
            eval(program)


@pytest.mark.parametrize("size", [1, 3, 70, 100_000])
@pytest.mark.parametrize("bad", [-0.5, 1.5, float("nan")])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_an_element_outside_zero_to_one_is_refused(dtype, bad, size) -> None:
    p = torch.full((size,), 0.5, dtype=getattr(torch, dtype))
    torch.bernoulli(p)
    p[size // 2] = bad
    with pytest.raises(RuntimeError, match="from 0 to 1"):
        torch.bernoulli(p)
    with pytest.raises(RuntimeError, match="from 0 to 1"):
        torch.ones(size).bernoulli_(p)


def test_an_element_of_a_transposed_tensor_is_refused() -> None:
    p = torch.full((5, 7), 0.5).t()
    torch.bernoulli(p)
    p[3, 4] = 2
    with pytest.raises(RuntimeError, match="from 0 to 1"):
        torch.bernoulli(p)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bernoulli_in_place_draws_what_bernoulli_draws(dtype: str) -> None:
    p = torch.linspace(0, 1, 50, dtype=getattr(torch, dtype))
    torch.manual_seed(3)
    expected = torch.bernoulli(p)
    for result in (torch.int64, torch.bool, torch.float32):
        torch.manual_seed(3)
        drawn = torch.zeros(50, dtype=result).bernoulli_(p)
        assert drawn.dtype is result
        assert drawn.tolist() == expected.to(result).tolist()


def test_bernoulli_in_place_expands_the_probabilities() -> None:
    generator = torch.Generator().manual_seed(1)
    drawn = torch.zeros(1000, 3).bernoulli_(
        torch.tensor([0.0, 1.0, 0.5]), generator=generator
    )
    columns = drawn.mean(0).tolist()
    assert columns[0] == 0 and columns[1] == 1 and 0.4 < columns[2] < 0.6
    words = np.random.RandomState(1).randint(0, 2**32, 3, dtype=np.uint64)
    assert drawn[0, 2].item() == float((words[2] & 0xFFFFFF) * 2.0**-24 < 0.5)
    with pytest.raises(RuntimeError):
        torch.zeros(2).bernoulli_(torch.ones(3))


def test_messages_say_what_was_given() -> None:
    with pytest.raises(RuntimeError, match=r"lambd is -1\.5; give"):
        torch.ones(2).exponential_(-1.5)
