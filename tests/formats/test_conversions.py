"""Conversions among all dtypes with values: runs, single elements, the engine."""

import itertools

import numpy as np
import pytest

import pellucid as torch
from pellucid_compiler.abi.dtypes import BY_NAME, COMPLEX, DTYPES, FLOATING
from pellucid_compiler.ir.evaluate import convert
from pellucid_compiler.ir.float8 import FLOAT8

VALUED = [row.name for row in DTYPES if not row.opaque]
NARROW = [name for name in VALUED if BY_NAME[name].offers is not None]
PAIRS = [p for p in itertools.product(VALUED, repeat=2) if set(p) & set(NARROW)]


def samples(source, target):
    """Numbers that both represent, ties, and numbers beyond a float's range."""
    low = 0 if not (BY_NAME[source].signed and BY_NAME[target].signed) else -100
    random = np.random.default_rng(3)
    actual = np.concatenate([np.linspace(low, 100, 173), random.uniform(low, 120, 90)])
    if BY_NAME[target].category in (FLOATING, COMPLEX) and low:
        actual = np.concatenate(
            [actual, [6e4, 7e4, -6e4, 464, 465, 2**-10, 3 * 2**-11]]
        )
    return torch.tensor(actual, dtype=torch.float64).to(getattr(torch, source))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_runs_single_elements_and_the_engine_agree(source, target):
    inputs = samples(source, target)
    whole = inputs.to(getattr(torch, target))
    assert whole.dtype is getattr(torch, target)
    one_by_one = [x.to(whole.dtype).item() for x in inputs[::29]]
    np.testing.assert_equal(one_by_one, whole[::29].tolist())
    strided = torch.stack([inputs, inputs], 1)[:, 0].to(whole.dtype)
    np.testing.assert_equal(strided.tolist(), whole.tolist())
    held = np.asarray(inputs.tolist())
    kind = "complex64" if BY_NAME[source].category == COMPLEX else None
    if kind is None and BY_NAME[source].category == FLOATING:
        kind = "float64" if source == "float64" else "float32"
    if target != "bool" and BY_NAME[target].category != COMPLEX:
        held, kind = held.real, None if kind == "complex64" else kind
    with np.errstate(all="ignore"):
        expected = convert(np, held.astype(kind or held.dtype), target)
    np.testing.assert_equal(whole.tolist(), expected.tolist())


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_integers_wrap_and_keep_their_low_bits(dtype):
    wide = torch.tensor([-1, 2**16 + 5, 2**32 + 7, -(2**40), 2**62])
    bits = 8 * getattr(torch, dtype).itemsize
    actual = wide.to(getattr(torch, dtype))
    assert actual.tolist() == [x % 2**bits for x in wide.tolist()]
    assert actual.to(torch.int64).dtype is torch.int64


def test_floats_fill_all_of_uint64():
    inputs = torch.tensor(
        [2.0**63, 1.5 * 2**63, 2.0**64 - 2048, 5.9], dtype=torch.float64
    )
    actual = inputs.to(torch.uint64)
    assert actual.tolist() == [2**63, 3 * 2**62, 2**64 - 2048, 5]
    assert actual.to(torch.float64).tolist()[:3] == inputs.tolist()[:3]


def test_parts_of_complex_numbers_are_rounded_separately():
    inputs = torch.tensor([1.0001 + 2j, 70000 - 1e-9j, complex(float("nan"), 3)])
    actual = torch.view_as_real(inputs.to(torch.complex32))
    expected = torch.view_as_real(inputs).half()
    np.testing.assert_array_equal(actual.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", FLOAT8)
def test_gradients_pass_through_conversions(dtype):
    x = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
    (
        x.to(getattr(torch, dtype)).float() * torch.tensor([1.0, 2.0, 4.0])
    ).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 4.0]
