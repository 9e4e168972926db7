"""Variances and deviations of float32 are those of float64, rounded."""

import numpy as np
import pytest

import pellucid

LEVELS = [0.0, 10.0, 1e5]
SHAPES = [(16, 70), (300, 33), (5000, 3)]


def numbers(shape, level):
    """Numbers around a level, with a spread that may be small relative to it."""
    generator = np.random.default_rng(3)
    return (generator.standard_normal(shape) + level).astype("float32")


def assert_rounded(got, exact):
    """Equal to the last bit, except for rounding errors of float64."""
    np.testing.assert_array_max_ulp(got.numpy(), exact.astype("float32"), 1)
    assert np.mean(got.numpy() == exact.astype("float32")) > 0.9


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
@pytest.mark.parametrize("correction", [0, 1])
def test_spreads_are_rounded_once(correction, dim, shape, level):
    x = numbers(shape, level)
    wide, inputs = x.astype("float64"), pellucid.from_numpy(x)
    variance, mean = pellucid.var_mean(inputs, dim, correction=correction)
    deviation, again = pellucid.std_mean(inputs, dim, correction=correction)
    assert_rounded(variance, wide.var(dim, ddof=correction))
    assert_rounded(deviation, wide.std(dim, ddof=correction))
    assert_rounded(mean, wide.mean(dim))
    assert pellucid.equal(mean, again)
    assert pellucid.equal(variance, pellucid.var(inputs, dim, correction=correction))
    assert pellucid.equal(deviation, pellucid.std(inputs, dim, correction=correction))
    assert variance.dtype == mean.dtype == deviation.dtype == pellucid.float32


@pytest.mark.parametrize("level", LEVELS)
def test_gradients_of_spreads_are_float32_and_exact(level):
    x = numbers((40, 9), level)
    wide, inputs = x.astype("float64"), pellucid.from_numpy(x).requires_grad_()
    (gradient,) = pellucid.autograd.grad(inputs.std(0).sum(), inputs)
    centered = wide - wide.mean(0)
    np.testing.assert_allclose(
        gradient.numpy(), centered / (39 * wide.std(0, ddof=1)), rtol=3e-6, atol=1e-8
    )
    assert gradient.dtype == pellucid.float32
