"""Complex tensors: making them, taking them apart, arithmetic, gradients."""

import math
import pickle

import numpy as np
import pytest

import pellucid as torch

INF, NAN = float("inf"), float("nan")
DTYPES = [torch.complex64, torch.complex128]


def numbers(*shape, dtype=torch.complex128, seed=0, grad=False):
    generator = torch.Generator().manual_seed(seed)
    result = torch.randn(*shape, dtype=dtype, generator=generator)
    return result.requires_grad_(grad)


# Making, printing, converting


@pytest.mark.parametrize("dtype", DTYPES)
def test_factories_make_complex_tensors(dtype):
    for result, value in [
        (torch.zeros(2, 3, dtype=dtype), 0),
        (torch.ones(2, 3, dtype=dtype), 1),
        (torch.full((2, 3), 1 - 2j, dtype=dtype), 1 - 2j),
        (torch.zeros(2, 3, dtype=dtype).fill_(3j), 3j),
    ]:
        assert result.dtype == dtype and result.tolist() == [[value] * 3] * 2
    assert torch.empty(2, dtype=dtype).dtype == dtype
    assert torch.full((2,), 1j).dtype == torch.complex64
    assert torch.tensor([1 + 2j, 3]).tolist() == [1 + 2j, 3]


def test_random_parts_have_half_the_variance():
    z = torch.randn(4000, dtype=torch.complex64)
    assert abs(z.abs().square().mean().item() - 1) < 0.1
    parts = torch.view_as_real(torch.rand(100, dtype=torch.complex64))
    assert bool(((parts >= 0) & (parts < 1)).all())


def test_parts_make_numbers():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0])
    assert torch.complex(x, y).tolist() == [1 + 3j, 2 - 4j]
    turned = torch.polar(x, torch.zeros(2))
    assert turned.dtype == torch.complex64 and turned.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="one dtype"):
        torch.complex(x, y.double())
    with pytest.raises(RuntimeError, match="float32 or float64"):
        torch.complex(x.long(), y.long())


def test_views_share_memory():
    z = torch.tensor([1 + 2j, 3 + 4j])
    parts = torch.view_as_real(z)
    assert parts.tolist() == [[1, 2], [3, 4]] and parts.dtype == torch.float32
    parts[0, 1] = 7
    z.real = torch.tensor([5.0, 6.0])
    z.imag.mul_(2)
    assert z.tolist() == [5 + 14j, 6 + 8j]
    assert torch.view_as_complex(parts).data_ptr() == z.data_ptr()
    assert torch.view_as_real(z[1:]).tolist() == [[6, 8]]
    assert torch.real(z).tolist() == [5, 6] and torch.imag(z).tolist() == [14, 8]


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (torch.view_as_real, torch.ones(2)),
        (torch.view_as_complex, torch.ones(3)),
        (torch.view_as_complex, torch.ones(2, dtype=torch.int64)),
        (torch.view_as_complex, torch.ones(2, 2).t()),
        (torch.imag, torch.ones(2)),
    ],
)
def test_views_that_memory_does_not_allow_are_refused(function, argument):
    with pytest.raises(RuntimeError):
        function(argument)


def test_a_real_tensor_is_its_own_real_part():
    x = torch.ones(2)
    assert x.real is x and x.conj() is x and torch.real(x) is x


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_numpy_and_pickle(dtype):
    array = np.array([1 + 2j, 3 - 1j], dtype)
    z = torch.from_numpy(array)
    assert (z.numpy() == array).all() and z.numpy().dtype == dtype
    assert pickle.loads(pickle.dumps(z)).tolist() == array.tolist()
    assert z[0].item() == 1 + 2j and complex(z[0]) == 1 + 2j


def test_printing():
    mixed = torch.tensor([1 + 2j, -3.5j])
    assert repr(mixed) == "tensor([1.+2.0000j, -0.-3.5000j])"
    assert repr(torch.tensor([1j], dtype=torch.complex128)) == (
        "tensor([0.+1.j], dtype=torch.complex128)"
    )


