"""A power with one exponent for the whole call agrees with C's pow."""

import numpy as np
import pytest

import pellucid

EXPONENTS = [2, 3, 0.5, -0.5, -1, -2, 0, 1, 2.5, -3, float("inf"), float("nan")]
EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 1e30, -2.5]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_by_a_number(exponent, dtype):
    random = np.random.default_rng(0)
    values = np.concatenate([EDGES, random.normal(size=90) * 10]).astype(dtype)
    want = np.power(values.astype(np.longdouble), exponent).astype(dtype)
    actual = (pellucid.from_numpy(values) ** exponent).numpy()
    np.testing.assert_allclose(actual, want, rtol=3 * np.finfo(dtype).eps)
    zeros = want == 0
    assert np.array_equal(np.signbit(actual[zeros]), np.signbit(want[zeros]))


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0])
def test_powers_of_rows_and_their_gradients(exponent):
    x = (pellucid.rand(5, 33, dtype=pellucid.float64) + 0.5).t().requires_grad_()
    (gradient,) = pellucid.autograd.grad((x**exponent).sum(), x)
    want = exponent * np.power(x.detach().numpy(), exponent - 1)
    np.testing.assert_allclose(gradient.numpy(), want, rtol=1e-14)
