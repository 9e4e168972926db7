"""Numbers that a dtype cannot hold are refused where PyTorch refuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch
from pellucid.nn import functional

INDEX = torch.tensor([0])
MASK = torch.tensor([True, False])

STORING: dict[str, Callable[[torch.Tensor, Any], torch.Tensor]] = {
    "full": lambda x, v: torch.full((2,), v, dtype=x.dtype),
    "full_like": torch.full_like,
    "new_full": lambda x, v: x.new_full((2,), v),
    "fill_": lambda x, v: x.fill_(v),
    "masked_fill": lambda x, v: x.masked_fill(MASK, v),
    "index_fill": lambda x, v: x.index_fill(0, INDEX, v),
    "scatter": lambda x, v: x.scatter(0, INDEX, v),
    "pad": lambda x, v: functional.pad(x, (1, 1), value=v),
    "clamp": lambda x, v: x.clamp(max=v),
    "threshold": lambda x, v: functional.threshold(x, 1, v),
    "setitem": lambda x, v: x.__setitem__(0, v),
}


@pytest.mark.parametrize("name", STORING)
@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        (torch.uint8, 300),
        (torch.uint8, -300),
        (torch.int8, -129),
        (torch.int16, 10**5),
        (torch.int32, 2**31),
        (torch.float32, 1e39),
    ],
)
def test_a_number_beyond_the_dtype_is_refused(
    name: str, dtype: torch.dtype, number: float
) -> None:
    with pytest.raises(RuntimeError, match="without overflow"):
        STORING[name](torch.zeros(2, dtype=dtype), number)


def test_a_mask_filled_with_a_half_that_overflows_is_refused() -> None:
    with pytest.raises(RuntimeError, match="float16"):
        torch.zeros(2, dtype=torch.float16).masked_fill(MASK, -1e9)


def test_small_negative_numbers_wrap_in_uint8() -> None:
    assert torch.full((1,), -1, dtype=torch.uint8).tolist() == [255]
    assert torch.tensor([-2], dtype=torch.uint8).tolist() == [254]
    assert torch.zeros(1, dtype=torch.uint8).fill_(-255).tolist() == [1]


def test_infinities_and_nan_fit_into_floats_alone() -> None:
    inf = float("inf")
    assert torch.full((1,), inf, dtype=torch.float16).tolist() == [inf]
    for number in (inf, float("nan")):
        with pytest.raises(RuntimeError):
            torch.full((1,), number, dtype=torch.int32)


def test_any_number_but_zero_is_true() -> None:
    assert torch.zeros(1, dtype=torch.bool).fill_(-0.5).tolist() == [True]


def test_operands_of_arithmetic_wrap() -> None:
    assert (torch.zeros(1, dtype=torch.uint8) + 300).tolist() == [44]


def test_integers_have_no_negative_powers() -> None:
    for exponent in (-1, -2):
        with pytest.raises(RuntimeError, match="negative"):
            torch.tensor([1, 2]) ** exponent
    x = torch.tensor([1, 2])
    with pytest.raises(RuntimeError):
        x.pow_(-1)
    assert x.tolist() == [1, 2]
    assert (torch.tensor([2.0]) ** -1).tolist() == [0.5]


def test_alpha_is_a_bool_for_bools_alone() -> None:
    flags = torch.tensor([True, False])
    assert torch.add(flags, flags, alpha=True).tolist() == [True, False]
    for x in (torch.ones(1), torch.ones(1, dtype=torch.int64)):
        with pytest.raises(RuntimeError, match="bool"):
            torch.add(x, x, alpha=True)


def test_linspace_of_integers_starts_at_converted_ends() -> None:
    line = torch.linspace(-5, 5, 4, dtype=torch.uint8)
    assert line.tolist() == [251, 169, 87, 5]
    with pytest.raises(RuntimeError):
        torch.linspace(0, 300, 4, dtype=torch.uint8)


def test_integers_beyond_64_bits() -> None:
    assert torch.tensor([1.0, 2**70]).tolist() == [1.0, 2.0**70]
    for call, error in (
        (lambda: torch.tensor(2**70), ValueError),
        (lambda: torch.ones(2**70), TypeError),
        (lambda: torch.ones(2) + 2**70, OverflowError),
        (lambda: torch.ones(2)[2**70], ValueError),
    ):
        with pytest.raises(error, match="64 bits"):
            call()
