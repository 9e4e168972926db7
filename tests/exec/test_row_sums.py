"""Sums over rows that run in the kernel of these rows: gradients of layer norms."""

import numpy as np
import pytest

import pellucid

SHAPES = [(3, 5, 7), (1, 300), (70, 3), (5000, 8), (9, 4000), (0, 4), (4, 0)]


def gradients(x, weight, bias, slope):
    """Gradients of layer_norm over the last dim, in float64."""
    centered = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
    normal, inner = centered * scale, slope * weight
    mean = inner.mean(-1, keepdims=True)
    along = normal * (normal * inner).mean(-1, keepdims=True)
    rows = tuple(range(x.ndim - 1))
    return scale * (inner - mean - along), (slope * normal).sum(rows), slope.sum(rows)


def operand(shape, dtype="float32"):
    random = np.random.default_rng(len(shape))
    sizes = (shape, shape[-1:], shape[-1:], shape)
    return [random.standard_normal(s).astype(dtype) for s in sizes]


def run(x, weight, bias, slope):
    inputs = [pellucid.tensor(a).requires_grad_() for a in (x, weight, bias)]
    y = pellucid.nn.functional.layer_norm(inputs[0], x.shape[-1:], *inputs[1:])
    return pellucid.autograd.grad(y, inputs, pellucid.tensor(slope))


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_layer_norm(shape):
    arrays = operand(shape)
    wide = [a.astype("float64") for a in arrays]
    for actual, expected in zip(run(*arrays), gradients(*wide), strict=True):
        tolerance = 2e-6 * max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(actual.numpy(), expected, 2e-5, tolerance)


def test_strided_rows_and_repeated_calls_give_the_same():
    x, weight, bias, slope = operand((16, 33, 24))
    expected = run(x, weight, bias, slope)
    turned = pellucid.tensor(x.transpose(1, 0, 2).copy()).transpose(0, 1)
    inputs = [turned.requires_grad_()]
    inputs += [pellucid.tensor(a).requires_grad_() for a in (weight, bias)]
    y = pellucid.nn.functional.layer_norm(inputs[0], (24,), *inputs[1:])
    for _ in range(3):  # later calls run prepared
        actual = pellucid.autograd.grad(
            y, inputs, pellucid.tensor(slope), retain_graph=True
        )
        for a, b in zip(actual, expected, strict=True):
            assert a.equal(b)


def test_the_same_bits_on_any_number_of_threads():
    arrays = operand((700, 96))
    before = pellucid.get_num_threads()
    try:
        bits = set()
        for threads in (1, 2, 3, 8):
            pellucid.set_num_threads(threads)
            bits.add(b"".join(g.numpy().tobytes() for g in run(*arrays)))
    finally:
        pellucid.set_num_threads(before)
    assert len(bits) == 1


@pytest.mark.parametrize("reduce", ["std", "logsumexp", "norm"])
def test_a_dim_of_size_one_does_not_merge_strided_rows(reduce):
    # rows of several passes need merged axes: here the first two do not merge
    x = np.arange(27, dtype="float32").reshape(9, 1, 3)[1::2]
    strided = pellucid.from_numpy(np.arange(27, dtype="float32").reshape(9, 1, 3))[1::2]
    dims = {"dim": (0, 1, 2)}
    actual = getattr(pellucid, reduce)(strided, **dims)
    expected = getattr(pellucid, reduce)(pellucid.tensor(x), **dims)
    assert pellucid.allclose(actual, expected, rtol=1e-6)


def test_rows_that_are_columns_in_memory_have_the_same_bits():
    """Large ones are copied before the kernel reads them."""
    x = pellucid.randn(160, 200)
    weight = pellucid.randn(160)
    rows, packed = x.t(), x.t().contiguous()
    for function in (
        lambda y: y.softmax(1),
        lambda y: y.log_softmax(1),
        lambda y: pellucid.nn.functional.layer_norm(y, (160,), weight),
    ):
        assert pellucid.equal(function(rows), function(packed))
        assert pellucid.equal(function(rows), function(packed))  # a repeated call
