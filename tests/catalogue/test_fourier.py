"""Fourier transforms: values against NumPy, derivatives, arguments."""

import numpy
import pytest

import pellucid as torch
from pellucid.autograd import gradcheck, gradgradcheck


def numbers(*shape, is_complex=False, requires_grad=False):
    torch.manual_seed(sum(shape))
    x = torch.randn(*shape, dtype=torch.float64)
    if is_complex:
        x = torch.complex(x, torch.randn(*shape, dtype=torch.float64))
    return x.requires_grad_(requires_grad)


def agrees(actual, expected):
    assert actual.shape == expected.shape
    assert numpy.allclose(actual.detach().resolve_conj().numpy(), expected)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 7])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension_agrees_with_numpy(name, n, norm):
    x = numbers(3, 5, is_complex=name not in ("rfft", "ihfft"))
    actual = getattr(torch.fft, name)(x, n, 1, norm)
    agrees(actual, getattr(numpy.fft, name)(x.numpy(), n, 1, norm))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize(("s", "dim"), [(None, (2, 0)), ((3, 6), (1, 2))])
def test_several_dimensions_agree_with_numpy(name, s, dim):
    x = numbers(3, 4, 5, is_complex=name != "rfftn")
    agrees(getattr(torch.fft, name)(x, s, dim), getattr(numpy.fft, name)(x, s, dim))


def test_hermitian_transforms_invert_each_other():
    x = numbers(3, 4, 6)
    half = torch.fft.ihfftn(x)
    assert half.shape == (3, 4, 4)
    assert torch.allclose(torch.fft.hfftn(half, x.shape), x)


@pytest.mark.parametrize(
    "transform",
    [
        lambda z: torch.fft.fft(z, 4),
        lambda z: torch.fft.ifftn(z, norm="ortho"),
        lambda z: torch.fft.irfft2(z, (3, 5)),
        lambda z: torch.fft.irfft(z, norm="forward"),
        lambda z: torch.fft.hfftn(z),
    ],
)
def test_gradients_of_complex_tensors(transform):
    z = numbers(3, 4, is_complex=True, requires_grad=True)
    assert gradcheck(transform, z)
    assert gradgradcheck(transform, z)


@pytest.mark.parametrize(
    "transform",
    [
        lambda x: torch.fft.rfft(x),
        lambda x: torch.fft.rfftn(x, (4, 5), norm="forward"),
        lambda x: torch.fft.fft2(x),
        lambda x: torch.fft.ihfft(x),
        lambda x: torch.stft(x, 4, 2, window=torch.hann_window(4), return_complex=True),
    ],
)
def test_gradients_of_real_tensors(transform):
    x = numbers(3, 8, requires_grad=True)
    assert gradcheck(transform, x, check_forward_ad=True)
    assert gradgradcheck(transform, x)


def test_batches_agree_with_a_loop():
    x = numbers(4, 3, 6)
    actual = torch.func.vmap(torch.fft.rfft2)(x)
    assert torch.allclose(actual, torch.fft.rfft2(x))


def test_frequencies_and_shifts():
    assert torch.fft.fftfreq(5, 0.5).tolist() == pytest.approx(
        [0, 0.4, 0.8, -0.8, -0.4]
    )
    assert torch.fft.rfftfreq(4).tolist() == [0, 0.25, 0.5]
    x = torch.arange(5)
    assert torch.fft.fftshift(x).tolist() == [3, 4, 0, 1, 2]
    assert torch.equal(torch.fft.ifftshift(torch.fft.fftshift(x)), x)


