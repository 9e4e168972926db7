"""``torch.testing``: what is said of values that differ; which tensors are drawn."""

import math

import numpy as np
import pytest

import pellucid as torch
from pellucid.testing import assert_close, make_tensor

PAIRS = {
    "ints": (1, 2, "Scalars are not equal!\n\nExpected 2 but got 1.\n"
             "Absolute difference: 1\nRelative difference: 0.5"),
    "floats": (1.5, 1.6, "Scalars are not close!\n\nExpected 1.6 but got 1.5.\n"
               "Absolute difference: 0.10000000000000009 (up to 1e-07 allowed)\n"
               "Relative difference: 0.06250000000000006 (up to 1e-07 allowed)"),
    "elements": (torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[1.0, 2], [3, 5]]),
                 "Tensor-likes are not close!\n\nMismatched elements: 1 / 4 (25.0%)\n"
                 "Greatest absolute difference: 1.0 at index (1, 1) "
                 "(up to 1e-05 allowed)\n"
                 "Greatest relative difference: 0.20000000298023224 at index (1, 1) "
                 "(up to 1.3e-06 allowed)"),
    "integers": (torch.tensor([1, 2]), torch.tensor([1, 4]),
                 "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\n"
                 "Greatest absolute difference: 2 at index (1,)\n"
                 "Greatest relative difference: 0.5 at index (1,)"),
    "bools": (True, False, "Booleans mismatch: True is not False"),
    "none": (None, 1, "None mismatch: None is not 1"),
    "keys": ({"a": 1}, {"b": 2}, "The keys of the mappings do not match:\n"
             "Missing keys in the actual mapping: ['b']\n"
             "Additional keys in the actual mapping: ['a']"),
    "lengths": ([1], [1, 2], "The length of the sequences mismatch: 1 != 2"),
    "types": (1, 1.0, "The (d)types do not match: <class 'int'> != <class 'float'>."),
    "shapes": (torch.ones(2), torch.ones(1, 2), "The values for attribute 'shape' do "
               "not match: torch.Size([2]) != torch.Size([1, 2])."),
    "nested": ([{"a": (1, 2)}], [{"a": (1, 3)}],
               "Scalars are not equal!\n\nExpected 3 but got 2.\nAbsolute difference: 1"
               "\nRelative difference: 0.3333333333333333\n\n"
               "The failure occurred for item [0]['a'][1]"),
    "infinite": (math.inf, 1.0, "Scalars are not close!\n\nExpected 1.0 but got inf.\n"
                 "Absolute difference: inf (up to 1e-07 allowed)\n"
                 "Relative difference: inf (up to 1e-07 allowed)"),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_what_differs_is_said(name):
    actual, expected, text = PAIRS[name]
    with pytest.raises(AssertionError) as error:
        assert_close(actual, expected)
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (1.0, 1.0 + 1e-8, {}),
        (math.nan, math.nan, {"equal_nan": True}),
        (torch.tensor([math.nan, 1]), torch.tensor([math.nan, 1]), {"equal_nan": True}),
        (torch.tensor([1, 2]), torch.tensor([1.0, 2]), {"check_dtype": False}),
        (np.float64(1), 1.0, {}),
        (np.ones(2), np.ones(2), {}),
        (torch.nn.Parameter(torch.ones(2)), torch.ones(2), {}),
        (
            torch.tensor([1.0], dtype=torch.bfloat16),
            torch.tensor([1.01]).bfloat16(),
            {},
        ),
        ([(None, {"a": 1j})], [(None, {"a": 1j})], {}),
    ],
)
def test_what_agrees_passes(actual, expected, options):
    assert assert_close(actual, expected, **options) is None


def test_what_cannot_be_compared_is_refused():
    for actual, expected in [("a", "a"), (torch.ones(1), 1.0), (torch.ones(1), None)]:
        with pytest.raises((TypeError, AssertionError), match=r"handle inputs|None"):
            assert_close(actual, expected)
    with pytest.raises(TypeError, match="No comparison pair"):
        same = torch.ones(2)
        assert_close(torch.nn.Parameter(same), same, allow_subclasses=False)
    with pytest.raises(ValueError, match="must both be specified"):
        assert_close(1.0, 1.0, rtol=0.1)


def test_a_message_replaces_the_text():
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match=r"^step 3: Scalars are not equal!"):
        assert_close(1, 2, msg=lambda text: f"step 3: {text}")


DTYPES = [
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
    torch.complex128, torch.int8, torch.uint8, torch.int64, torch.bool,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_drawn_tensors_fill_their_range(dtype):
    drawn = make_tensor(40, 50, dtype=dtype, device="cpu")
    assert drawn.dtype is dtype and drawn.is_contiguous()
    numbers = (torch.view_as_real(drawn) if drawn.is_complex() else drawn).double()
    signed = dtype.is_signed or dtype.is_complex
    most = 1 if dtype is torch.bool else 9
    assert numbers.min() >= (-most if signed else 0) and numbers.max() <= most
    assert numbers.max() > 0.9 * most and numbers.min() < (-0.9 * most if signed else 1)
    part = make_tensor(4, 5, dtype=dtype, device="cpu", noncontiguous=True)
    assert part.shape == (4, 5) and not part.is_contiguous()
    assert not (
        make_tensor(99, dtype=dtype, device="cpu", exclude_zero=True) == 0
    ).any()


def test_draws_have_bounds_and_seeds():
    torch.manual_seed(0)
    first = make_tensor(3, dtype=torch.float32, device="cpu")
    torch.manual_seed(0)
    assert torch.equal(first, torch.empty(3).uniform_(-9, 9))
    drawn = make_tensor((100,), dtype=torch.int64, device="cpu", low=3, high=5)
    assert set(drawn.tolist()) == {3, 4}
    grown = make_tensor(2, dtype=torch.float64, device="cpu", requires_grad=True)
    assert grown.requires_grad and grown.is_leaf
    with pytest.raises(ValueError, match="low <= high"):
        make_tensor(3, dtype=torch.float32, device="cpu", low=2, high=1)
    with pytest.raises(ValueError, match="no value from"):
        make_tensor(3, dtype=torch.uint8, device="cpu", low=-9, high=-3)
    with pytest.raises(ValueError, match="have no gradient"):
        make_tensor(3, dtype=torch.int64, device="cpu", requires_grad=True)
