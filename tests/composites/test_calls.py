"""Calls that PyTorch refuses, and results that it returns, by cause: dtypes that do not
promote, bools in differences, weights of observations, unbounded degrees, results that
are not views.
"""

import math

import pytest

import pellucid as torch

FLOATS = torch.tensor([1.0, 2.0, 3.0])
INTEGERS = torch.arange(3)
MASK = torch.tensor([True, False, True])


@pytest.mark.parametrize(
    "call",
    [
        lambda: FLOATS - True,
        lambda: True - FLOATS,
        lambda: FLOATS - MASK,
        lambda: MASK - 1.5,
        lambda: FLOATS.clone().sub_(MASK),
        lambda: torch.rsub(INTEGERS, MASK),
        lambda: torch.dist(FLOATS, MASK),
    ],
)
def test_a_difference_with_a_bool_is_refused(call):
    with pytest.raises(RuntimeError, match="bools"):
        call()


def test_the_same_call_with_an_integer_is_computed_before_and_after_a_refusal():
    for _ in range(3):
        assert (FLOATS - 1).tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(RuntimeError, match="bools"):
            FLOATS - True


@pytest.mark.parametrize(
    "call",
    [
        lambda: FLOATS.lerp(FLOATS.double(), 0.5),
        lambda: FLOATS.lerp(torch.tensor(1.0, dtype=torch.float64), FLOATS),
        lambda: FLOATS.heaviside(FLOATS.double()),
        lambda: (FLOATS + 0j).heaviside(FLOATS + 0j),
        lambda: torch.linalg.vecdot(FLOATS, FLOATS.double()),
    ],
)
def test_operands_that_do_not_promote_have_one_dtype(call):
    with pytest.raises(RuntimeError):
        call()


def test_lerp_has_the_dtype_of_its_ends():
    weight = torch.tensor(0.25, dtype=torch.float64)
    actual = FLOATS.lerp(FLOATS + 4, weight)
    assert actual.dtype == torch.float32
    assert actual.tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int64])
def test_a_norm_of_real_numbers_has_a_real_dtype(dtype):
    with pytest.raises(RuntimeError, match="vector_norm"):
        torch.linalg.vector_norm(FLOATS, dtype=dtype)


def test_integers_have_no_norm():
    with pytest.raises(RuntimeError, match="matrix_norm"):
        torch.linalg.matrix_norm(torch.ones(2, 2, dtype=torch.int64), dtype=torch.float)


def test_norms_over_all_dims_but_the_only_one_are_magnitudes():
    v = torch.tensor([-1.0, 2.0], requires_grad=True)
    assert torch.norm_except_dim(v, 2, 0).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "weights",
    [
        {"aweights": INTEGERS},
        {"aweights": -FLOATS},
        {"fweights": FLOATS},
        {"fweights": MASK},
        {"fweights": -INTEGERS},
        {"fweights": INTEGERS[:2]},
        {"fweights": INTEGERS.expand(3, 3)},
    ],
)
def test_weights_of_observations_are_checked(weights):
    with pytest.raises(RuntimeError, match="cov"):
        torch.cov(FLOATS, **weights)


def test_frequencies_of_observations_repeat_them():
    repeated = torch.tensor([2.0, 3.0, 3.0])
    assert torch.allclose(torch.cov(FLOATS, fweights=INTEGERS), torch.cov(repeated))


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.isin(MASK, 1),
        lambda: torch.isin(FLOATS, True),
        lambda: torch.isin(FLOATS, 1j),
        lambda: torch.fft.fftfreq(4, dtype=torch.int64),
        lambda: FLOATS.tensor_split(MASK),
        lambda: torch.ones(2, 3).unflatten(1, [1, 1, 1]),
        lambda: torch.cosine_similarity(INTEGERS, INTEGERS, 0),
        lambda: torch.nn.functional.soft_margin_loss(FLOATS, torch.ones(2, 3)),
        lambda: INTEGERS.clone().polygamma_(2),
    ],
)
def test_runtime_errors(call):
    with pytest.raises(RuntimeError):
        call()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("name", ["chebyshev_polynomial_t", "hermite_polynomial_h"])
def test_polynomials_are_of_float32_and_float64(name, dtype):
    with pytest.raises(NotImplementedError):
        getattr(torch.special, name)(FLOATS.to(dtype), 2)


