"""Sums of products over several axes: convolutions, batched products, any strides."""

import itertools
import signal
import subprocess
import sys

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
    own, inputs = weight.shape[0] // groups, weight.shape[1]
    for g, i, j in itertools.product(range(groups), *map(range, taps)):
        rows = slice(i * dilation, i * dilation + stride * (size[0] - 1) + 1, stride)
        columns = slice(j * dilation, j * dilation + stride * (size[1] - 1) + 1, stride)
        window = x[:, g * inputs : (g + 1) * inputs, rows, columns]
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
    inputs = pellucid.tensor(x, requires_grad=True)
    kernel = pellucid.tensor(weight, requires_grad=True)
    y = pellucid.conv2d(inputs, kernel, None, stride, padding, dilation, groups)
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-12, atol=1e-12)
    cotangent = random(*want.shape, seed=2)
    y.backward(pellucid.tensor(cotangent))
    # The product is linear in each factor: its gradients' inner products are known.
    moved, turned = random(*x.shape, seed=3), random(*weight.shape, seed=4)
    for gradient, move, result in (
        (
            inputs.grad,
            moved,
            convolve(moved, weight, stride, padding, dilation, groups),
        ),
        (kernel.grad, turned, convolve(x, turned, stride, padding, dilation, groups)),
    ):
        got = (gradient.numpy() * move).sum()
        np.testing.assert_allclose(got, (cotangent * result).sum(), rtol=1e-10)


