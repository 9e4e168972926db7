"""Triangular systems of sparse matrices beside those of dense ones."""

import pytest

import pellucid as torch

FORMS = [(upper, unit) for upper in (True, False) for unit in (True, False)]
LAYOUTS = {
    "coo": lambda x: x.to_sparse(),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
}


def system(dtype=torch.float64, size=8, columns=3):
    torch.manual_seed(4)
    numbers = torch.randn(size, size, dtype=dtype)
    within = torch.rand(size, size) < 0.5
    eye = torch.eye(size)
    matrix = numbers * (within | eye.bool()) + 3 * eye
    return matrix.to(dtype), torch.randn(size, columns, dtype=dtype)


def solve(b, matrix, upper, unit, transpose=False):
    with pytest.warns(UserWarning, match="triangular_solve"):
        return torch.triangular_solve(b, matrix, upper, transpose, unit)


@pytest.mark.parametrize(("upper", "unit"), FORMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_solutions_are_those_of_dense_matrices(layout, upper, unit):
    matrix, b = system()
    sparse = LAYOUTS[layout](matrix)
    for transpose in (False, True):
        wanted = solve(b, matrix, upper, unit, transpose).solution
        found = solve(b, sparse, upper, unit, transpose)
        assert torch.allclose(found.solution, wanted)
        assert torch.equal(found.cloned_coefficient.to_dense(), matrix)
    options = {"upper": upper, "unitriangular": unit}
    found = torch.linalg.solve_triangular(
        sparse, b.t().contiguous(), left=False, **options
    )
    wanted = torch.linalg.solve_triangular(matrix, b.t(), left=False, **options)
    assert torch.allclose(found, wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.complex128])
def test_every_dtype_has_a_solution(dtype):
    matrix, b = system(dtype, columns=100)
    found = torch.linalg.solve_triangular(matrix.to_sparse_csr(), b, upper=True)
    assert found.dtype is dtype
    wanted = torch.linalg.solve_triangular(matrix, b, upper=True)
    assert torch.allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize(("upper", "unit"), FORMS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_gradient_has_the_pattern_of_the_matrix(dtype, upper, unit):
    matrix, b = system(dtype)
    options = {"upper": upper, "unitriangular": unit}
    grads = []
    for given in (matrix, matrix.to_sparse_csr()):
        a, right = given.clone().requires_grad_(), b.clone().requires_grad_()
        x = torch.linalg.solve_triangular(a, right, **options)
        (x * x.conj()).real.sum().backward()
        grads.append((a.grad.to_dense(), right.grad))
    (wanted, wanted_b), (found, found_b) = grads
    assert torch.allclose(found_b, wanted_b)
    assert torch.allclose(found, wanted * (matrix != 0))


def test_an_absent_diagonal_element_is_zero():
    matrix = torch.tensor([[1.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
    found = torch.linalg.solve_triangular(matrix, torch.ones(2, 1), upper=True)
    assert found[1].item() == float("inf")
    unit = torch.linalg.solve_triangular(
        matrix, torch.ones(2, 1), upper=True, unitriangular=True
    )
    assert torch.equal(unit, torch.tensor([[-1.0], [1.0]]))


@pytest.mark.parametrize(("upper", "unit"), FORMS)
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_batches_of_systems_have_the_solutions_of_each(layout, upper, unit):
    one, b = system()
    dense = torch.stack([one, one * 2, one - 0.1 * one.abs()]).unsqueeze(1)
    right = torch.randn(3, 1, *b.shape, dtype=b.dtype, requires_grad=True)
    matrices = LAYOUTS[layout](dense).detach().requires_grad_()
    whole = dense.clone().requires_grad_()
    options = {"upper": upper, "unitriangular": unit}
    weights = torch.randn(right.shape, dtype=b.dtype)
    found = torch.linalg.solve_triangular(matrices, right, **options)
    of_sparse = torch.autograd.grad(found, (matrices, right), weights)
    wanted = torch.linalg.solve_triangular(whole, right, **options)
    of_dense = torch.autograd.grad(wanted, (whole, right), weights)
    assert torch.allclose(found, wanted)
    assert torch.allclose(of_sparse[1], of_dense[1])
    stored = dense != 0
    assert torch.allclose(of_sparse[0].to_dense(), of_dense[0].where(stored, 0.0))


def test_one_matrix_solves_a_batch_of_right_sides():
    matrix, b = system()
    right = torch.stack([b, b.flip(0)])
    found = torch.linalg.solve_triangular(matrix.to_sparse_csr(), right, upper=True)
    assert torch.allclose(
        found, torch.linalg.solve_triangular(matrix, right, upper=True)
    )


def test_systems_that_do_not_fit_are_refused():
    matrix, b = system()
    solve = torch.linalg.solve_triangular
    with pytest.raises(RuntimeError, match="square matrices"):
        solve(matrix[:4].to_sparse_csr(), b[:4], upper=True)
    with pytest.raises(RuntimeError, match="one or as many as right sides"):
        solve(torch.stack([matrix] * 2).to_sparse_csr(), b, upper=True)
    with pytest.raises(RuntimeError, match="right side of 5 rows"):
        solve(matrix.to_sparse_csr(), b[:5], upper=True)
    with pytest.raises(NotImplementedError, match="dense right side"):
        solve(matrix.to_sparse_csr(), b.to_sparse(), upper=True)
    pointers, columns = torch.tensor([0, 1, 2]), torch.tensor([0, 7])
    with torch.sparse.check_sparse_tensor_invariants(False):
        broken = torch.sparse_csr_tensor(pointers, columns, torch.ones(2), (2, 2))
    with pytest.raises(RuntimeError, match="column 7"):
        solve(broken, torch.ones(2, 1), upper=True)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.strided])
@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_principal_components_of_sparse_matrices(layout, shape):
    torch.manual_seed(0)
    dense = torch.randn(shape[0], 2) @ torch.randn(2, shape[1])
    dense = dense * (torch.arange(shape[1]) % 3 > 0)
    matrix = dense if layout is torch.strided else dense.to_sparse(layout=layout)
    left, values, right = torch.pca_lowrank(matrix, q=3)
    centred = dense - dense.mean(0)
    assert torch.allclose(values, torch.linalg.svdvals(centred)[:3], atol=1e-3)
    assert torch.allclose(left * values @ right.mT, centred, atol=1e-3)
    _, values, _ = torch.svd_lowrank(matrix, q=3, M=dense.mean(0, keepdim=True))
    assert torch.allclose(values, torch.linalg.svdvals(centred)[:3], atol=1e-3)
