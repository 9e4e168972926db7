"""Linear algebra: factorizations reproduce the matrix, and have derivatives."""

import pytest

import pellucid as torch
from pellucid.testing import assert_close


@pytest.fixture
def square():
    torch.manual_seed(0)
    return torch.randn(3, 4, 4, dtype=torch.float64)


@pytest.fixture
def definite(square):
    return square @ square.mT + torch.eye(4, dtype=torch.float64)


def test_cholesky_gives_a_lower_factor(definite):
    factor = torch.linalg.cholesky(definite)
    assert_close(factor @ factor.mT, definite)
    assert_close(factor, factor.tril())
    assert_close(torch.linalg.cholesky(definite, upper=True), factor.mT)


def test_cholesky_names_the_minor_that_fails():
    matrix = torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    assert int(torch.linalg.cholesky_ex(matrix).info) == 2
    with pytest.raises(torch.linalg.LinAlgError, match="order 2"):
        torch.linalg.cholesky(matrix)


@pytest.mark.parametrize("shape", [(5, 5), (6, 3), (3, 6), (40, 40), (70, 33)])
def test_lu_multiplies_back(shape):
    torch.manual_seed(1)
    matrix = torch.randn(2, *shape, dtype=torch.float64)
    p, lower, upper = torch.linalg.lu(matrix)
    assert_close(p @ lower @ upper, matrix)


@pytest.mark.parametrize("shape", [(5, 5), (6, 3), (3, 6)])
def test_qr_has_orthonormal_columns(shape):
    matrix = torch.randn(*shape, dtype=torch.float64)
    q, r = torch.linalg.qr(matrix)
    assert_close(q @ r, matrix)
    assert_close(q.mT @ q, torch.eye(min(shape), dtype=torch.float64))


def test_eigenvalues_of_symmetric_matrices(definite):
    values, vectors = torch.linalg.eigh(definite)
    assert_close(vectors @ torch.diag_embed(values) @ vectors.mT, definite)


def test_solutions_agree_with_the_inverse(square):
    right = torch.randn(3, 4, 2, dtype=torch.float64)
    wanted = torch.linalg.inv(square) @ right
    assert_close(torch.linalg.solve(square, right), wanted)
    factors, pivots = torch.linalg.lu_factor(square)
    assert_close(torch.linalg.lu_solve(factors, pivots, right), wanted)
    assert_close(torch.linalg.pinv(square) @ right, wanted)


def test_triangular_solutions_of_many_rows():
    torch.manual_seed(2)
    n = 70
    matrix = torch.randn(n, n, dtype=torch.float64) / n + torch.eye(
        n, dtype=torch.float64
    )
    right = torch.randn(n, 3, dtype=torch.float64)
    for upper in (False, True):
        triangle = matrix.triu() if upper else matrix.tril()
        actual = torch.linalg.solve_triangular(matrix, right, upper=upper)
        assert_close(triangle @ actual, right)


def test_singular_matrices_are_refused():
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(torch.zeros(2, 2))
    assert int(torch.linalg.inv_ex(torch.zeros(2, 2)).info) == 1


def test_determinants(square):
    sign, logarithm = torch.linalg.slogdet(square)
    assert_close(torch.linalg.det(square), sign * logarithm.exp())


def test_the_gradient_of_a_singular_determinant_is_its_cofactors():
    matrix = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    torch.linalg.det(matrix).backward()
    assert_close(matrix.grad, torch.tensor([[4.0, -2.0], [-2.0, 1.0]]))


@pytest.mark.parametrize(
    "function",
    [
        torch.linalg.det,
        torch.linalg.inv,
        torch.linalg.pinv,
        torch.linalg.svdvals,
        torch.linalg.matrix_exp,
        lambda a: torch.linalg.lu_factor(a)[0],
        lambda a: torch.linalg.qr(a)[1],
        lambda a: torch.linalg.solve(a, a.mT),
        lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(4, dtype=a.dtype)),
        lambda a: torch.linalg.eigvalsh(a + a.mT),
    ],
)
def test_gradients_agree_with_differences(function, square):
    assert torch.autograd.gradcheck(function, (square[0].requires_grad_(),))