def test_conversions():
    z = torch.tensor([1.5 + 2j])
    assert z.to(torch.complex128).dtype == torch.complex128
    assert z.to(torch.float32).tolist() == [1.5] and z.bool().tolist() == [True]
    assert torch.tensor([2]).to(torch.complex64).tolist() == [2]
    assert z.clone().tolist() == z.tolist() and z.is_complex()


# Arithmetic


@pytest.mark.parametrize(
    ("result", "dtype"),
    [
        (lambda: torch.ones(2) * 1j, torch.complex64),
        (lambda: torch.ones(2, dtype=torch.float64) * 1j, torch.complex128),
        (lambda: torch.ones(2, dtype=torch.int64) + 1j, torch.complex64),
        (
            lambda: torch.ones(2) + torch.ones(2, dtype=torch.complex128),
            torch.complex128,
        ),
        (
            lambda: torch.tensor(1j) * torch.ones(2, dtype=torch.float64),
            torch.complex128,
        ),
        (lambda: torch.ones(2, dtype=torch.complex64) * 2.5, torch.complex64),
    ],
)
def test_promotion(result, dtype):
    assert result().dtype == dtype


OPERATIONS = {
    "add": lambda x, y: x + y,
    "sub with alpha": lambda x, y: torch.sub(x, y, alpha=2 - 1j),
    "mul": lambda x, y: x * y,
    "mul by a number": lambda x, y: (2 + 1j) * x - y * 3,
    "mul by reals": lambda x, y: x * y.real,
    "div": lambda x, y: x / y,
    "divide a number": lambda x, y: 1 / x,
    "reciprocal": lambda x, y: x.reciprocal(),
    "neg": lambda x, y: -x,
    "pow": lambda x, y: x**2 + x**-1.5 + y**2j,
    "pow tensor": lambda x, y: x**y,
    "exp": lambda x, y: x.exp(),
    "log": lambda x, y: x.log() + y.log2() + x.log10() + y.log1p(),
    "sqrt": lambda x, y: x.sqrt() + y.rsqrt(),
    "circular": lambda x, y: x.sin() + x.cos() * x.tan(),
    "hyperbolic": lambda x, y: x.sinh() + x.cosh() * x.tanh(),
    "inverse": lambda x, y: x.asin() + x.acos() + x.atan() * y.asinh(),
    "inverse hyperbolic": lambda x, y: x.acosh() + x.atanh(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "conj": lambda x, y: x.conj() * y,
    "abs": lambda x, y: x.abs(),
    "angle": lambda x, y: x.angle(),
    "sgn": lambda x, y: x.sgn(),
    "real": lambda x, y: x.real * y,
    "imag": lambda x, y: x.imag + y.imag,
    "view_as_real": lambda x, y: torch.view_as_real(x) * 2,
    "complex": lambda x, y: torch.complex(x.real, y.real),
    "polar": lambda x, y: torch.polar(x.abs(), y.real),
    "sum": lambda x, y: x.sum(0) + y.mean(1),
    "cumsum": lambda x, y: x.cumsum(0),
    "cumprod": lambda x, y: x.cumprod(1),
    "prod": lambda x, y: x.prod() * y.prod(0, keepdim=True),
    "where": lambda x, y: torch.where(x.real > 0, x, y),
    "matmul": lambda x, y: x @ y,
    "bmm": lambda x, y: torch.stack([x, y]) @ torch.stack([y, x]),
    "linear": lambda x, y: torch.nn.functional.linear(x, y),
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y),
    "dot": lambda x, y: x[0].dot(y[0]) + torch.vdot(x[1], y[1]),
    "cat": lambda x, y: torch.cat([x, y.mH]),
    "index": lambda x, y: x[[0, 2, 0]] * y[1:, :1].sum(),
    "views": lambda x, y: x.t().reshape(-1)[::2].flip(0),
    "index_add": lambda x, y: x.index_add(0, torch.tensor([1, 1, 0]), y),
    "in place": lambda x, y: x.clone().mul_(y).add_(1j),
    "copy": lambda x, y: torch.zeros_like(x).copy_(y.real * x),
    "norm": lambda x, y: torch.linalg.vector_norm(x),
    "power norm": lambda x, y: torch.linalg.vector_norm(x, 2.5, 0),
    "softsign": lambda x, y: torch.nn.functional.softsign(x),
    "conv1d": lambda x, y: torch.nn.functional.conv1d(
        x, y[:, None, :2], groups=3, stride=2, padding=1
    ),
    "conv_transpose1d": lambda x, y: torch.nn.functional.conv_transpose1d(
        x, y[:, None], groups=3, stride=2
    ),
    "logaddexp": lambda x, y: torch.logaddexp(x, y),
    "logcumsumexp": lambda x, y: torch.logcumsumexp(x, 1),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients(name):
    x, y = numbers(3, 3, grad=True), numbers(3, 3, seed=1, grad=True)
    assert torch.autograd.gradcheck(OPERATIONS[name], (x, y))


@pytest.mark.parametrize("name", ["mul", "div", "exp", "abs", "matmul", "sum", "real"])
def test_second_gradients_and_tangents(name):
    x, y = numbers(2, 2, grad=True), numbers(2, 2, seed=1, grad=True)
    assert torch.autograd.gradgradcheck(OPERATIONS[name], (x, y))
    assert torch.autograd.gradcheck(
        OPERATIONS[name], (x, y), check_forward_ad=True, check_batched_grad=True
    )


def test_values_agree_with_numpy():
    x, y = numbers(3, 3), numbers(3, 3, seed=1)
    a, b = x.numpy(), y.numpy()
    for actual, wanted in [
        (x @ y, a @ b),
        (x / y, a / b),
        (x**y, a**b),
        (x.sum(1), a.sum(1)),
        (x.angle(), np.angle(a)),
        (torch.einsum("ij,jk->ki", x, y), (a @ b).T),
        (x.cumsum(0), a.cumsum(0)),
        (torch.vdot(x[0], y[0]), np.vdot(a[0], b[0])),
    ]:
        np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-12)