def test_dtypes():
    assert torch.fft.fft(torch.ones(4)).dtype == torch.complex64
    assert torch.fft.fft(torch.arange(4)).dtype == torch.complex64
    assert torch.fft.irfft(numbers(4, is_complex=True)).dtype == torch.float64


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: torch.fft.rfft(torch.ones(3, dtype=torch.complex64)), RuntimeError),
        (lambda: torch.fft.fft(torch.ones(3), norm="whole"), RuntimeError),
        (lambda: torch.fft.fft(torch.ones(3), 0), RuntimeError),
        (lambda: torch.fft.fft(torch.ones(3), dim=1), IndexError),
        (lambda: torch.fft.fftn(torch.ones(3, 3), dim=(0, 0)), RuntimeError),
        (lambda: torch.fft.fft2(torch.ones(3, 3), s=(1,)), RuntimeError),
        (lambda: torch.stft(torch.ones(9), 4), RuntimeError),
        (
            lambda: torch.stft(
                torch.ones(2), 40, window=torch.ones(40), return_complex=True
            ),
            RuntimeError,
        ),
    ],
)
def test_mistakes(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("onesided", [True, False])
def test_a_signal_comes_back_from_its_spectra(onesided):
    x = numbers(2, 50)
    window = torch.hann_window(16, dtype=torch.float64)
    spectra = torch.stft(
        x, 16, 4, window=window, onesided=onesided, return_complex=True
    )
    assert spectra.shape == (2, 9 if onesided else 16, 13)
    back = torch.istft(
        spectra, 16, 4, window=window, onesided=onesided, length=x.size(1)
    )
    assert torch.allclose(back, x)


# Products of small primes, primes that become convolutions, and lines so long that each
# is computed as a matrix; few lines, many, and lines that are not contiguous.
LENGTHS = (1, 2, 3, 8, 11, 13, 17, 30, 64, 77, 97, 127, 256, 1000, 1009, 4096, 10007)
LAYOUTS = (((), -1), ((3,), -1), ((19,), -1), ((3,), 0), ((17,), 0), ((2, 9), 1))


@pytest.mark.parametrize("n", LENGTHS)
def test_every_length_and_layout_agrees_with_numpy(n):
    generator = numpy.random.default_rng(n)
    for others, dim in LAYOUTS:
        shape = list(others)
        shape.insert(dim % (len(others) + 1), n)
        parts = generator.normal(size=(2, *shape))
        z = parts[0] + 1j * parts[1]
        for name in ("fft", "ifft"):
            expected = getattr(numpy.fft, name)(z, axis=dim)
            close(getattr(torch.fft, name)(torch.tensor(z), dim=dim), expected)
        spectrum = numpy.fft.rfft(parts[0], axis=dim)
        close(torch.fft.rfft(torch.tensor(parts[0]), dim=dim), spectrum)
        back = torch.fft.irfft(torch.tensor(spectrum), n, dim)
        close(back, parts[0])


def close(actual, expected):
    assert actual.shape == expected.shape
    error = numpy.abs(actual.numpy() - expected).max()
    assert error < 1e-13 * max(1.0, numpy.abs(expected).max())


def test_single_precision_is_computed_in_single_precision_without_losing_more():
    z = numpy.random.default_rng(0).normal(size=(2, 3, 1009)).astype("complex64")
    actual = torch.fft.fft(torch.tensor(z))
    assert actual.dtype is torch.complex64
    expected = numpy.fft.fft(z.astype("complex128"))
    error = numpy.abs(actual.numpy() - expected).max()
    assert error < 1e-6 * numpy.abs(expected).max()


def test_the_imaginary_parts_of_real_frequencies_are_not_read():
    half = torch.tensor([1 + 9j, 2 + 1j, 3 - 5j], dtype=torch.complex128)
    without = torch.tensor([1, 2 + 1j, 3], dtype=torch.complex128)
    assert torch.equal(torch.fft.irfft(half, 4), torch.fft.irfft(without, 4))


@pytest.mark.parametrize("dims", [[4], [1, 4], [-5], [4, 5, 1]])
def test_dims_that_a_tensor_lacks_are_refused(dims):
    x = torch.ones(2, 1, 2, 4)
    for call in (
        lambda: torch.ops.aten._fft_r2c(x, dims, 1, True),
        lambda: torch.ops.aten._fft_c2c(x + 0j, dims, 1, True),
        lambda: torch.ops.aten._fft_c2r(x + 0j, [*dims, 3], 1, 6),
    ):
        with pytest.raises(IndexError, match="Dimension out of range"):
            call()


def test_a_tensor_without_dims_has_none_to_transform_along():
    with pytest.raises(RuntimeError, match="needs a tensor with dims"):
        torch.ops.aten._fft_c2c(torch.tensor(1j), [0], 0, True)


# Powers of two and other smooth lengths; primes one above a smooth length (17, 101,
# 1009: Rader) and others (47, 263: Bluestein); a product with a large prime (94).
LENGTHS = (2, 16, 17, 47, 60, 94, 101, 128, 263, 1009, 1024, 4001)


@pytest.mark.parametrize("lines", [1, 7, 8, 19])
@pytest.mark.parametrize("length", LENGTHS)
def test_every_length_along_either_dim(length, lines):
    rows = numbers(lines, length, is_complex=True)
    for x, dim in ((rows, 1), (rows.t().contiguous(), 0)):
        for name in ("fft", "ifft"):
            actual = getattr(torch.fft, name)(x, dim=dim)
            agrees(actual, getattr(numpy.fft, name)(x.numpy(), axis=dim))
        reals = x.real.contiguous()
        half = numpy.fft.rfft(reals.numpy(), axis=dim)
        agrees(torch.fft.rfft(reals, dim=dim), half)
        agrees(torch.fft.irfft(torch.tensor(half), length, dim=dim), reals.numpy())


@pytest.mark.parametrize("length", [128, 1009, 1024])
def test_float32_errors_are_a_few_roundings(length):
    x = numbers(16, length, is_complex=True).to(torch.complex64)
    expected = numpy.fft.fft(x.numpy().astype("complex128"))
    error = numpy.abs(torch.fft.fft(x).numpy() - expected).max()
    assert error < 6e-7 * numpy.abs(expected).max()


@pytest.mark.parametrize("norm", ["backward", "ortho"])
def test_a_line_has_the_same_bits_alone_and_among_others(norm):
    for length in range(2, 34):  # longer ones alone are split into a matrix
        z = numbers(9, length, is_complex=True).to(torch.complex64)
        for name, x in (("fft", z), ("rfft", z.real.contiguous())):
            function = getattr(torch.fft, name)
            alone = torch.stack([function(line, norm=norm) for line in x])
            assert torch.equal(function(x, norm=norm), alone), (name, length)