@pytest.fixture
def complex_square():
    torch.manual_seed(2)
    return torch.randn(2, 3, 3, dtype=torch.complex128)


def test_complex_factors_multiply_back(complex_square):
    a = complex_square
    definite = a @ a.mH + torch.eye(3)
    factor = torch.linalg.cholesky(definite)
    assert_close(factor @ factor.mH, definite)
    q, r = torch.linalg.qr(a)
    assert_close(q @ r, a)
    assert_close(q.mH @ q, torch.eye(3, dtype=a.dtype).expand(2, 3, 3))
    p, lower, upper = torch.linalg.lu(a)
    assert_close(p @ lower @ upper, a)
    values, vectors = torch.linalg.eigh(definite)
    assert values.dtype == torch.float64
    assert_close(vectors @ torch.diag_embed(values).to(a.dtype) @ vectors.mH, definite)
    u, s, vh = torch.linalg.svd(a)
    assert s.dtype == torch.float64
    assert_close(u @ torch.diag_embed(s).to(a.dtype) @ vh, a)


def test_complex_systems_are_solved(complex_square):
    a, one = complex_square, torch.eye(3, dtype=torch.complex128).expand(2, 3, 3)
    assert_close(a @ torch.linalg.inv(a), one)
    assert_close(torch.linalg.pinv(a), torch.linalg.inv(a))
    factors, pivots = torch.linalg.lu_factor(a)
    for adjoint, matrix in ((False, a), (True, a.mH)):
        actual = torch.linalg.lu_solve(factors, pivots, one, adjoint=adjoint)
        assert_close(matrix @ actual, one)
        actual = torch.linalg.lu_solve(
            factors, pivots, one, left=False, adjoint=adjoint
        )
        assert_close(actual @ matrix, one)
    sign, logarithm = torch.linalg.slogdet(a)
    assert logarithm.dtype == torch.float64
    assert_close(sign * logarithm.exp(), torch.linalg.det(a))
    assert_close(torch.logdet(a).exp(), torch.linalg.det(a))
    assert_close(torch.linalg.lstsq(a, one).solution, torch.linalg.inv(a))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_eigenvalues_of_any_square_matrices(dtype):
    a = torch.randn(2, 4, 4, dtype=dtype)
    values, vectors = torch.linalg.eig(a)
    assert values.dtype == vectors.dtype == torch.complex128
    assert_close(a.to(values.dtype) @ vectors, vectors * values.unsqueeze(-2))
    assert_close(vectors.abs().square().sum(-2), torch.ones(2, 4, dtype=torch.float64))
    assert_close(torch.linalg.eigvals(a), values)
    with pytest.raises(RuntimeError, match="infinities or NaN"):
        torch.linalg.eigvals(torch.full((2, 2), float("nan")))


def _without_phase(vectors):
    """A quantity invariant under phases of the columns."""
    return vectors.unsqueeze(-1) @ vectors.conj().unsqueeze(-2)


@pytest.mark.parametrize(
    "function",
    [
        torch.linalg.det,
        torch.linalg.inv,
        torch.linalg.pinv,
        torch.linalg.eigvals,
        torch.linalg.slogdet,
        torch.linalg.matrix_exp,
        lambda a: torch.linalg.pinv(a[:, :2]),
        lambda a: torch.linalg.lu_factor(a)[0],
        lambda a: torch.linalg.qr(a),
        lambda a: torch.linalg.qr(a[:, :2]),
        lambda a: torch.linalg.qr(a[:2])[1],
        lambda a: torch.linalg.solve(a, a.mH),
        lambda a: torch.linalg.cholesky(a @ a.mH + torch.eye(3)),
        lambda a: torch.linalg.eigvalsh(a + a.mH),
        lambda a: _without_phase(torch.linalg.eigh(a + a.mH)[1].mT),
        lambda a: _without_phase(torch.linalg.eig(a)[1].mT),
        lambda a: torch.linalg.svd(a)[1],
        lambda a: (lambda u, s, vh: u[:, :2] @ vh[:2])(*torch.linalg.svd(a)),
        lambda a: (lambda u, s, vh: u @ vh)(
            *torch.linalg.svd(a[:, :2], full_matrices=False)
        ),
    ],
)
def test_gradients_of_complex_matrices_agree_with_differences(function, complex_square):
    assert torch.autograd.gradcheck(function, (complex_square[0].requires_grad_(),))


