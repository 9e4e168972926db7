"""Composites of elements, orders and statistics: values equal NumPy's, ``out=`` forms
equal the functions, Meta has the same shapes and dtypes, and gradients equal finite
differences.
"""

import math

import numpy as np
import pytest

import pellucid as torch
from pellucid.autograd import gradcheck
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid_compiler.composites import sampling

X = torch.tensor([[0.5, -1.0, 2.0, 0.25], [3.0, 1.5, -0.75, 2.5]], dtype=torch.float64)
Y = torch.tensor([[1.5, 2.0, -1.0, 0.5], [0.5, -2.5, 1.25, 3.0]], dtype=torch.float64)
HOLES = torch.tensor([[1.0, math.nan, 3.0], [4.0, 5.0, 6.5]], dtype=torch.float64)
ROW = torch.tensor([0.0, 1.0, 2.5, 4.0], dtype=torch.float64)
COUNTS = torch.tensor([3, 0, 1, 3, 3, 7])
ENDS = torch.tensor([1.0, math.inf, -math.inf, math.nan])
PAIR = torch.tensor([1 + 2j, 3 + 0j])


def most_frequent(x):
    """(the most frequent element of each row, the last place that holds it)."""
    actual = [max(sorted(set(row)), key=list(row).count) for row in x]
    places = [
        len(row) - 1 - list(row[::-1]).index(v)
        for row, v in zip(x, actual, strict=True)
    ]
    return np.array(actual), np.array(places)


# name: (arguments, NumPy's results, whether there is an out= form)
CASES = {
    "isposinf": ((ENDS,), np.isposinf, True),
    "isneginf": ((ENDS,), np.isneginf, True),
    "isreal": ((PAIR,), np.isreal, False),
    "positive": ((X,), np.positive, False),
    "float_power": ((COUNTS, 2), np.float_power, True),
    "ldexp": ((X, COUNTS[:4]), np.ldexp, True),
    "diff": ((X, 2), np.diff, True),
    "trapezoid": ((X, ROW), np.trapezoid, False),
    "trapz": ((X,), np.trapezoid, False),
    "nanmean": ((HOLES, 1), np.nanmean, True),
    "quantile": ((X, 0.3, 1), np.quantile, True),
    "nanquantile": ((HOLES, 0.3, 1), np.nanquantile, True),
    "mode": ((COUNTS.reshape(2, 3) % 3,), most_frequent, True),
    "cov": ((X,), np.cov, False),
    "corrcoef": ((X,), np.corrcoef, False),
    "histc": ((X, 4, -1, 3), lambda x, n, a, b: np.histogram(x, n, (a, b))[0], True),
    "histogram": ((X, 4), lambda x, n: np.histogram(x, n), True),
    "bincount": ((COUNTS,), np.bincount, False),
    "searchsorted": ((ROW, X), lambda r, x: np.searchsorted(r, x), True),
    "bucketize": ((X, ROW), lambda x, r: np.digitize(x, r, right=True), True),
    "isin": ((COUNTS, COUNTS[:2]), np.isin, True),
}
READS_VALUES = ("histc", "histogram", "bincount")
SMOOTH = (
    *("positive", "diff", "trapezoid", "trapz", "quantile"),
    *("cov", "corrcoef", "ldexp"),
)


def mapped(change, arguments):
    return tuple(change(a) if isinstance(a, torch.Tensor) else a for a in arguments)


def parts(results):
    return list(results) if isinstance(results, tuple) else [results]


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_numpy(name):
    arguments, numpy_function, _ = CASES[name]
    expected = numpy_function(*mapped(torch.Tensor.numpy, arguments))
    for actual, known in zip(
        parts(getattr(torch, name)(*arguments)), parts(expected), strict=True
    ):
        np.testing.assert_allclose(actual.numpy(), known, rtol=1e-12)


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case[2]])
def test_out_forms_give_the_results_of_functions(name):
    arguments, _, _ = CASES[name]
    expected = parts(getattr(torch, name)(*arguments))
    targets = [torch.empty(0, dtype=t.dtype) for t in expected]
    actual = getattr(torch, name)(
        *arguments, out=targets[0] if len(targets) == 1 else tuple(targets)
    )
    for result, target, known in zip(parts(actual), targets, expected, strict=True):
        assert result is target
        assert torch.equal(torch.nan_to_num(target), torch.nan_to_num(known))


