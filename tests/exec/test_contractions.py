"""Sums of products over several axes: convolutions, batched products, any strides."""

import itertools
import signal

import numpy as np
import pytest

import pellucid


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def convolve(x, weight, stride, padding, dilation, groups):
    """A convolution of images, tap by tap, in float64."""
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    taps = weight.shape[2:]
    size = [
        (n - dilation * (t - 1) - 1) // stride + 1
        for n, t in zip(x.shape[2:], taps, strict=True)
    ]
    out = np.zeros((x.shape[0], weight.shape[0], *size))
    own, given = weight.shape[0] // groups, weight.shape[1]
    for g, i, j in itertools.product(range(groups), *map(range, taps)):
        rows = slice(i * dilation, i * dilation + stride * (size[0] - 1) + 1, stride)
        columns = slice(j * dilation, j * dilation + stride * (size[1] - 1) + 1, stride)
        window = x[:, g * given : (g + 1) * given, rows, columns]
        part = weight[g * own : (g + 1) * own, :, i, j]
        out[:, g * own : (g + 1) * own] += np.einsum("oc,bcpq->bopq", part, window)
    return out


CONVOLUTIONS = {
    "plain": (1, 0, 1, 1),
    "padded": (1, 1, 1, 1),
    "strided": (2, 1, 1, 1),
    "dilated": (1, 2, 2, 1),
    "strided and dilated": (2, 2, 2, 1),
    "grouped": (1, 1, 1, 2),
    "depthwise": (2, 1, 1, 4),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution_and_its_gradients_are_the_sums_over_taps(case):
    stride, padding, dilation, groups = CONVOLUTIONS[case]
    x, weight = random(2, 4, 11, 9), random(8, 4 // groups, 3, 3, seed=1)
    want = convolve(x, weight, stride, padding, dilation, groups)
    given = pellucid.tensor(x, requires_grad=True)
    kernel = pellucid.tensor(weight, requires_grad=True)
    y = pellucid.conv2d(given, kernel, None, stride, padding, dilation, groups)
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-12, atol=1e-12)
    cotangent = random(*want.shape, seed=2)
    y.backward(pellucid.tensor(cotangent))
    # The product is linear in each factor: its gradients' inner products are known.
    moved, turned = random(*x.shape, seed=3), random(*weight.shape, seed=4)
    for gradient, move, result in (
        (given.grad, moved, convolve(moved, weight, stride, padding, dilation, groups)),
        (kernel.grad, turned, convolve(x, turned, stride, padding, dilation, groups)),
    ):
        got = (gradient.numpy() * move).sum()
        np.testing.assert_allclose(got, (cotangent * result).sum(), rtol=1e-10)


@pytest.mark.parametrize(
    "equation,shapes",
    [
        ("bij,bkj->bik", [(2, 13, 20), (2, 7, 20)]),
        ("bcij,dcj->bid", [(2, 6, 13, 20), (7, 6, 20)]),
        ("abcd,cdef->afbe", [(2, 6, 3, 20), (3, 20, 5, 4)]),
        ("abc,dba->cd", [(40, 50, 9), (8, 50, 40)]),
        ("i,j->ij", [(5,), (6,)]),
        ("ij,jk->ik", [(3, 0), (0, 4)]),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_einsum_of_two_operands_at_any_strides(equation, shapes, reverse):
    arrays = [random(*shape, seed=k) for k, shape in enumerate(shapes)]
    tensors = [pellucid.tensor(a) for a in arrays]
    if reverse:  # the same values at the strides of a transposed array
        tensors = [
            pellucid.tensor(a.transpose().copy()).permute(*reversed(range(a.ndim)))
            for a in arrays
        ]
    got = pellucid.einsum(equation, *tensors).numpy()
    np.testing.assert_allclose(
        got, np.einsum(equation, *arrays), rtol=1e-11, atol=1e-12
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_convolutions_are_summed_in_float32(dtype):
    half = getattr(pellucid, dtype)
    x = pellucid.tensor(random(1, 40, 9, 9)).to(half)
    weight = pellucid.tensor(random(3, 40, 3, 3, seed=1)).to(half)
    exact = convolve(x.double().numpy(), weight.double().numpy(), 1, 1, 1, 1)
    want = pellucid.tensor(exact).to(half).double().numpy()
    got = pellucid.conv2d(x, weight, None, 1, 1).double().numpy()
    np.testing.assert_allclose(got, want, rtol=2**-7, atol=2e-3)


def test_the_number_of_threads_does_not_change_bits():
    x = pellucid.tensor(random(3, 24, 40, 37), dtype=pellucid.float32)
    weight = pellucid.tensor(random(16, 24, 3, 3, seed=1), dtype=pellucid.float32)
    cotangent = pellucid.tensor(random(3, 16, 40, 37, seed=2), dtype=pellucid.float32)

    def results():
        given, kernel = x.clone().requires_grad_(), weight.clone().requires_grad_()
        y = pellucid.conv2d(given, kernel, None, 1, 1)
        y.backward(cotangent)
        return [t.detach().numpy().tobytes() for t in (y, given.grad, kernel.grad)]

    threads = pellucid.get_num_threads()
    try:
        found = []
        for count in (1, 2, 3):
            pellucid.set_num_threads(count)
            found.append(results())
    finally:
        pellucid.set_num_threads(threads)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("groups", [2, 4])
def test_one_channel_a_group_and_one_place_give_a_row_per_image(groups):
    x, weight = random(3, 2 * groups, 5), random(groups, 2, 5, seed=1)
    made = pellucid.nn.functional.conv1d(
        pellucid.tensor(x), pellucid.tensor(weight), groups=groups
    )
    parts = x.reshape(3, groups, 2, 5)
    np.testing.assert_allclose(
        made.numpy()[..., 0], np.einsum("ngct,gct->ng", parts, weight), rtol=1e-12
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_handler_may_multiply_while_a_product_is_in_progress(threads):
    x = pellucid.tensor(random(8, 32, 30, 30))
    weight = pellucid.tensor(random(32, 32, 3, 3, seed=1))
    other = pellucid.tensor(random(1, 40, 17, 17, seed=2))
    kernel = pellucid.tensor(random(20, 40, 3, 3, seed=3))
    before = pellucid.get_num_threads()
    calls = []

    def multiply(*_):
        calls.append(pellucid.conv2d(other, kernel).numpy().tobytes())

    old = signal.signal(signal.SIGALRM, multiply)
    try:
        pellucid.set_num_threads(threads)
        want = pellucid.conv2d(x, weight, None, 1, 1).numpy().tobytes()
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while len(calls) < 30:
            assert pellucid.conv2d(x, weight, None, 1, 1).numpy().tobytes() == want
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        pellucid.set_num_threads(before)
    assert len(set(calls)) == 1
