"""Distances of rows: ``cdist`` and ``pdist``."""

import itertools
import math

import pytest

import pellucid as torch
from pellucid.autograd import gradcheck, gradgradcheck
from pellucid.nn import functional as F

ORDERS = [0.0, 0.5, 1.0, 2.0, 3.0, math.inf]


def rows(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("p", ORDERS)
def test_each_pair_has_the_norm_of_its_difference(p):
    x, y = rows(2, 5, 3), rows(4, 3, seed=1)
    actual = torch.cdist(x, y, p)
    assert actual.shape == (2, 5, 4)
    for b, i, j in itertools.product(range(2), range(5), range(4)):
        want = torch.linalg.vector_norm(x[b, i] - y[j], p)
        assert torch.allclose(actual[b, i, j], want, rtol=1e-12)


@pytest.mark.parametrize("p", ORDERS)
def test_pairs_of_one_matrix_come_in_the_order_of_combinations(p):
    x = rows(5, 3)
    want = [torch.cdist(x[i : i + 1], x[j : j + 1], p).item() for i, j in PAIRS]
    assert torch.allclose(F.pdist(x, p), torch.tensor(want, dtype=x.dtype))


PAIRS = list(itertools.combinations(range(5), 2))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_derivatives(p):
    x, y = rows(3, 2).requires_grad_(), rows(4, 2, seed=1).requires_grad_()
    assert gradcheck(lambda a, b: torch.cdist(a, b, p), (x, y))
    assert gradgradcheck(lambda a, b: torch.cdist(a, b, p), (x, y))


def test_equal_rows_have_no_slope():
    x = rows(4, 3).requires_grad_()
    (slope,) = torch.autograd.grad(torch.cdist(x, x).diagonal().sum(), x)
    assert slope.eq(0).all()


def test_close_rows_are_distinguished():
    x = torch.full((30, 8), 1e4)
    exact = "donot_use_mm_for_euclid_dist"
    actual = torch.cdist(x, x + 0.125, 2.0, exact)
    assert actual.eq(0.125 * math.sqrt(8)).all()
    assert torch.cdist(x[:9], x[:9] + 0.125, 2.0).equal(actual[:9, :9])


def test_distances_of_many_rows_are_made_of_a_product():
    x, y = rows(40, 3), rows(30, 3, seed=1)
    by_differences = torch.cdist(x, y, 2.0, "donot_use_mm_for_euclid_dist")
    assert torch.allclose(torch.cdist(x, y), by_differences, rtol=1e-12)
    few = (x[:3].requires_grad_(), y[:4].requires_grad_())

    def by_product(a, b):
        return torch.cdist(a, b, 2.0, "use_mm_for_euclid_dist")

    assert gradcheck(by_product, few)
    assert gradgradcheck(by_product, few)


def test_rows_of_nothing_and_no_rows():
    assert torch.cdist(torch.ones(3, 0), torch.ones(2, 0)).equal(torch.zeros(3, 2))
    assert torch.cdist(torch.ones(0, 3), torch.ones(2, 3)).shape == (0, 2)
    assert F.pdist(torch.ones(1, 3)).shape == (0,)


@pytest.mark.parametrize(
    "arguments,error,words",
    [
        ((torch.ones(3), torch.ones(2, 3)), RuntimeError, "rows of matrices"),
        ((torch.ones(2, 3), torch.ones(2, 4)), RuntimeError, "3 and 4 elements"),
        ((torch.ones(2, 3), torch.ones(2, 3), -1.0), RuntimeError, "negative"),
        ((torch.ones(2, 3), torch.ones(2, 3).double()), RuntimeError, "float64"),
        ((torch.ones(2, 3), torch.ones(2, 3), 2.0, "fast"), ValueError, "'fast'"),
    ],
)
def test_what_has_no_distance_is_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        torch.cdist(*arguments)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
def test_rows_without_columns_have_distance_0(p):
    assert (
        torch.cdist(torch.ones(2, 0), torch.ones(3, 0), p).tolist() == [[0.0] * 3] * 2
    )
    assert torch.pdist(torch.ones(3, 0), p).tolist() == [0.0] * 3


def test_the_greatest_distance_of_nan_is_nan():
    far = torch.cdist(torch.tensor([[float("nan"), 1.0]]), torch.zeros(1, 2), torch.inf)
    assert far.isnan().item()