@pytest.mark.parametrize("name", [n for n in CASES if n not in READS_VALUES])
def test_meta_has_the_shapes_and_dtypes(name):
    arguments, _, _ = CASES[name]
    expected = parts(getattr(torch, name)(*arguments))
    moved = mapped(lambda t: t.to("meta"), arguments)
    for actual, known in zip(
        parts(getattr(torch, name)(*moved)), expected, strict=True
    ):
        assert actual.is_meta
        assert (actual.shape, actual.dtype) == (known.shape, known.dtype)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_those_of_differences(name):
    first, *rest = CASES[name][0]
    x = first.clone().requires_grad_()
    assert gradcheck(lambda x: getattr(torch, name)(x, *rest), (x,))


def test_quantiles_under_vmap():
    actual = torch.vmap(lambda row: torch.quantile(row, 0.3))(X)
    assert torch.equal(actual, torch.quantile(X, 0.3, 1))


# Numbers, dtypes and other results that are not tensors


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("item", (torch.tensor(2.5),), 2.5),
        ("item", (torch.tensor(2**40),), 2**40),
        ("item", (torch.tensor(1 + 2j),), 1 + 2j),
        ("Bool", (torch.tensor(3),), True),
        ("Int", (torch.tensor(2.5),), 2),
        ("Float", (torch.tensor(2),), 2.0),
        ("Complex", (torch.tensor(2), torch.tensor(3.0)), 2 + 3j),
        ("is_nonzero", (torch.tensor([0.0]),), False),
        ("is_complex", (PAIR,), True),
        ("is_conj", (PAIR,), False),
        ("equal", (X, X.clone()), True),
        ("allclose", (X, X + 1e-9), True),
        ("result_type", (COUNTS, 1.0), torch.float32),
    ],
)
def test_results_that_are_not_tensors(name, arguments, expected):
    actual = getattr(torch.ops.aten, name)(*arguments)
    assert type(actual) is type(expected)
    assert actual == expected


def test_a_kernel_in_python_must_return_what_its_schema_says():
    library = torch.library.Library("elements_test", "DEF")
    library.define("length(Tensor x) -> int")
    library.impl("length", lambda x: "four", "CPU")
    with pytest.raises(TypeError, match="must return int, not str"):
        torch.ops.elements_test.length(X)


# Overloads for numbers


@pytest.mark.parametrize(
    "name", ["add", "mul", "div", "remainder", "eq", "bitwise_and"]
)
def test_overloads_for_numbers(name):
    packet = getattr(torch.ops.aten, name)
    expected = packet.Tensor(COUNTS, torch.tensor(3))
    assert torch.equal(packet.Scalar(COUNTS, 3), expected)
    out = torch.empty(0, dtype=expected.dtype)
    assert packet.Scalar_out(COUNTS, 3, out=out) is out
    assert torch.equal(out, expected)
    written = COUNTS.to(expected.dtype, copy=True)
    expected = packet.Scalar(written, 3)
    assert getattr(torch.ops.aten, f"{name}_").Scalar(written, 3) is written
    assert torch.equal(written, expected.to(written.dtype))


def test_a_number_comes_first():
    aten = torch.ops.aten
    assert torch.equal(aten.remainder.Scalar_Tensor(7, COUNTS + 1), 7 % (COUNTS + 1))
    assert torch.equal(aten.bitwise_xor.Scalar_Tensor(5, COUNTS), COUNTS ^ 5)
    actual = aten.where.ScalarSelf(COUNTS > 2, 1.5, X.flatten()[:6])
    assert actual.dtype is torch.float64
    assert actual[0] == 1.5


def test_numbers_do_not_widen_tensors():
    x = torch.ones(2, dtype=torch.float32)
    assert torch.ops.aten.xlogy.Scalar_Self(2.5, x).dtype is torch.float32
    assert torch.special.zeta(2.0, x).dtype is torch.float32
    assert torch.special.hermite_polynomial_h(2.0, x).dtype is torch.float32


@pytest.mark.parametrize("n", [0, 1, 4])
def test_polynomials_are_those_of_numpy(n):
    points = ROW / 4
    cosine = np.cos(n * np.arccos(points.numpy()))
    np.testing.assert_allclose(
        torch.special.chebyshev_polynomial_t(points, n).numpy(), cosine, atol=1e-12
    )
    one = [0] * n + [1]
    for name, series in {
        "hermite_polynomial_h": np.polynomial.hermite.hermval,
        "hermite_polynomial_he": np.polynomial.hermite_e.hermeval,
        "laguerre_polynomial_l": np.polynomial.laguerre.lagval,
        "legendre_polynomial_p": np.polynomial.legendre.legval,
    }.items():
        actual = getattr(torch.special, name)(points, torch.tensor(n))
        np.testing.assert_allclose(
            actual.numpy(), series(points.numpy(), one), atol=1e-12
        )


