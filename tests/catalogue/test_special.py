"""Special functions, windows and polynomials at tabulated values."""

import math

import pytest

import pellucid as torch
from pellucid.testing import assert_close

VALUES = [  # Abramowitz and Stegun
    ("bessel_j0", 1.0, 0.765197686557967),
    ("bessel_j1", 12.0, -0.223447104490628),
    ("bessel_y0", 1.0, 0.088256964215677),
    ("bessel_y1", 20.0, -0.165511614362521),
    ("modified_bessel_i1", 2.0, 1.59063685463733),
    ("modified_bessel_k0", 1.0, 0.421024438240708),
    ("scaled_modified_bessel_k1", 4.0, 0.681575945185671),
    ("i0e", -30.0, 0.0731459464822373),
    ("airy_ai", 1.0, 0.135292416312881),
    ("airy_ai", -6.0, -0.329145173628993),
    ("erfcx", 10.0, 0.0561409927438226),
    ("ndtri", 0.975, 1.95996398454005),
    ("ndtri", 1e-12, -7.03448382530113),
    ("log_ndtr", -20.0, -203.917155370971),
    ("entr", 2.0, -1.38629436111989),
]


@pytest.mark.parametrize(("name", "x", "wanted"), VALUES)
def test_functions_agree_with_tables(name, x, wanted):
    actual = getattr(torch.special, name)(torch.tensor(x, dtype=torch.float64))
    assert float(actual) == pytest.approx(wanted, rel=1e-12)


def test_zeta_and_its_relatives():
    two = torch.tensor(2.0, dtype=torch.float64)
    assert float(torch.special.zeta(two, 1.0)) == pytest.approx(math.pi**2 / 6)
    assert float(torch.polygamma(1, two)) == pytest.approx(math.pi**2 / 6 - 1)
    below = torch.tensor(-0.5, dtype=torch.float64)
    assert float(torch.polygamma(1, below)) == pytest.approx(math.pi**2 / 2 + 4)


def test_polygamma_of_orders_whose_factorial_overflows_is_infinite():
    half = torch.tensor(0.5, dtype=torch.float64)
    assert float(torch.polygamma(171, half)) == math.inf
    assert float(torch.polygamma(2**62, half)) == -math.inf


AT_INFINITY = [  # at infinity and minus infinity, in PyTorch
    (torch.special.bessel_j0, math.nan, math.nan),
    (torch.special.bessel_j1, math.nan, math.nan),
    (torch.special.bessel_y0, math.nan, math.nan),
    (lambda x: torch.special.zeta(3.0, x), math.nan, math.inf),
    (lambda x: torch.polygamma(1, x), 0.0, math.nan),
    (lambda x: torch.polygamma(2, x), math.nan, -math.inf),
    (lambda x: torch.polygamma(3, x), math.nan, math.inf),
]


@pytest.mark.parametrize(("function", "above", "below"), AT_INFINITY)
def test_functions_at_infinity(function, above, below):
    actual = function(torch.tensor([math.inf, -math.inf])).tolist()
    assert actual == pytest.approx([above, below], nan_ok=True)


def test_slope_of_acosh_is_finite_below_minus_one():
    x = torch.tensor([-math.inf, -2.0, 0.5, 2.0, math.inf], requires_grad=True)
    x.acosh().sum().backward()
    slope = 3**-0.5
    wanted = [0.0, slope, math.nan, slope, 0.0]
    assert x.grad.tolist() == pytest.approx(wanted, nan_ok=True)


def test_incomplete_gamma_of_one_is_the_exponential():
    x = torch.tensor([0.1, 2.0, 30.0], dtype=torch.float64)
    one = torch.ones_like(x)
    assert_close(torch.igamma(one, x), 1 - (-x).exp())
    assert_close(torch.igammac(one, x), (-x).exp(), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "erfcx", "ndtr", "log_ndtr"])
def test_gradients_agree_with_differences(name):
    x = torch.tensor([-2.0, -0.3, 0.0, 1.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(torch.special, name), (x,))


def test_polynomials_keep_a_degree_for_each_element():
    x = torch.tensor([0.5, 0.5, 0.5, 0.5])
    degrees = torch.tensor([-1, 0, 1, 3])
    actual = torch.special.chebyshev_polynomial_t(x, degrees)
    assert_close(actual, torch.tensor([0.0, 1.0, 0.5, -1.0]))
    assert float(torch.special.legendre_polynomial_p(x[0], 2)) == -0.125


def test_windows():
    assert_close(torch.signal.windows.hann(5), torch.tensor([0.0, 0.5, 1.0, 0.5, 0.0]))
    periodic = torch.hann_window(4)
    assert_close(periodic, torch.tensor([0.0, 0.5, 1.0, 0.5]))


def test_divisors_and_parts_of_floats():
    a, b = torch.tensor([12, -4, 0]), torch.tensor([18, 6, 0])
    assert torch.gcd(a, b).tolist() == [6, 2, 0]
    assert torch.lcm(a, b).tolist() == [36, 12, 0]
    mantissa, exponent = torch.frexp(torch.tensor([6.0, -0.3, 0.0, 1e-40]))
    assert_close(torch.ldexp(mantissa, exponent)[:3], torch.tensor([6.0, -0.3, 0.0]))
    assert exponent.dtype is torch.int32
    assert float(mantissa[3].abs()) < 1


def test_copies_of_views_have_memory_of_their_own():
    x = torch.arange(6.0).reshape(2, 3)
    for copy in (torch.t_copy(x), torch.view_copy(x, [3, 2]), torch.alias_copy(x)):
        assert copy.data_ptr() != x.data_ptr()
    assert torch.select_scatter(x, torch.zeros(3), 0, 1).tolist() == [
        [0.0, 1.0, 2.0],
        [0.0, 0.0, 0.0],
    ]
    assert x[1, 0] == 3


def test_masked_reductions_leave_elements_out():
    x = torch.tensor([[1.0, 5.0], [3.0, 4.0]])
    mask = torch.tensor([[True, False], [True, True]])
    assert torch.masked.sum(x, 1, mask=mask).tolist() == [1.0, 7.0]
    assert torch.masked.amax(x, 0, mask=mask).tolist() == [3.0, 4.0]
    assert torch.masked.mean(x, 1, mask=mask).tolist() == [1.0, 3.5]
    assert torch.masked.softmax(x, 1, mask=mask)[0].tolist() == [1.0, 0.0]


def test_incomplete_gamma_functions_that_converge_slowly_add_up():
    a, x = torch.rand(200) * 20, torch.rand(200) * 40
    assert_close(torch.igamma(a, x) + torch.igammac(a, x), torch.ones(200))


@pytest.mark.parametrize("name", ["igamma", "igammac", "special.zeta"])
def test_a_derivative_that_no_formula_gives_raises_in_backward(name):
    function = torch.special.zeta if "zeta" in name else getattr(torch, name)
    first = torch.full((2,), 2.0, requires_grad=True)
    second = torch.ones(2, requires_grad=True)
    function(first.detach(), second).sum().backward()
    assert second.grad.isfinite().all() and second.grad.abs().min() > 0
    y = function(first, second)
    assert y.requires_grad
    with pytest.raises(NotImplementedError, match="derivative for"):
        y.sum().backward()


def test_polygamma_at_infinity():
    ends = torch.tensor([math.inf, -math.inf, math.nan])
    assert torch.polygamma(1, ends).isnan().tolist() == [False, True, True]
    assert torch.polygamma(1, ends)[0].item() == 0
