"""Compositions whose number of steps or output size depends on values agree with a loop
under vmap.
"""

import math

import pytest

import pellucid as torch
from pellucid.func import vmap

FUNCTIONS = {
    "chebyshev_polynomial_t": torch.special.chebyshev_polynomial_t,
    "hermite_polynomial_h": torch.special.hermite_polynomial_h,
    "legendre_polynomial_p": torch.special.legendre_polynomial_p,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_polynomials_of_different_degrees(name):
    function = FUNCTIONS[name]
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
    n = torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7], [1, 1, 1, 1]])
    one_by_one = torch.stack([function(a, b) for a, b in zip(x, n, strict=True)])
    torch.testing.assert_close(vmap(function)(x, n), one_by_one)
    torch.testing.assert_close(vmap(function, (0, None))(x, n[1]), function(x, n[1]))


def test_exponentials_of_matrices_of_different_norms():
    torch.manual_seed(0)
    scales = torch.tensor([0.1, 1.0, 30.0], dtype=torch.float64)
    matrices = torch.randn(3, 4, 4, dtype=torch.float64) * scales[:, None, None]
    one_by_one = torch.stack([torch.linalg.matrix_exp(a) for a in matrices])
    torch.testing.assert_close(vmap(torch.linalg.matrix_exp)(matrices), one_by_one)


def test_mode():
    x = torch.tensor([[1, 2, 2, 3, 3], [5, 5, 4, 4, 4], [7, 6, 5, 4, 3]])
    values, places = vmap(torch.mode)(x)
    assert values.tolist() == [2, 4, 3]
    assert places.tolist() == [2, 4, 4]


def test_histograms_of_a_given_range():
    x = torch.tensor([[0.1, 0.2, 0.9, float("nan")], [-1.0, 0.5, 0.6, 2.0]])
    counts = vmap(lambda row: torch.histc(row, 2, 0, 1))(x)
    assert counts.tolist() == [[2, 1], [0, 2]]


def test_nonzero_of_a_given_size():
    x = torch.tensor([[[0, 1], [1, 1]], [[0, 0], [2, 0]]])
    actual = vmap(lambda m: torch.nonzero_static(m, size=2))(x)
    assert actual.tolist() == [[[0, 1], [1, 0]], [[1, 0], [-1, -1]]]
    wide = torch.nonzero_static(x[1], size=3, fill_value=9)
    assert wide.tolist() == [[1, 0], [9, 9], [9, 9]]
    assert torch.nonzero_static(x[0], size=0).shape == (0, 2)
    assert torch.nonzero_static(torch.tensor(3), size=2).shape == (2, 0)
    assert torch.nonzero_static(torch.zeros(0, 2), size=1).tolist() == [[-1, -1]]


@pytest.mark.parametrize("batched", [(0, 0, 0), (0, 0, None), (None, None, 0)])
@pytest.mark.parametrize("shapes", [((), (2,)), ((2,), ()), ((), (4, 2))])
def test_solutions_of_systems_with_batches_of_unequal_rank(batched, shapes):
    examples = [3 if dim == 0 else None for dim in batched]
    sizes = [[n for n in (examples[k],) if n] for k in (0, 2)]
    matrices = torch.linspace(-1, 2, 9).reshape(3, 3) + 3 * torch.eye(3)
    leading = (*sizes[0], *shapes[0])
    scale = 1 + torch.arange(math.prod(leading)).reshape(*leading, 1, 1)
    factors, pivots = torch.linalg.lu_factor(matrices * scale)
    inputs = (*sizes[1], *shapes[1], 3, 2)
    right = torch.linspace(-2, 3, math.prod(inputs)).reshape(inputs)

    def at(k):
        return [
            x if dim is None else x[k]
            for x, dim in zip((factors, pivots, right), batched, strict=True)
        ]

    actual = torch.vmap(torch.linalg.lu_solve, batched)(factors, pivots, right)
    for k in range(3):
        torch.testing.assert_close(actual[k], torch.linalg.lu_solve(*at(k)))