def test_eigenvectors_of_real_matrices_have_real_gradients(square):
    def function(a):
        return _without_phase(torch.linalg.eig(a)[1].mT)

    assert torch.autograd.gradcheck(function, (square[0].requires_grad_(),))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("hermitian", [False, True])
def test_symmetric_matrices_that_are_not_definite(dtype, hermitian):
    torch.manual_seed(3)
    a = torch.randn(20, 6, 6, dtype=dtype) - 0.9 * torch.eye(6)
    a.diagonal(dim1=-2, dim2=-1).mul_(0.05)
    turned = a.tril(-1).mH if hermitian else a.tril(-1).mT
    diagonal = a.diagonal(dim1=-2, dim2=-1)
    diagonal = torch.diag_embed(diagonal.real.to(dtype) if hermitian else diagonal)
    whole = a.tril(-1) + turned + diagonal
    factors, pivots, info = torch.linalg.ldl_factor_ex(a, hermitian=hermitian)
    assert not info.any() and (pivots < 0).any() and (pivots > 0).any()
    right = torch.randn(6, 2, dtype=dtype)
    actual = torch.linalg.ldl_solve(factors, pivots, right, hermitian=hermitian)
    assert_close(whole @ actual, right.expand(20, 6, 2))


def test_a_zero_in_d_is_reported():
    assert int(torch.linalg.ldl_factor_ex(torch.zeros(2, 2)).info) == 1
    with pytest.raises(torch.linalg.LinAlgError, match="factor D is zero"):
        torch.linalg.ldl_factor(torch.zeros(2, 2))


def test_the_power_0_has_a_gradient(square):
    x = square.requires_grad_()
    power = torch.linalg.matrix_power(x, 0)
    assert_close(power, torch.eye(4, dtype=x.dtype).expand(3, 4, 4))
    assert not torch.autograd.grad(power.sum(), x)[0].any()


def test_products_of_chains_and_powers(square):
    a, b, c = square
    assert_close(torch.linalg.multi_dot([a, b, c]), a @ b @ c)
    assert_close(torch.linalg.matrix_power(a, 3), a @ a @ a)
    assert_close(torch.linalg.matrix_power(a, -1), torch.linalg.inv(a))


def test_norms_of_matrices():
    matrix = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
    assert float(torch.linalg.matrix_norm(matrix)) == 5
    assert float(torch.linalg.matrix_norm(matrix, 2)) == pytest.approx(4)
    assert float(torch.linalg.matrix_norm(matrix, "nuc")) == pytest.approx(7)
    assert float(torch.linalg.cond(matrix)) == pytest.approx(4 / 3)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, 2, float("inf")])
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3), (3, 0)])
def test_norms_of_empty_matrices_are_zero(order, shape):
    norms = torch.linalg.matrix_norm(torch.empty(shape), order)
    assert norms.tolist() == torch.zeros(shape[:-2]).tolist()
    assert torch.linalg.matrix_norm(torch.empty(shape), order, keepdim=True).shape == (
        *shape[:-2],
        1,
        1,
    )


def test_eig_has_second_derivatives_where_phases_do_not_count():
    torch.manual_seed(0)
    a = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)

    def function(a):
        values, vectors = torch.linalg.eig(a)
        return values, vectors.abs()

    assert torch.autograd.gradcheck(function, a)
    assert torch.autograd.gradgradcheck(function, a)


def test_empty_systems_have_empty_solutions():
    pivots = torch.empty(2, 0, dtype=torch.int32)
    actual = torch.linalg.lu_solve(torch.empty(2, 0, 0), pivots, torch.empty(2, 0, 3))
    assert actual.shape == (2, 0, 3)