SHAPES = {
    "images of few places": ((5, 40, 7, 6), (30, 40, 3, 3), 1, 1, 1),
    "two channels a group": ((3, 12, 9, 21), (24, 2, 3, 3), 1, 1, 6),
    "deep": ((2, 300, 6, 5), (40, 300, 2, 3), 1, 0, 1),
    "every other place": ((2, 30, 13, 35), (20, 30, 3, 1), 2, 1, 1),
    "one place, every other": ((3, 20, 9, 9), (70, 20, 1, 1), 2, 0, 1),
    "blocks of one image": ((3, 31, 33, 37), (20, 31, 3, 3), 1, 1, 1),
    "blocks of small images": ((40, 16, 7, 9), (17, 16, 3, 3), 1, 1, 1),
    "blocks of every other place": ((6, 32, 40, 29), (20, 32, 4, 4), 2, 1, 1),
    "few channels": ((3, 20, 17, 30), (12, 20, 3, 3), 1, 1, 1),
    "few channels, some rows at a time": ((2, 16, 70, 61), (9, 16, 3, 5), 1, 2, 1),
    "few channels of each group": ((1, 32, 15, 30), (24, 16, 3, 3), 1, 1, 2),
    "long rows": ((1, 3, 4, 600), (16, 3, 1, 5), 1, 2, 1),
    "a channel each": ((2, 5, 18, 37), (5, 1, 5, 2), 1, 2, 5),
    "a channel each, every other place": ((2, 5, 18, 37), (5, 1, 5, 2), 2, 2, 5),
    "a channel each, every third": ((2, 5, 18, 17), (5, 1, 2, 3), 3, 0, 5),
    "a channel each, padded, every other": ((2, 5, 18, 36), (5, 1, 5, 3), 2, 1, 5),
    "a channel each, one column wide": ((2, 5, 24, 1), (5, 1, 5, 5), 1, 2, 5),
    "a large channel each": ((1, 2, 190, 190), (2, 1, 3, 3), 1, 1, 2),
    "two channels for one, every other": ((2, 10, 9, 12), (5, 2, 3, 3), 2, 1, 5),
    "tiles of some rows": ((2, 33, 30, 35), (18, 33, 3, 3), 1, 1, 1),
    "tiles of several images": ((20, 16, 8, 7), (40, 16, 3, 3), 1, 1, 1),
    "tiles of groups without padding": ((3, 32, 17, 24), (40, 16, 3, 3), 1, 0, 2),
    "tiles of parts of a row": ((2, 16, 4, 900), (20, 16, 3, 3), 1, 1, 1),
    "tiles of one small image": ((1, 40, 15, 12), (130, 40, 3, 3), 1, 1, 1),
    "one channel for all": ((3, 9, 11, 40), (1, 9, 3, 3), 1, 1, 1),
    "long sums for a small gradient": ((9, 3, 40, 40), (8, 3, 3, 3), 1, 1, 1),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", ["contiguous_format", "channels_last"])
def test_convolutions_of_every_form_with_a_bias_on_any_number_of_threads(shape, layout):
    size, taps, stride, padding, groups = SHAPES[shape]
    x, weight, bias = random(*size), random(*taps, seed=1), random(taps[0], seed=2)
    want = convolve(x, weight, stride, padding, 1, groups)
    cotangent = random(*want.shape, seed=3)
    moved, turned = random(*size, seed=4), random(*taps, seed=5)
    format = getattr(pellucid, layout)

    def results():
        inputs = pellucid.tensor(x).contiguous(memory_format=format).requires_grad_()
        kernel = pellucid.tensor(weight, requires_grad=True)
        added = pellucid.tensor(bias)
        y = pellucid.conv2d(inputs, kernel, added, stride, padding, 1, groups)
        y.backward(pellucid.tensor(cotangent))
        return [t.detach().numpy() for t in (y, inputs.grad, kernel.grad)]

    threads = pellucid.get_num_threads()
    try:
        actual = []
        for count in (1, 2, 3, 8):
            pellucid.set_num_threads(count)
            actual.append(results())
    finally:
        pellucid.set_num_threads(threads)
    y, from_x, from_weight = actual[0]
    np.testing.assert_allclose(y, want + bias[:, None, None], rtol=1e-11, atol=1e-11)
    for gradient, move, result in (
        (from_x, moved, convolve(moved, weight, stride, padding, 1, groups)),
        (from_weight, turned, convolve(x, turned, stride, padding, 1, groups)),
    ):
        got = (gradient * move).sum()
        np.testing.assert_allclose(got, (cotangent * result).sum(), rtol=1e-9)
    for others in actual[1:]:
        for one, other in zip(actual[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_long_depth_is_cut_in_the_same_places_on_any_number_of_threads():
    a, b = random(20, 20000), random(20000, 31, seed=1)
    threads = pellucid.get_num_threads()
    try:
        actual = []
        for count in (1, 2, 3, 8):
            pellucid.set_num_threads(count)
            actual.append((pellucid.tensor(a) @ pellucid.tensor(b)).numpy())
    finally:
        pellucid.set_num_threads(threads)
    np.testing.assert_allclose(actual[0], a @ b, rtol=1e-10, atol=1e-10)
    for other in actual[1:]:
        np.testing.assert_array_equal(actual[0], other)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("rows", [64, 200])
def test_a_deep_product_is_the_sum_of_what_its_rounds_add(dtype, rows):
    values = np.random.default_rng(0).integers(-1, 2, (5000, rows + 70)).astype(float)
    a, b = values[:, :rows], values[:, rows:]
    factors = [pellucid.tensor(v).to(getattr(pellucid, dtype)) for v in (a, b)]
    want = pellucid.tensor(a.T @ b).to(pellucid.int64).to(factors[0].dtype)
    assert pellucid.equal(factors[0].t() @ factors[1], want)
    out = pellucid.empty(70, rows, dtype=want.dtype).t()
    assert pellucid.equal(pellucid.mm(factors[0].t(), factors[1], out=out), want)
    bias = pellucid.arange(70).to(want.dtype)
    if dtype == "float32":
        linear = pellucid.nn.functional.linear(factors[0].t(), factors[1].t(), bias)
        assert pellucid.equal(linear, want + bias)


DEEP_PRODUCT = """
import pellucid
a, b = pellucid.ones(1 << 15, 64), pellucid.ones(1 << 15, 72)
before = pellucid._C._memory_statistics()["reserved_bytes"]
assert (a.t() @ b == 1 << 15).all()
print(pellucid._C._memory_statistics()["reserved_bytes"] - before)
"""


def test_a_deep_product_copies_little_of_its_operands_at_a_time():
    done = subprocess.run(
        [sys.executable, "-c", DEEP_PRODUCT], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 4 << 20  # operands of 8 and 9 MiB


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("transposed", [False, True])
def test_large_products_of_every_dtype(dtype, transposed):
    values = np.random.default_rng(0).integers(-4, 5, (2, 170, 450)).astype(float)
    a, b = (pellucid.tensor(v).to(getattr(pellucid, dtype)) for v in values)
    b = b.t() if transposed else b.reshape(450, 170)
    exact = values[0] @ (values[1].T if transposed else values[1].reshape(450, 170))
    want = pellucid.tensor(exact).to(pellucid.int64).to(a.dtype)
    np.testing.assert_array_equal((a @ b).double().numpy(), want.double().numpy())
    out = pellucid.empty(170, 170, dtype=a.dtype).t()
    pellucid.mm(a, b, out=out)
    np.testing.assert_array_equal(out.double().numpy(), want.double().numpy())


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
        inputs, kernel = x.clone().requires_grad_(), weight.clone().requires_grad_()
        y = pellucid.conv2d(inputs, kernel, None, 1, 1)
        y.backward(cotangent)
        return [t.detach().numpy().tobytes() for t in (y, inputs.grad, kernel.grad)]

    threads = pellucid.get_num_threads()
    try:
        actual = []
        for count in (1, 2, 3):
            pellucid.set_num_threads(count)
            actual.append(results())
    finally:
        pellucid.set_num_threads(threads)
    assert actual[0] == actual[1] == actual[2]


@pytest.mark.parametrize("rows", [5, 12, 13, 16, 31, 33, 64, 127, 128])
@pytest.mark.parametrize("columns", [97, 384, 600])
def test_gemm_with_small_m_reads_a_weight_in_place(rows, columns):
    x, weight, bias = random(rows, 150), random(columns, 150, seed=1), random(columns)
    want = x @ weight.T + bias
    threads = pellucid.get_num_threads()
    for dtype, tolerance in ((pellucid.float64, 1e-12), (pellucid.float32, 1e-4)):
        arguments = [pellucid.tensor(v, dtype=dtype) for v in (x, weight, bias)]
        results = []
        try:
            for number in (1, 2):
                pellucid.set_num_threads(number)
                results.append(pellucid.nn.functional.linear(*arguments).numpy())
        finally:
            pellucid.set_num_threads(threads)
        np.testing.assert_array_equal(*results)
        np.testing.assert_allclose(results[0], want, rtol=tolerance, atol=tolerance)
        wide = pellucid.full((rows, columns + 3), 7.0, dtype=dtype)
        wide[:, 1:-2] = 1.0
        wide[:, 1:-2].addmm_(arguments[0], arguments[1].t(), beta=0)
        np.testing.assert_allclose(
            wide[:, 1:-2].numpy(), want - bias, rtol=tolerance, atol=tolerance
        )
        assert (wide[:, 0] == 7).all() and (wide[:, -2:] == 7).all()


@pytest.mark.parametrize("groups", [2, 4])
def test_one_channel_a_group_and_one_place_give_a_row_per_image(groups):
    x, weight = random(3, 2 * groups, 5), random(groups, 2, 5, seed=1)
    result = pellucid.nn.functional.conv1d(
        pellucid.tensor(x), pellucid.tensor(weight), groups=groups
    )
    parts = x.reshape(3, groups, 2, 5)
    np.testing.assert_allclose(
        result.numpy()[..., 0], np.einsum("ngct,gct->ng", parts, weight), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [pellucid.float32, pellucid.float64])
def test_contiguous_channels_that_one_tap_scales(dtype):
    x, weight = random(2, 40, 8), random(8, 1, 1, seed=1)
    result = pellucid.nn.functional.conv1d(
        pellucid.tensor(x, dtype=dtype).permute(0, 2, 1),
        pellucid.tensor(weight, dtype=dtype),
        groups=8,
    )
    np.testing.assert_allclose(
        result.numpy(), x.transpose(0, 2, 1) * weight[:, 0], rtol=1e-6
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
        while len(calls) < 30:
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            assert pellucid.conv2d(x, weight, None, 1, 1).numpy().tobytes() == want
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        pellucid.set_num_threads(before)
    assert len(set(calls)) == 1


def test_gradients_of_transposed_factors_have_their_strides():
    x, weight = pellucid.randn(3, 5, 6), pellucid.randn(4, 6, requires_grad=True)
    y = pellucid.nn.functional.linear(x, weight)
    (grad,) = pellucid.autograd.grad(y.sum(), weight)
    assert grad.stride() == weight.stride()
    np.testing.assert_allclose(grad[0], x.sum((0, 1)), rtol=1e-5)


def test_rows_of_many_lengths_are_copied_in_any_order_of_axes():
    x = pellucid.arange(2 * 7 * 3 * 4 * 32).view(2, 7, 3, 4, 32)
    for order in itertools.permutations(range(4)):
        moved = x.permute(*order, 4)
        want = np.ascontiguousarray(x.numpy().transpose(*order, 4))
        assert np.array_equal(moved.contiguous().numpy(), want)


# (images, channels, size, results, taps, padding): windows that are contiguous in the
# image or not, of one image or of several, longer and shorter than a vector.
PADDED = {
    "as large as the image": (2, 5, (28, 28), 9, (3, 3), (1, 1)),
    "several small images": (9, 6, (7, 7), 20, (3, 3), (1, 1)),
    "smaller than the image": (3, 4, (20, 19), 7, (5, 5), (1, 1)),
    "larger than the image": (3, 4, (9, 21), 7, (3, 3), (2, 2)),
    "one dim": (3, 4, (17, 30), 7, (1, 3), (0, 1)),
    "very narrow": (8, 3, (40, 3), 7, (3, 3), (1, 1)),
    "many taps": (2, 3, (24, 24), 5, (17, 17), (8, 8)),
    "nothing but padding between": (2, 3, (6, 6), 4, (3, 3), (5, 5)),
    "one result": (2, 3, (12, 12), 1, (3, 3), (1, 1)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", PADDED)
def test_padding_is_read_as_zeros(case, dtype):
    count, channels, size, results, taps, padding = PADDED[case]
    x = random(count, channels, *size).astype(dtype)
    weight = random(results, channels, *taps, seed=1).astype(dtype)
    bias = random(results, seed=2).astype(dtype)
    around = [(0, 0), (0, 0), *((p, p) for p in padding)]
    tensors = [pellucid.tensor(a) for a in (x, np.pad(x, around), weight, bias)]
    image, wide, kernel, shift = (t.requires_grad_() for t in tensors)
    got = pellucid.conv2d(image, kernel, shift, padding=padding)
    want = pellucid.conv2d(wide, kernel, shift)
    close = {"rtol": 1e-4, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-11}
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), **close)
    cotangent = pellucid.tensor(random(*got.shape, seed=3).astype(dtype))
    gradients = pellucid.autograd.grad(got, [image, kernel], cotangent)
    expected = pellucid.autograd.grad(want, [wide, kernel], cotangent)
    inside = tuple(
        slice(b, n - a) for n, (b, a) in zip(wide.shape, around, strict=True)
    )
    wanted = [expected[0].numpy()[inside], expected[1].numpy()]
    for actual, known in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(actual.numpy(), known, **close)


@pytest.mark.parametrize("dims", [1, 3])
def test_padding_of_other_ranks_is_read_as_zeros(dims):
    x, weight = random(3, 4, *(9, 8, 10)[:dims]), random(5, 4, *(3,) * dims, seed=1)
    convolution = getattr(pellucid, f"conv{dims}d")
    wide = np.pad(x, [(0, 0), (0, 0), *((1, 1),) * dims])
    got = convolution(pellucid.tensor(x), pellucid.tensor(weight), padding=1)
    want = convolution(pellucid.tensor(wide), pellucid.tensor(weight))
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-11)


# The same for convolutions computed by tiles of the image (``winograd.h``).
TILED = {"x": (3, 20, 19, 26), "weight": (24, 20, 3, 3)}


def test_tiles_of_views_and_flipped_filters():
    x, weight = random(3, 40, 23, 30), random(20, 24, 3, 3, seed=1)
    image, kernel = pellucid.tensor(x), pellucid.tensor(weight)
    view, turned = image[:, 1::2, 2:21, 3:29], kernel.transpose(0, 1).flip(3)
    want = convolve(
        x[:, 1::2, 2:21, 3:29], weight.swapaxes(0, 1)[..., ::-1], 1, 1, 1, 1
    )
    got = pellucid.conv2d(view, turned, padding=1)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-11, atol=1e-11)
    strided = pellucid.tensor(np.asfortranarray(weight)).permute(1, 0, 2, 3)
    want = convolve(x[:, ::2], weight.swapaxes(0, 1), 1, 0, 1, 1)
    got = pellucid.conv2d(image[:, ::2], strided)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("padding", [0, 1, 2])
def test_tiles_of_transposed_convolutions(padding):
    x, weight = random(4, 20, 15, 18), random(20, 24, 3, 3, seed=1)
    got = pellucid.conv_transpose2d(
        pellucid.tensor(x), pellucid.tensor(weight), padding=padding
    )
    flipped = weight.swapaxes(0, 1)[..., ::-1, ::-1]
    want = convolve(x, flipped, 1, 2 - padding, 1, 1)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("size", [(1, 1), (2, 1), (2, 2)])
def test_transposed_convolutions_of_images_smaller_than_windows(size, padding, stride):
    """Sums over the positions of the image, as in the first layer of a generator."""
    x, weight = random(3, 8, *size), random(8, 5, 5, 6, seed=1)
    extents = [(n - 1) * stride + t for n, t in zip(size, (5, 6), strict=True)]
    want = np.zeros((3, 5, *extents))
    for i, j in itertools.product(*map(range, size)):
        rows, columns = i * stride, j * stride
        part = np.einsum("nc,coab->noab", x[:, :, i, j], weight)
        want[:, :, rows : rows + 5, columns : columns + 6] += part
    want = want[:, :, padding : extents[0] - padding, padding : extents[1] - padding]
    image = pellucid.tensor(x, requires_grad=True)
    kernel = pellucid.tensor(weight, requires_grad=True)
    got = pellucid.conv_transpose2d(image, kernel, None, stride, padding)
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-11, atol=1e-11)
    cotangent = pellucid.tensor(random(*want.shape, seed=2))
    got.backward(cotangent)
    for factor in (image, kernel):  # the product is linear in each
        got_sum = (factor.grad * factor.detach()).sum().item()
        np.testing.assert_allclose(got_sum, (cotangent.numpy() * want).sum())


@pytest.mark.parametrize("stride", [(2, 1), (1, 3)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 2)])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 3)])
def test_transposed_convolutions_of_two_strides(stride, padding, dilation):
    """Gathered along the dim of stride 1, scattered along the other."""
    x, weight = random(2, 6, 5, 7), random(6, 4, 3, 2, seed=1)
    x[1, 2, 3, 3] = np.inf
    places, taps = x.shape[2:], weight.shape[2:]
    extents = [
        (n - 1) * s + e * (t - 1) + 1
        for n, s, e, t in zip(places, stride, dilation, taps, strict=True)
    ]
    want = np.zeros((2, 4, *extents))
    for i, j, k, m in itertools.product(*map(range, (*places, *taps))):
        row, column = i * stride[0] + k * dilation[0], j * stride[1] + m * dilation[1]
        part = x[:, :, i, j, None] * weight[:, :, k, m]
        want[:, :, row, column] += part.sum(1)
    (top, left), (height, width) = padding, extents
    want = want[:, :, top : height - top, left : width - left]
    got = pellucid.conv_transpose2d(
        pellucid.tensor(x),
        pellucid.tensor(weight),
        None,
        stride,
        padding,
        0,
        1,
        dilation,
    )
    assert 0 < (~np.isfinite(want)).sum() <= 4 * 6
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_in_its_windows_and_has_its_sign(value):
    x = random(*TILED["x"]).astype(np.float32)
    weight = np.abs(random(*TILED["weight"], seed=1)).astype(np.float32)
    x[1, 3, 8, 9] = x[0, 0, 0, 0] = x[2, 19, 18, 25] = value
    image, kernel = pellucid.tensor(x, requires_grad=True), pellucid.tensor(weight)
    got = pellucid.conv2d(image, kernel, padding=1)
    want = convolve(x.astype(float), weight, 1, 1, 1, 1)
    assert (~np.isfinite(want)).sum() == weight.shape[0] * (9 + 4 + 4)
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-4, atol=1e-4)
    cotangent = random(*got.shape, seed=2).astype(np.float32)
    cotangent[1, 4, 6, 7] = value
    got.backward(pellucid.tensor(cotangent))
    flipped = weight.swapaxes(0, 1)[..., ::-1, ::-1]
    want = convolve(cotangent.astype(float), flipped, 1, 1, 1, 1)
    np.testing.assert_allclose(image.grad.numpy(), want, rtol=1e-4, atol=1e-4)
    x[1, 3, 8, 9] = x[2, 19, 18, 25] = 1  # the remaining corner meets four taps
    cotangent[1, 4, 6, 7] = 0
    padded = np.pad(x.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    want = np.einsum("ncpqab,nopq->ocab", windows, cotangent)
    assert (~np.isfinite(want)).sum() == weight.shape[0] * 4
    image, kernel = pellucid.tensor(x), pellucid.tensor(weight, requires_grad=True)
    y = pellucid.conv2d(image, kernel, padding=1)
    y.backward(pellucid.tensor(cotangent))
    np.testing.assert_allclose(kernel.grad.numpy(), want, rtol=1e-4, atol=1e-3)


def test_numbers_whose_tiles_overflow():
    x, weight = np.full(TILED["x"], 3e38, np.float32), np.zeros(TILED["weight"])
    weight[:, 0, 1, 1] = 0.5
    got = pellucid.conv2d(pellucid.tensor(x), pellucid.tensor(weight).float())
    np.testing.assert_array_equal(got.numpy(), np.float32(1.5e38))


@pytest.mark.parametrize("channels", [32, 64, 256])
def test_tiles_are_as_accurate_as_sums_of_some_channels_at_a_time(channels):
    """The bound is the error of adding float32 sums of 144 terms each."""
    x = random(2, channels, 20, 20).astype(np.float32)
    weight = random(32, channels, 3, 3, seed=1).astype(np.float32)
    want = convolve(x.astype(float), weight.astype(float), 1, 1, 1, 1)
    got = pellucid.conv2d(pellucid.tensor(x), pellucid.tensor(weight), padding=1)
    error = np.abs(got.numpy() - want).mean() / np.abs(want).mean()
    assert error < 2.4e-7


def test_integers_come_out_exactly_where_sums_are_small():
    """Tiles hold sums of four elements and quarters of sums of nine taps: products and
    sums of 20 bits fit into 24 bits."""
    x = np.random.default_rng(0).integers(-50, 50, TILED["x"]).astype(np.float32)
    weight = np.random.default_rng(1).integers(-9, 9, TILED["weight"])
    got = pellucid.conv2d(pellucid.tensor(x), pellucid.tensor(weight).float())
    want = convolve(x.astype(float), weight.astype(float), 1, 0, 1, 1)
    np.testing.assert_array_equal(got.numpy(), want)


def test_taps_that_are_zero_hide_what_they_meet():
    x, weight = random(*TILED["x"]), random(*TILED["weight"], seed=1)
    weight[:, :, 2] = weight[:, :, 1, 2] = 0
    other = x.copy()
    other[:, :, 9:] *= 1e6
    inputs = [pellucid.tensor(a).float() for a in (x, other, weight)]
    y, changed = (pellucid.conv2d(image, inputs[2], padding=1) for image in inputs[:2])
    np.testing.assert_array_equal(y[:, :, :9].numpy(), changed[:, :, :9].numpy())
    assert not np.array_equal(y[:, :, 9].numpy(), changed[:, :, 9].numpy())
    identity = pellucid.zeros(20, 20, 3, 3)
    identity[range(20), range(20), 1, 1] = 1
    got = pellucid.conv2d(inputs[1], identity, padding=1)
    np.testing.assert_array_equal(got.numpy(), inputs[1].numpy())


def test_planes_beyond_the_image_that_no_axis_moves_along():
    """A stride over the only plane leaves dims of size 1 before it and behind."""
    x, weight = random(8, 16, 1, 20, 20), random(16, 16, 1, 3, 3, seed=1)
    image = pellucid.tensor(x, requires_grad=True)
    kernel = pellucid.tensor(weight, requires_grad=True)
    y = pellucid.conv3d(image, kernel, None, (3, 1, 1), (1, 1, 1))
    y.backward(pellucid.tensor(random(*y.shape, seed=2)))
    for t in (y, image.grad, kernel.grad):
        assert not t.detach().numpy().any()


def test_memory_around_a_padded_view_is_not_read():
    whole = np.full((2, 3, 14, 15), np.nan)
    inside = whole[:, :, 2:12, 3:11]
    inside[...] = random(*inside.shape)
    weight = random(40, 3, 3, 3, seed=1)
    view = pellucid.tensor(whole)[:, :, 2:12, 3:11]
    got = pellucid.conv2d(view, pellucid.tensor(weight), padding=1)
    want = convolve(inside, weight, 1, 1, 1, 1)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)
