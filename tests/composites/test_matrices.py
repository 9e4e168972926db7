"""Composites of linear algebra, products, distances and spectra: on Meta they have the
same shapes and dtypes, ``out=`` equals the functions, ``vmap`` a loop, and gradients
finite differences.
"""

import warnings

import numpy as np
import pytest

import pellucid as torch
from pellucid.autograd import gradcheck
from pellucid.testing import assert_close

torch.manual_seed(0)
M = torch.randn(3, 3, dtype=torch.float64) + 3 * torch.eye(3, dtype=torch.float64)
TALL = torch.randn(4, 3, dtype=torch.float64)
POSITIVE = M @ M.mT + torch.eye(3, dtype=torch.float64)
RIGHT = torch.randn(3, 2, dtype=torch.float64)
V, W = torch.randn(3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
SIGNAL = torch.randn(2, 8, dtype=torch.float64)
SPECTRUM = torch.fft.rfft(SIGNAL)
WINDOW = torch.hann_window(4, dtype=torch.float64)
LU, PIVOTS = torch.linalg.lu_factor(M)
LD, ORDER = torch.linalg.ldl_factor(POSITIVE)
BOX = torch.randn(2, 3, 6, dtype=torch.float64)

# name: arguments, positional ones first; words after a name distinguish cases.
CASES = {
    "linalg.cholesky": (POSITIVE, {"upper": True}),
    "linalg.cholesky_ex": (POSITIVE,),
    "linalg.cond": (M,),
    "linalg.cond fro": (M, "fro"),
    "linalg.cross": (TALL, TALL.flip(0)),
    "linalg.det": (M,),
    "linalg.eig": (M,),
    "linalg.eigh": (POSITIVE,),
    "linalg.eigvals": (M,),
    "linalg.eigvalsh": (POSITIVE, "U"),
    "linalg.householder_product": (TALL, V),
    "linalg.inv": (M,),
    "linalg.inv_ex": (M,),
    "linalg.ldl_factor": (POSITIVE,),
    "linalg.ldl_factor_ex": (POSITIVE,),
    "linalg.ldl_solve": (LD, ORDER, RIGHT),
    "linalg.lstsq": (TALL, TALL),
    "linalg.lu": (TALL,),
    "linalg.lu_factor": (M,),
    "linalg.lu_factor_ex": (M,),
    "linalg.lu_solve": (LU, PIVOTS, RIGHT, {"adjoint": True}),
    "linalg.matmul": (TALL, M),
    "linalg.matrix_exp": (M / 4,),
    "linalg.matrix_norm": (TALL,),
    "linalg.matrix_norm nuc": (TALL, "nuc"),
    "linalg.matrix_norm 1": (TALL, 1, (-1, -2), True),
    "linalg.matrix_power": (M, -3),
    "linalg.matrix_power 0": (M, 0),
    "linalg.matrix_rank": (TALL,),
    "linalg.matrix_rank tol": (TALL, 0.5),
    "linalg.multi_dot": ([V, M, RIGHT],),
    "linalg.norm": (TALL,),
    "linalg.norm nuc": (TALL, "nuc"),
    "linalg.norm rows": (TALL, 3, 1),
    "linalg.pinv": (TALL,),
    "linalg.pinv rcond": (TALL, 1e-3),
    "linalg.pinv atol": (TALL, {"atol": V[0].abs() / 1000}),
    "linalg.qr": (TALL,),
    "linalg.slogdet": (M,),
    "linalg.solve": (M, RIGHT),
    "linalg.solve_ex": (M, RIGHT.mT, {"left": False}),
    "linalg.solve_triangular": (M, RIGHT, {"upper": True}),
    "linalg.svd": (TALL, False),
    "linalg.svdvals": (TALL,),
    "linalg.tensorinv": (BOX.reshape(2, 3, 3, 2)[:, :, :, :], 2),
    "linalg.tensorsolve": (M.reshape(3, 3, 1), V),
    "linalg.vecdot": (TALL, TALL.flip(0)),
    "cholesky_inverse": (POSITIVE,),
    "cholesky_solve": (RIGHT, POSITIVE, True),
    "lu_solve": (RIGHT, LU, PIVOTS),
    "lu_unpack": (LU, PIVOTS),
    "ormqr": (TALL, V, TALL),
    "svd": (TALL,),
    "inverse": (M,),
    "matrix_power": (M, 2),
    "inner": (TALL, M),
    "kron": (M, RIGHT),
    "vdot": (V, W),
    "cross": (TALL, TALL.flip(0), 1),
    "dist": (TALL, TALL.flip(0), 3),
    "renorm": (TALL, 2, 0, 1.0),
    "fft.fft": (SIGNAL, 6),
    "fft.ifft": (SIGNAL,),
    "fft.rfft": (SIGNAL, None, 0),
    "fft.irfft": (SPECTRUM,),
    "fft.hfft": (SPECTRUM,),
    "fft.ihfft": (SIGNAL,),
    "fft.fft2": (BOX, (4, 4)),
    "fft.ifft2": (BOX,),
    "fft.rfft2": (BOX,),
    "fft.irfft2": (BOX,),
    "fft.hfft2": (BOX,),
    "fft.ihfft2": (BOX,),
    "fft.fftn": (BOX,),
    "fft.ifftn": (BOX, None, (0, 2), "ortho"),
    "fft.rfftn": (BOX,),
    "fft.irfftn": (BOX,),
    "fft.hfftn": (BOX,),
    "fft.ihfftn": (BOX,),
}
WITHOUT_OUT = {
    "linalg.diagonal": (TALL,),
    "linalg.vander": (V,),
    "adjoint": (TALL,),
    "bilinear": (RIGHT, TALL[:3], BOX.reshape(6, 2, 3)),
    "cdist": (TALL, M, 3.0),
    "cosine_similarity": (TALL, TALL.flip(0)),
    "det": (M,),
    "einsum": ("ij,kj->ik", TALL, M),
    "logdet": (POSITIVE,),
    "matrix_exp": (M / 4,),
    "norm_except_dim": (TALL, 2, 1),
    "pairwise_distance": (TALL, TALL.flip(0)),
    "pdist": (TALL,),
    "pinverse": (TALL,),
    "stft": (SIGNAL, 4, {"window": WINDOW, "return_complex": True}),
    "istft": (torch.stft(SIGNAL, 4, window=WINDOW, return_complex=True), 4),
    "tensordot": (TALL, M, 1),
    "vander": (V, 4, True),
    "fft.fftshift": (SIGNAL,),
    "fft.ifftshift": (BOX, (0, 2)),
}
ALL = CASES | WITHOUT_OUT
# Vectors with a free phase, omitted dims of gradients, piecewise constant values.
NOT_SMOOTH = {
    *("linalg.eig", "linalg.eigh", "linalg.svd", "svd", "linalg.cholesky_ex"),
    *("linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve"),
    *("linalg.matrix_rank", "linalg.matrix_rank tol", "linalg.eigvals"),
    *("linalg.cholesky", "linalg.eigvalsh", "linalg.lstsq", "linalg.lu_solve"),
    *("linalg.lu", "lu_unpack", "lu_solve", "cholesky_solve"),
}
# Cases without a loop over examples: lists of tensors, row orders of a factorization,
# numbers that decide for all examples.
NOT_MAPPED = {"linalg.multi_dot", "einsum"}


def called(name, change=lambda value: value, **options):
    """The function's results, a list, of its arguments changed."""
    place, arguments = torch, list(ALL[name])
    for part in name.split()[0].split("."):
        place = getattr(place, part)
    words = arguments.pop() if isinstance(arguments[-1], dict) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        actual = place(*mapped(change, arguments), **mapped(change, words), **options)
    return list(actual) if isinstance(actual, tuple) else [actual]


def mapped(change, values):
    """The arguments with their tensors changed."""
    if isinstance(values, torch.Tensor):
        return change(values)
    if isinstance(values, dict):
        return {key: mapped(change, value) for key, value in values.items()}
    return [mapped(change, v) for v in values] if isinstance(values, list) else values


@pytest.mark.parametrize("name", ALL)
def test_meta_has_the_same_shapes_and_dtypes(name):
    for real, meta in zip(
        called(name), called(name, lambda t: t.to("meta")), strict=True
    ):
        assert meta.is_meta
        assert (meta.shape, meta.dtype) == (real.shape, real.dtype)


@pytest.mark.parametrize("name", CASES)
def test_out_gives_what_the_function_gives(name):
    known = called(name)
    places = [torch.empty(0, dtype=t.dtype) for t in known]
    actual = called(name, out=tuple(places) if len(places) > 1 else places[0])
    for place, result, value in zip(places, actual, known, strict=True):
        assert result is place
        assert_close(place, value, rtol=0, atol=0)


@pytest.mark.parametrize("name", [n for n in ALL if n not in NOT_MAPPED])
def test_vmap_gives_what_a_loop_gives(name):
    first = next(a for a in ALL[name] if isinstance(a, torch.Tensor))
    batch = torch.stack(
        [first, first * 1.25 if first.dtype.is_floating_point else first]
    )

    def function(x):
        return called(name, lambda t: x if t is first else t)

    looped = [function(x) for x in batch]
    for k, result in enumerate(torch.vmap(function)(batch)):
        for example, expected in zip(result, looped, strict=True):
            assert_close(example, expected[k])


@pytest.mark.parametrize("name", [n for n in ALL if n not in NOT_SMOOTH])
def test_gradients_are_those_of_finite_differences(name):
    tensors = []
    mapped(lambda t: tensors.append(t), [*ALL[name]])
    moving = [t for t in tensors if t.dtype in (torch.float64, torch.complex128)]

    def function(*values):
        def change(t):
            places = [k for k, known in enumerate(moving) if known is t]
            return values[places[0]] if places else t

        return tuple(t for t in called(name, change) if t.requires_grad)

    assert gradcheck(function, [t.clone().requires_grad_() for t in moving])


def test_einsum_takes_every_form_of_operands():
    expected = TALL.numpy() @ M.numpy().T
    for actual in (
        torch.einsum("ij,kj->ik", TALL, M),
        torch.einsum("ij,kj", [TALL, M]),
        torch.einsum(TALL, [0, 1], M, [2, 1], [0, 2]),
        torch.ops.aten.einsum("ij,kj->ik", [TALL, M], path=[0, 1]),
    ):
        np.testing.assert_allclose(actual.numpy(), expected)


def test_a_path_joins_operands_in_its_order():
    a, b, c = torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 5)
    actual = torch.ops.aten.einsum("ij,jk,kl->il", [a, b, c], path=[1, 2, 0, 1])
    assert_close(actual, torch.full((2, 5), 12.0))