def test_out_keeps_its_strides_and_is_checked():
    whole = torch.zeros(4, 4)
    torch.linalg.inv(2 * torch.eye(2), out=whole[::2, 1::2])
    assert whole[::2, 1::2].tolist() == [[0.5, 0.0], [0.0, 0.5]]
    assert whole.sum() == 1
    with pytest.raises(RuntimeError, match="cannot be cast"):
        torch.linalg.inv(torch.eye(2), out=torch.zeros(2, 2, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="gradients"):
        torch.linalg.inv(torch.eye(2, requires_grad=True), out=torch.zeros(2, 2))


@pytest.mark.parametrize("size", [1, 2, 5, 12, 13, 30])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_systems_of_few_and_of_many_rows(size, dtype):
    torch.manual_seed(size)
    a, b = (torch.randn(3, size, size, dtype=dtype) for _ in range(2))
    assert_close(a @ torch.linalg.solve(a, b), b)
    assert_close((a @ torch.linalg.solve(a, b[..., 0])[..., None])[..., 0], b[..., 0])
    identity = torch.eye(size, dtype=dtype).expand(3, size, size)
    assert_close(a @ torch.linalg.inv(a), identity)
    assert_close(torch.linalg.det(a), torch.linalg.eigvals(a).prod(-1).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_cofactors_of_a_batch_with_a_singular_matrix(dtype):
    torch.manual_seed(0)
    a = torch.randn(2, 3, 3, dtype=dtype)
    a[1, 2] = a[1, 0] - a[1, 1]
    a.requires_grad_()
    (actual,) = torch.autograd.grad(torch.linalg.det(a).real.sum(), a)
    for k in range(2):
        for i in range(3):
            for j in range(3):
                rows, columns = ([m for m in range(3) if m != n] for n in (i, j))
                minor = torch.linalg.det(a[k][rows][:, columns])
                assert_close(actual[k, i, j].conj(), minor * (-1) ** (i + j))


@pytest.mark.parametrize("driver", [None, "gelsy", "gels", "gelsd", "gelss"])
def test_residuals_that_are_absent_are_those_of_the_driver(driver):
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], dtype=torch.float64)
    b = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
    actual = torch.linalg.lstsq(a.requires_grad_(), b, driver=driver)
    assert actual.residuals.requires_grad
    if driver in (None, "gelsy"):
        assert actual.residuals.shape == (0,)
    else:
        assert_close(actual.residuals, (a @ actual.solution - b).square().sum(0))
    wide = torch.linalg.lstsq(a.mT, b[:2], driver=driver)
    assert wide.residuals.shape == (0,) and wide.residuals.requires_grad


def test_the_driver_for_full_rank_refuses_other_matrices():
    with pytest.raises(torch.linalg.LinAlgError, match="full rank"):
        torch.linalg.lstsq(torch.ones(3, 2), torch.ones(3, 1), driver="gels")


def test_least_squares_of_tall_wide_and_deficient_matrices():
    torch.manual_seed(0)
    for shape in ((6, 3), (3, 6), (4, 4)):
        a, b = torch.randn(2, *shape).double(), torch.randn(2, shape[0], 2).double()
        actual = torch.linalg.lstsq(a, b)
        assert_close(actual.solution, torch.linalg.pinv(a) @ b)
        assert actual.rank.tolist() == [min(shape)] * 2
    a = torch.ones(4, 3, dtype=torch.float64)
    actual = torch.linalg.lstsq(a, torch.arange(4.0).double().unsqueeze(1))
    assert int(actual.rank) == 1
    assert_close(actual.solution, torch.full((3, 1), 0.5, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_least_squares_near_the_tolerance_pivot(dtype):
    torch.manual_seed(0)
    u, v = (torch.linalg.qr(torch.randn(n, 12, dtype=dtype))[0] for n in (20, 12))
    b = torch.randn(20, 3, dtype=dtype)
    for least, rank in ((1e-2, 12), (1e-5, 12), (1e-9, 11), (0.0, 11)):
        values = torch.ones(12, dtype=torch.float64)
        values[-1] = least
        a = (u * values) @ v.mH
        actual = torch.linalg.lstsq(a, b, rcond=1e-6)
        assert int(actual.rank) == rank
        assert_close(actual.solution, torch.linalg.pinv(a, rtol=1e-6) @ b)


def test_least_squares_of_nothing_and_of_what_is_no_number():
    zeros = torch.zeros(4, 3, dtype=torch.float64)
    actual = torch.linalg.lstsq(zeros, torch.ones(4, 2, dtype=torch.float64))
    assert int(actual.rank) == 0
    assert actual.solution.abs().max() == 0