def test_comparison():
    z = torch.tensor([1 + 2j, 3])
    assert (z == torch.tensor([1 + 2j, 3j])).tolist() == [True, False]
    assert (z != 3).tolist() == [True, False] and z.isreal().tolist() == [False, True]
    assert torch.equal(z, z.clone()) and torch.allclose(z, z + 1e-9)
    assert torch.isnan(torch.tensor([complex("nan"), 1])).tolist() == [True, False]


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z < z,
        lambda z: z.max(),
        lambda z: z.floor(),
        lambda z: z.erf(),
        lambda z: z // z,
        lambda z: z.argmax(),
        lambda z: torch.maximum(z, z),
        lambda z: torch.relu(z),
        lambda z: z.clamp(0, 1),
        lambda z: z.softmax(0),
    ],
)
def test_what_needs_an_order_is_refused(call):
    with pytest.raises((NotImplementedError, RuntimeError)):
        call(torch.tensor([1j, 2.0]))


def test_a_gradient_is_the_direction_of_steepest_growth():
    """``d|z|^2 = 2 z`` in PyTorch's convention."""
    z = torch.tensor([1 + 2j], requires_grad=True)
    z.abs().square().sum().backward()
    assert torch.allclose(z.grad, 2 * z)
    with pytest.raises(RuntimeError, match="real scalar"):
        (z * z).sum().backward()


def test_a_real_operand_has_a_real_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * torch.tensor([1 + 1j, 2j])).abs().sum().backward()
    assert x.grad.dtype == torch.float32


def test_numbers_of_real_ops_are_real():
    with pytest.raises(RuntimeError):
        torch.ones(2).add_(1j)
    with pytest.raises(RuntimeError):
        torch.add(torch.ones(2), torch.ones(2), alpha=1j)


def test_spreads_and_norms_are_real():
    x = torch.tensor([1j, 2 + 1j, 3], requires_grad=True)
    assert torch.var(x).item() == pytest.approx(8 / 3)
    assert torch.linalg.vector_norm(x).item() == pytest.approx(15**0.5)
    torch.linalg.vector_norm(x).backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, x.detach() / 15**0.5)