def test_second_names_in_special():
    for name, known in {
        "expit": "sigmoid",
        "psi": "digamma",
        "gammaln": "lgamma",
    }.items():
        actual = getattr(torch.special, name)(X)
        np.testing.assert_array_equal(actual.numpy(), getattr(torch, known)(X).numpy())
        assert hasattr(torch.ops.aten, f"special_{name}")
        assert not hasattr(torch.special, f"{name}_")


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
def test_segments_reduce_as_slices_do(reduce):
    x = torch.arange(10.0, dtype=torch.float64).reshape(5, 2) - 3
    lengths = [2, 0, 3]
    actual = torch.segment_reduce(x, reduce, lengths=torch.tensor(lengths), initial=2.0)
    whole = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    for row, part in zip(actual, x.split(lengths), strict=True):
        first = x.new_full((1, 2), 2.0)
        if reduce == "mean":
            expected = (part.sum(0) + 2) / max(part.shape[0], 1)
        else:
            expected = getattr(torch.cat((first, part)), whole)(0)
        assert torch.allclose(row, expected)
    offsets = torch.tensor([0, 2, 2, 5])
    again = torch.segment_reduce(x, reduce, offsets=offsets, initial=2.0)
    assert torch.equal(again, actual)
    x.requires_grad_()
    assert gradcheck(
        lambda x: torch.segment_reduce(x, reduce, offsets=offsets, initial=2.0), x
    )


def test_results_with_named_fields_under_vmap():
    actual = torch.vmap(lambda row: torch.max(row, 0))(X)
    assert type(actual) is type(torch.max(X, 1))
    assert torch.equal(actual.values, X.amax(1))


def test_tensors_without_dims_are_not_numbers():
    one = torch.tensor(1, dtype=torch.int32)
    assert torch.result_type(one, one) is torch.int32
    meta = torch.ones((), device="meta")
    assert torch.special.laguerre_polynomial_l(meta, meta).is_meta
    assert torch.quantile(torch.ones(3, device="meta"), meta).is_meta
    assert torch.float_power(meta, meta).is_meta


def test_consecutive_elements_of_nothing():
    actual, counts = torch.unique_consecutive(torch.empty(0), return_counts=True)
    assert actual.shape == counts.shape == (0,)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64])
def test_places_in_rows_of_every_length(dtype):
    generator = np.random.default_rng(0)
    for length in (0, 1, 2, 3, 7, 8, 100):
        row = np.sort(generator.integers(0, 50, length))
        values = generator.integers(-1, 52, 21)
        for right, side in ((False, "left"), (True, "right")):
            arguments = torch.tensor(row).to(dtype), torch.tensor(values).to(dtype)
            actual = torch.searchsorted(*arguments, right=right)
            assert actual.tolist() == np.searchsorted(row, values, side).tolist()


def test_nan_is_placed_behind_every_number():
    row = torch.tensor([1.0, 2.0, float("nan")])
    values = torch.tensor([1.5, 9.0, float("nan")])
    assert torch.searchsorted(row, values).tolist() == [1, 2, 3]
    assert torch.searchsorted(row, values, right=True).tolist() == [1, 2, 3]


def test_rows_that_do_not_broadcast_to_the_values_are_refused():
    for rows, values in (((0, 3), (7, 2)), ((2, 17, 2), (4, 5)), ((), (3,))):
        with pytest.raises(RuntimeError, match="_searchsorted"):
            torch.ops.pellucid._searchsorted(torch.ones(rows), torch.ones(values), True)


class NoSort(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func is not torch.ops.aten.sort.default
        return func(*args, **(kwargs or {}))


def test_few_elements_are_sought_without_sorting_the_others():
    one, many = torch.tensor([7]), torch.arange(1000)
    with NoSort():
        assert torch.isin(one, many).all()


@pytest.mark.parametrize("count", [3, 64, 90])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int16])
def test_members_are_compared_or_searched(count, dtype):
    values = torch.randint(-60, 60, (10, 7)).to(dtype)
    among = torch.randint(-60, 60, (count,)).to(dtype)
    expected = (values.unsqueeze(-1) == among).any(-1)
    assert torch.equal(torch.isin(values, among), expected)
    assert torch.equal(torch.isin(values, among, invert=True), ~expected)
    if dtype.is_floating_point:
        values[0, 0] = among[0] = float("nan")
        assert not torch.isin(values, among)[0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_draws_are_compared_or_searched_with_equal_results(dtype, monkeypatch):
    weights = torch.rand(6, 30).to(dtype)

    def drawn():
        torch.manual_seed(0)
        return torch.multinomial(weights, 40, replacement=True)

    compared = drawn()
    monkeypatch.setattr(sampling, "_FEW_COMPARISONS", 0)
    assert torch.equal(drawn(), compared)