@pytest.mark.parametrize("count", [1, 2, 7, 8])
def test_frequencies_are_those_of_numpy(count):
    for name in ("fftfreq", "rfftfreq"):
        actual = getattr(torch.fft, name)(count, 0.25, dtype=torch.float64)
        np.testing.assert_allclose(actual, getattr(np.fft, name)(count, 0.25))
        place = torch.empty(0, dtype=torch.float64)
        assert getattr(torch.fft, name)(count, 0.25, out=place) is place
        np.testing.assert_allclose(place, actual)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "fftn"])
def test_transforms_take_numpys_word_for_dims(name):
    function = getattr(torch.fft, name)
    assert_close(function(SIGNAL, axis=0), function(SIGNAL, dim=0))


@pytest.mark.parametrize("word", ["input", "x", "a", "x1"])
def test_operands_take_numpys_words(word):
    assert_close(torch.add(**{word: V}, x2=W), V + W)


def test_the_gradient_of_the_exponential_is_a_corner_of_one():
    x = (M / 4).requires_grad_()
    torch.linalg.matrix_exp(x).backward(TALL[:3])
    actual = torch.ops.aten.matrix_exp_backward(x.detach(), TALL[:3])
    assert_close(actual, x.grad)


@pytest.mark.parametrize("name", ["mm", "bmm", "addmm", "baddbmm"])
def test_products_of_halves_in_float32_round_once(name):
    rank = 3 if "bmm" in name else 2
    factors = [torch.randn(*(3, 4, 4)[-rank:]).bfloat16() for _ in range(2)]
    arguments = (
        [torch.ones(4, 4), *factors] if name.startswith(("add", "badd")) else factors
    )
    op = getattr(torch.ops.aten, name)
    expected = op(*(t.float() for t in arguments))
    assert_close(op(*arguments, torch.float32), expected, rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="out_dtype"):
        op(*arguments, torch.float64)


def test_no_reflections_leave_a_copy():
    vectors, tau, other = torch.zeros(2, 0), torch.zeros(0), torch.ones(2, 3)
    result = torch.ormqr(vectors, tau, other)
    assert torch.equal(result, other) and result.data_ptr() != other.data_ptr()
    operands = [torch.zeros(0, 5, 5), torch.zeros(0, 5), torch.zeros(0, 5, 5)]
    operands = [t.requires_grad_() for t in operands]
    grads = torch.autograd.grad(
        torch.ormqr(*operands).sum(), operands, allow_unused=True
    )
    assert [g is None for g in grads] == [True, True, False]  # as in PyTorch


def test_cross_products_of_many_vectors_are_those_of_a_few():
    a, b = torch.randn(2, 600, 3, dtype=torch.float64)
    want = torch.cat(list(map(torch.linalg.cross, a.split(100), b.split(100))))
    assert torch.equal(torch.linalg.cross(a, b), want)
