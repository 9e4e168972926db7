"""Batches of small real matrices, which are computed in groups without LAPACK."""

import pytest

import pellucid as torch
from pellucid.testing import assert_close

SIZES = [(1, 1), (2, 2), (4, 4), (7, 3), (3, 7), (9, 9), (17, 17), (24, 11)]


@pytest.fixture(params=(torch.float32, torch.float64), ids=str)
def dtype(request):
    torch.manual_seed(0)
    return request.param


def within(dtype, factor=40):
    tolerance = factor * torch.finfo(dtype).eps
    return {"rtol": tolerance, "atol": tolerance}


@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_factors_give_the_matrix_back(dtype, shape):
    a = torch.randn(19, *shape, dtype=dtype)
    scaled = within(dtype, 40 * max(shape) ** 0.5)
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    assert_close(u * s.unsqueeze(-2) @ vh, a, **scaled)
    eye = torch.eye(min(shape), dtype=dtype).expand(19, -1, -1)
    assert_close(u.mT @ u, eye, **scaled)
    assert_close(vh @ vh.mT, eye, **scaled)
    assert bool((s[:, :-1] >= s[:, 1:]).all())
    q, r = torch.linalg.qr(a)
    assert_close(q @ r, a, **scaled)
    assert_close(q.mT @ q, eye, **scaled)
    if shape[0] == shape[1]:
        definite = a @ a.mT + torch.eye(shape[0], dtype=dtype)
        factor = torch.linalg.cholesky(definite)
        assert_close(factor @ factor.mT, definite, **scaled)
        values, vectors = torch.linalg.eigh(definite)
        back = vectors * values.unsqueeze(-2) @ vectors.mT
        assert_close(back, definite, **within(dtype, 40 * shape[0]))
        x = torch.linalg.solve(definite, a)
        assert_close(definite @ x, a, **within(dtype, 400 * shape[0]))


@pytest.mark.parametrize("rows", [3, 6])
def test_second_derivatives_where_no_sign_counts(rows):
    torch.manual_seed(1)
    a = torch.randn(2, rows, 4, dtype=torch.float64, requires_grad=True)

    def squares(a):
        u, s, vh = torch.linalg.svd(a, full_matrices=False)
        return u.square(), s, vh.square()

    assert torch.autograd.gradgradcheck(squares, (a,))


def test_a_matrix_has_one_result_in_every_batch(dtype):
    a = torch.randn(21, 5, 5, dtype=dtype)
    a[3] = 0  # matrices that need LAPACK do not affect the others
    definite = a @ a.mT + torch.eye(5, dtype=dtype)
    definite[7] = -definite[7]
    for function, batch in (
        (torch.linalg.inv_ex, a),
        (torch.linalg.svd, a),
        (torch.linalg.qr, a),
        (torch.linalg.slogdet, a),
        (torch.linalg.cholesky_ex, definite),
        (torch.linalg.eigh, definite),
    ):
        whole = function(batch)
        for first, last in ((0, 3), (2, 11), (20, 21)):
            part = function(batch[first:last])
            for one, other in zip(part, whole, strict=True):
                expected = other[first:last]
                assert torch.equal(one, expected) or bool(one.isnan().any())


def test_magnitudes_neither_overflow_nor_vanish(dtype):
    a = torch.randn(9, 4, 4, dtype=dtype)
    for exponent in (-60, 60):
        factor = 2.0**exponent
        assert torch.equal(
            torch.linalg.svdvals(a * factor) / factor, torch.linalg.svdvals(a)
        )
        (q, r), (expected_q, expected_r) = map(torch.linalg.qr, (a * factor, a))
        assert_close(q, expected_q, **within(dtype))
        assert_close(r / factor, expected_r, **within(dtype))


def test_singular_matrices(dtype):
    low = torch.randn(11, 6, 2, dtype=dtype) @ torch.randn(11, 2, 6, dtype=dtype)
    u, s, vh = torch.linalg.svd(low)
    eye = torch.eye(6, dtype=dtype).expand(11, -1, -1)
    assert_close(u.mT @ u, eye, **within(dtype))
    assert_close(vh @ vh.mT, eye, **within(dtype))
    assert_close(u * s.unsqueeze(-2) @ vh, low, **within(dtype, 100))
    columns = torch.arange(1.0, 5.0, dtype=dtype).expand(9, 4, 4)
    info = torch.linalg.inv_ex(columns).info
    assert info.tolist() == [2] * 9
    assert torch.linalg.det(columns).tolist() == [0.0] * 9
    signs, logarithms = torch.linalg.slogdet(columns)
    assert signs.tolist() == [0.0] * 9
    assert bool(logarithms.isneginf().all())


def test_rows_are_exchanged_lane_by_lane(dtype):
    orders = [torch.randperm(6) for _ in range(13)]
    permutations = torch.stack([torch.eye(6, dtype=dtype)[order] for order in orders])
    assert torch.equal(torch.linalg.inv(permutations), permutations.mT)
    assert_close(torch.linalg.det(permutations).abs(), torch.ones(13, dtype=dtype))
    b = torch.randn(6, 3, dtype=dtype)  # broadcast
    actual = torch.linalg.solve(permutations, b)
    assert torch.equal(actual, permutations.mT @ b)


def test_a_hole_is_an_error_of_its_matrix(dtype):
    a = torch.randn(10, 4, 4, dtype=dtype)
    a[6, 1, 0] = float("nan")
    for function in (torch.linalg.svd, torch.linalg.svdvals, torch.linalg.eigh):
        with pytest.raises(torch.linalg.LinAlgError, match="matrix 6 of the batch"):
            function(a)
    assert torch.linalg.eigh(a, UPLO="U").eigenvalues.isfinite().all()