def test_numbers_without_an_imaginary_part_are_real_numbers():
    assert float(torch.tensor(2 + 0j)) == 2.0 and int(torch.tensor(3 + 0j)) == 3
    for convert in (float, int):
        with pytest.raises(RuntimeError, match="imaginary"):
            convert(torch.tensor(2 + 1j))


REFUSED = r"not implemented for (torch\.)?complex|only supports floating-point dtypes"


@pytest.mark.parametrize(
    "call",
    [
        lambda z: torch.nn.functional.mse_loss(z, z),
        lambda z: torch.nansum(z),
        lambda z: torch.hypot(z, z),
        lambda z: torch.xlogy(z, z),
        lambda z: torch.logit(z),
        lambda z: torch.deg2rad(z),
        lambda z: torch.special.i0(z),
        lambda z: torch.nn.functional.glu(z),
        lambda z: torch.nn.functional.huber_loss(z, z),
        lambda z: torch.nn.functional.nll_loss(z, torch.tensor(1)),
        lambda z: torch.nn.functional.dropout(z),
        lambda z: torch.nn.functional.interpolate(z[None, None], scale_factor=2),
        lambda z: torch.isposinf(z),
        lambda z: torch.cdist(z[None], z[None]),
        lambda z: torch.nn.functional.layer_norm(z, [2]),
        lambda z: torch.nn.functional.group_norm(z[None], 1),
        lambda z: torch.nn.functional.batch_norm(z[:, None], None, None, training=True),
        lambda z: torch.nn.functional.avg_pool1d(z[None], 2),
        lambda z: torch.nn.functional.adaptive_avg_pool1d(z[None], 2),
    ],
)
def test_ops_without_a_complex_form_are_refused(call):
    with pytest.raises(RuntimeError, match=REFUSED):
        call(torch.tensor([1 + 1j, 2]))


def test_replacing_what_is_not_finite():
    z = torch.tensor([complex(float("nan"), 1), complex(2, float("inf"))])
    assert torch.nan_to_num(z, 7.0, 8.0).tolist() == [7 + 1j, 2 + 8j]


def test_logsumexp_is_the_logarithm_of_a_sum():
    z = numbers(3, 4, grad=True)
    actual = torch.logsumexp(z, 1)
    assert torch.allclose(actual.exp(), z.exp().sum(1))
    assert torch.autograd.gradcheck(lambda v: torch.logsumexp(v, 1), z)


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        ("sinh", 1000 + 0j, complex(INF, 0)),
        ("sinh", -1000 + 0j, complex(-INF, 0)),
        ("cosh", -1000 + 0j, complex(INF, 0)),
        ("sinh", complex(0, INF), complex(0, NAN)),
        ("cosh", complex(NAN, 0), complex(NAN, 0)),
        ("sinh", complex(INF, INF), complex(INF, NAN)),
        ("cos", complex(0, 1000), complex(INF, 0)),
    ],
)
def test_functions_of_numbers_on_the_axes_do_not_become_nan(name, number, expected):
    actual = getattr(torch, name)(torch.tensor(number)).item()
    assert repr(actual.real) == repr(expected.real)
    assert abs(actual.imag) == abs(expected.imag) or expected.imag != expected.imag


def test_powers_of_zero():
    exponents = torch.tensor([0, 1, 2, 0.5, 1 + 1j, 1j, -1])
    powers = (torch.zeros(7, dtype=torch.complex64) ** exponents).tolist()
    assert powers[:5] == [1, 0, 0, 0, 0]
    assert powers[5].real != powers[5].real
    assert powers[6].real == INF


def test_sums_of_exponentials_do_not_overflow():
    x, y = torch.tensor([1000 + 3j, -INF]), torch.tensor([1000 + 3j, 1 + 1j])
    actual = torch.logaddexp(x, y)
    assert actual.tolist() == [pytest.approx(1000 + math.log(2) + 3j), 1 + 1j]