@pytest.mark.parametrize("name", ["zeta", "xlog1py", "gammainc", "gammaincc"])
def test_special_functions_are_of_real_numbers(name):
    with pytest.raises(NotImplementedError):
        getattr(torch.special, name)(FLOATS + 0j, FLOATS + 0j)


def test_indices_of_triangles_are_integers():
    with pytest.raises(NotImplementedError):
        torch.tril_indices(2, 2, dtype=torch.uint8)
    assert torch.triu_indices(2, 2, dtype=torch.int32).dtype == torch.int32


# cos(n t), sin((n + 1) t) / sin(t), and so on, for x = cos(t).
CLOSED = {
    "t": lambda n, t: math.cos(n * t),
    "u": lambda n, t: math.sin((n + 1) * t) / math.sin(t),
    "v": lambda n, t: math.cos((n + 0.5) * t) / math.cos(t / 2),
    "w": lambda n, t: math.sin((n + 0.5) * t) / math.sin(t / 2),
}
AT_ONE = {"t": 1.0, "u": 101.0, "v": 1.0, "w": 201.0}
AT_MINUS_ONE = {"t": 1.0, "u": 101.0, "v": 201.0, "w": 1.0}


@pytest.mark.parametrize("kind", CLOSED)
@pytest.mark.parametrize("degree", [3, 63, 64, 65, 100])
def test_polynomials_of_chebyshev_by_recurrence_and_by_angle_agree(kind, degree):
    x = torch.tensor([-0.7, 0.1, 0.9], dtype=torch.float64)
    wanted = [CLOSED[kind](degree, math.acos(v)) for v in x.tolist()]
    plain = getattr(torch.special, f"chebyshev_polynomial_{kind}")
    shifted = getattr(torch.special, f"shifted_chebyshev_polynomial_{kind}")
    assert plain(x, degree).tolist() == pytest.approx(wanted, abs=1e-11)
    assert shifted((x + 1) / 2, degree).tolist() == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("kind", CLOSED)
def test_polynomials_of_high_degree_at_the_ends_of_the_interval(kind):
    ends = torch.tensor([1.0, -1.0], dtype=torch.float64)
    actual = getattr(torch.special, f"chebyshev_polynomial_{kind}")(ends, 100)
    assert actual.tolist() == [AT_ONE[kind], AT_MINUS_ONE[kind]]


def test_polynomials_of_huge_degrees_end():
    x = torch.tensor([0.5, 2.0])
    actual = torch.special.chebyshev_polynomial_t(x, 10**15)
    assert abs(actual[0].item()) <= 1
    assert not math.isfinite(actual[1].item())


def test_a_composite_gives_no_view_of_what_it_computed():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for actual in (*torch.mode(x), *torch.gradient(x), torch.kron(x, x)):
        assert not actual._is_view()
    assert not torch.bucketize(2.5, FLOATS)._is_view()


def test_what_shares_memory_with_an_argument_stays_a_view():
    x = torch.ones(2, 1)
    for actual in torch.broadcast_tensors(x, torch.ones(2, 3)):
        assert actual._is_view() == (actual.data_ptr() == x.data_ptr())


def test_writes_to_a_result_that_was_a_view_inside_are_recorded():
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    (slope,) = torch.gradient(x)
    slope.mul_(3)
    slope[0].sum().backward()
    assert x.grad.tolist() == [-3.0, 3.0, 0.0]


def test_conj_physical_of_real_numbers_is_the_tensor_itself():
    assert torch.conj_physical(FLOATS) is FLOATS
    numbers = torch.tensor([1 + 2j], requires_grad=True)
    actual = torch.conj_physical(numbers)
    assert actual.tolist() == [1 - 2j]
    assert actual.data_ptr() != numbers.data_ptr()
    assert torch.conj_physical_(numbers.detach().clone()).tolist() == [1 - 2j]


def test_clamp_promotes_bounds_that_are_tensors():
    half = torch.tensor(1.0, dtype=torch.float16)
    assert half.clamp(torch.tensor(0.5)).dtype == torch.float32
    assert half.clamp_max(torch.tensor(0.5)).dtype == torch.float32
    assert half.clamp(0.5).dtype == torch.float16


def test_dtypes_of_results():
    assert torch.gcd(INTEGERS, MASK).dtype == torch.int64
    assert torch.unravel_index(torch.tensor([3], dtype=torch.int32), (2, 2))[0].tolist()
    assert torch.unravel_index(INTEGERS.int(), (2, 2))[0].dtype == torch.int64
    assert torch.nansum(FLOATS, dtype=torch.bool).tolist() is True
    assert torch.ldexp(FLOATS, torch.tensor([1j, 0, 0])).dtype == torch.complex64
    assert torch.addr(INTEGERS, FLOATS, INTEGERS).dtype == torch.float32
    assert torch.nextafter(INTEGERS, FLOATS).dtype == torch.float32
    assert torch.igamma(INTEGERS + 1, FLOATS).dtype == torch.float32


def test_no_difference_is_the_operand_without_what_is_joined():
    assert torch.diff(FLOATS, n=0, append=FLOATS).tolist() == FLOATS.tolist()


def test_deprecated_flags_of_losses_may_be_numbers():
    with pytest.warns(UserWarning, match="deprecated"):
        summed = torch.nn.functional.l1_loss(FLOATS, FLOATS + 1, 0)
    assert summed.item() == 3
    with pytest.warns(UserWarning, match="deprecated"):
        plain = torch.nn.functional.mse_loss(FLOATS, FLOATS + 1, reduce=0)
    assert plain.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_repeats_are_summed_in_float32(dtype):
    x = torch.ones(2, 3, dtype=dtype, requires_grad=True)
    for repeated in (x.repeat(4, 2), x.tile(4, 2), x.repeat(40, 50)):
        (grad,) = torch.autograd.grad(repeated.sum() * 0.5, x)
        assert grad.dtype is dtype
        assert grad.eq(repeated.numel() / 6 * 0.5).all()


def test_conj_physical_of_a_leaf_is_a_write_even_if_nothing_changes():
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch.ones(2, requires_grad=True).conj_physical_()


def test_alpha_follows_a_number():
    x = torch.tensor([1.0, 2.0])
    assert x.sub(0.5, 2).tolist() == [0, 1]
    assert torch.add(x, 0.5, 2).tolist() == [2, 3]
    assert torch.rsub(x, 1, 2).tolist() == [-1, -3]
    with pytest.raises(TypeError):
        x.sub(x, 2)


def test_fill_takes_a_single_element_of_any_dtype():
    assert torch.zeros(2).fill_(torch.tensor(1 + 2j)).tolist() == [1, 1]
    assert torch.zeros(1, dtype=torch.int64).fill_(torch.tensor(2.7)).tolist() == [2]


def test_a_number_in_place_of_a_tensor_is_freed_like_one():
    x = torch.ones(2, requires_grad=True)
    loss = (x * 2).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    total = (x + 2).sum()
    total.backward()
    total.backward()


def test_flips_of_narrow_elements():
    for dtype, width in ((torch.int8, 700), (torch.bfloat16, 300), (torch.bool, 1500)):
        x = (torch.arange(5 * width).reshape(5, width) % 3).to(dtype)
        expected = [row[::-1] for row in x.tolist()]
        assert x.flip(1).tolist() == expected
        assert x.flip(0, 1).tolist() == expected[::-1]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: torch.ones(1, 1, 2).squeeze([1, -2]), RuntimeError, "twice"),
        (lambda: torch.gradient(FLOATS, dim=[1]), IndexError, "out of range"),
        (lambda: torch.histogram(FLOATS, torch.ones(1)), RuntimeError, "two or more"),
        (lambda: torch.pdist(torch.ones(3, 2) + 0j), RuntimeError, "floating"),
        (lambda: torch.linalg.norm(torch.tensor(2.0), -1), RuntimeError, "0 dims"),
        (lambda: torch.cdist(*FLOATS.new_ones(2, 1, 3), 2.0, None), ValueError, "None"),
        (
            lambda: torch.ctc_loss(
                torch.zeros(5, 2, 4), torch.ones(2, 2).long(), [5], [1, 1]
            ),
            RuntimeError,
            "1 elements for a batch of 2",
        ),
        (
            lambda: torch.embedding_renorm_(
                torch.ones(4, 3, requires_grad=True), INTEGERS, 0.5, 2.0
            ),
            RuntimeError,
            "leaf",
        ),
    ],
)
def test_a_call_that_means_nothing_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()
    assert torch.ones(1, 1, 2).squeeze([]).shape == (1, 1, 2)