def test_powers_in_double_precision_stay_complex():
    z = torch.tensor([1 + 2j])
    assert torch.float_power(z, 2).tolist() == [pytest.approx(-3 + 4j)]
    assert torch.float_power(2.0, z).dtype == torch.complex128
    assert torch.float_power(torch.tensor([2.0]), 1j).dtype == torch.complex128


def test_reflections_are_unitary():
    z = numbers(4, 2)
    v = torch.eye(4, 2).to(z.dtype) + z.tril(-1)
    tau = 2 / (v * v.conj()).real.sum(0)
    q = torch.linalg.householder_product(z, tau.to(z.dtype))
    assert torch.allclose(q.mH @ q, torch.eye(2).to(z.dtype))


def test_covariances_are_hermitian():
    z = numbers(3, 5)
    actual = torch.cov(z)
    expected = torch.from_numpy(np.cov(z.numpy()))
    assert torch.allclose(actual, expected)
    assert torch.allclose(torch.corrcoef(z).abs().diagonal(), torch.ones(3).double())
    assert torch.linalg.svdvals(z).dtype == torch.float64


def test_numbers_between_complex_ones():
    actual = torch.linspace(1j, 2, 3)
    assert actual.dtype == torch.complex64
    assert actual.tolist() == [1j, 1 + 0.5j, 2]
    with pytest.raises(RuntimeError, match="complex"):
        torch.linspace(1j, 2, 3, dtype=torch.float32)


def test_softsign_of_complex_numbers_and_its_gradient():
    z = torch.tensor([1 + 2j, 0.5j, -3 + 0.1j], dtype=torch.complex128)
    assert torch.allclose(torch.nn.functional.softsign(z), z / (1 + z.abs()))
    assert torch.autograd.gradcheck(torch.nn.functional.softsign, z.requires_grad_())


@pytest.mark.parametrize(
    "name", ["addmm", "addmv", "addr", "baddbmm", "addbmm", "addmm_"]
)
def test_products_take_complex_factors(name):
    torch.manual_seed(0)
    matrix = torch.randn(3, 3, dtype=torch.complex128)
    shapes = {"addmv": (matrix, matrix[0]), "addr": (matrix[0], matrix[1])}
    batch = (matrix[None], matrix[None])
    arguments = shapes.get(name, batch if "bmm" in name else (matrix, matrix))
    x = torch.randn_like(matrix[0] if name == "addmv" else matrix)
    x = x[None] if name == "baddbmm" else x
    beta, alpha = 0.5 - 2j, 1.5 + 1j
    plain = getattr(x * 0, name)(*arguments)
    actual = getattr(x.clone(), name)(*arguments, beta=beta, alpha=alpha)
    assert torch.allclose(actual, beta * x + alpha * plain)
    one = getattr(x.clone(), name)(*arguments, beta=1 + 0j, alpha=0j)
    assert torch.allclose(one, x)


def test_factors_of_real_products_are_real():
    x = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="must not be complex"):
        torch.addmm(x, x, x, alpha=1j)


def test_complex_factors_have_gradients():
    x, a, b = (torch.randn(2, 2, dtype=torch.complex128) for _ in range(3))
    inputs = [t.requires_grad_() for t in (x, a, b)]
    assert torch.autograd.gradcheck(
        lambda *t: torch.addmm(*t, beta=2j, alpha=1 - 1j), inputs
    )


def test_complex_numbers_without_an_imaginary_part_fill_real_tensors():
    for dtype in (torch.float32, torch.int64, torch.bool):
        x = torch.zeros(2, dtype=dtype)
        assert x.fill_(1 + 0j).tolist() == torch.ones(2, dtype=dtype).tolist()
    x = torch.zeros(2)
    x[0] = complex(3, 0)
    assert x.tolist() == [3.0, 0.0]
    mask = torch.tensor([True, False])
    assert torch.zeros(2).masked_fill(mask, 2 + 0j).tolist() == [2.0, 0.0]
    with pytest.raises(RuntimeError, match="must be a real number"):
        x.fill_(1 + 1j)
