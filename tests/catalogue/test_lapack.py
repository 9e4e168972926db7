"""LAPACK's routines beside their meaning in NumPy: dtypes, batches, threads, errors."""

import subprocess
import sys

import pytest

import pellucid as torch
from pellucid.testing import assert_close

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
WITHOUT_THE_PACKAGE = """
import pellucid._lapack
pellucid._lapack.library_file = lambda: ""
import pellucid as torch
a = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
torch.testing.assert_close(torch.linalg.inv(a) @ a, torch.eye(2))
torch.testing.assert_close(torch.linalg.svdvals(a), torch.linalg.eigvalsh(a).flip(0))
"""


@pytest.fixture(params=DTYPES, ids=str)
def batch(request):
    torch.manual_seed(0)
    return torch.randn(2, 3, 9, 9, dtype=request.param)


def in_numpy(name, *operands, **options):
    import pellucid.ops  # noqa: F401 - fills the routines
    from pellucid.ir.primitives.library import ROUTINES

    results = ROUTINES[name].evaluate(*(x.numpy() for x in operands), **options)
    return [torch.as_tensor(result) for result in results]


def assert_same(found, meant):
    tolerance = 2e-3 if found[0].real.dtype == torch.float32 else 1e-8
    for one, other in zip(found, meant, strict=False):
        assert_close(one, other, rtol=tolerance, atol=tolerance)


def test_factorizations_are_what_they_mean(batch):
    definite = batch @ batch.mH + torch.eye(9, dtype=batch.dtype)
    assert_same(torch.linalg.cholesky_ex(definite), in_numpy("cholesky", definite))
    packed, pivots, order, info = in_numpy("lu", batch, pivot=True)
    assert_same(torch.linalg.lu_factor_ex(batch), (packed, pivots, info))
    assert torch.equal(torch._linalg_permutation(pivots, 9), order)
    for part in (batch, batch[..., :4], batch[..., :4, :]):
        for mode in ("reduced", "complete"):
            assert_same(torch.linalg.qr(part, mode), in_numpy("qr", part, mode=mode))
    factored = torch.linalg.ldl_factor_ex(definite, hermitian=True)
    assert_same(factored, in_numpy("ldl", definite, hermitian=True))


def test_systems_are_what_they_mean(batch):
    right = torch.randn(3, 9, 5, dtype=batch.dtype)
    for b in (right, right[..., :1], right[0]):
        assert_same([torch.linalg.solve(batch, b)], in_numpy("solve", batch, b))
    assert_same(
        [torch.linalg.solve(batch[0, 0], right)], in_numpy("solve", batch[0, 0], right)
    )
    assert_same([torch.linalg.inv(batch)], in_numpy("inv", batch))
    assert_same([torch.linalg.det(batch)], in_numpy("det", batch))
    assert_same(torch.linalg.slogdet(batch), in_numpy("slogdet", batch))


@pytest.mark.parametrize("upper", (False, True))
@pytest.mark.parametrize("unitriangular", (False, True))
def test_triangles_read_no_more(batch, upper, unitriangular):
    options = {"upper": upper, "unitriangular": unitriangular}
    matrix = batch / 9 + 2 * torch.eye(9, dtype=batch.dtype)
    other = torch.ones(9, 9).tril(-1) if upper else torch.ones(9, 9).triu(1)
    matrix = matrix.masked_fill(other.bool(), float("nan"))
    right = torch.randn(3, 9, 4, dtype=batch.dtype)
    for b in (right, right[..., :1]):
        found = torch.linalg.solve_triangular(matrix, b, **options)
        assert_same([found], in_numpy("solve_triangular", matrix, b, **options))


def test_values_with_vectors_give_the_matrix_back(batch):
    hermitian = batch + batch.mH
    values, vectors = torch.linalg.eigh(hermitian)
    scaled = vectors * values.unsqueeze(-2)
    assert_same([scaled @ vectors.mH], [hermitian])
    assert_same([torch.linalg.eigvalsh(hermitian)], [values])
    values, vectors = torch.linalg.eig(batch)
    assert_same([batch.to(vectors.dtype) @ vectors], [vectors * values.unsqueeze(-2)])
    for part in (batch, batch[..., :4], batch[..., :4, :]):
        for full in (False, True):
            u, s, vh = torch.linalg.svd(part, full_matrices=full)
            k = s.shape[-1]
            scaled = u[..., :k] * s.unsqueeze(-2)
            assert_same([scaled @ vh[..., :k, :]], [part])
            assert_same(
                [u.mH @ u], [torch.eye(u.shape[-1], dtype=u.dtype).expand_as(u.mH @ u)]
            )
            assert_same([torch.linalg.svdvals(part)], [s])


def test_pseudo_inverses_are_what_they_mean(batch):
    hermitian = batch + batch.mH
    assert_same(
        [torch.linalg.pinv(hermitian, hermitian=True) @ hermitian],
        [torch.eye(9, dtype=batch.dtype).expand_as(batch)],
    )
    low = batch[..., :5] @ batch[..., :5, :]
    for part, cutoff in (
        (batch[..., :4], 1e-6),
        (batch[..., :4, :], 1e-6),
        (low, 1e-4),
    ):
        cutoffs = torch.full((2, 3), cutoff, dtype=batch.real.dtype)
        meant = in_numpy("pinv", part, cutoffs, hermitian=False)
        assert_same([torch._linalg_pinv(part, cutoffs, False)], meant)


def test_threads_change_no_bit():
    torch.manual_seed(0)
    batch = torch.randn(40, 24, 24)
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found.append((torch.linalg.inv(batch), torch.linalg.svd(batch).U))
    finally:
        torch.set_num_threads(threads)
    for results in found[1:]:
        assert all(map(torch.equal, results, found[0]))


def test_what_does_not_converge_is_an_error():
    holes = torch.full((2, 3, 3), float("nan"))
    assert torch.linalg.cholesky_ex(holes).info.tolist() == [1, 1]
    for function in (torch.linalg.svd, torch.linalg.svdvals, torch.linalg.eigh):
        with pytest.raises(torch.linalg.LinAlgError, match="did not converge"):
            function(holes)


def test_singular_matrices_say_where():
    matrix = torch.tensor([[1.0, 2.0, 3.0], [0.0, 4.0, 5.0], [0.0, 0.0, 0.0]])
    for found in (torch.linalg.inv_ex(matrix), torch.linalg.solve_ex(matrix, matrix)):
        assert found.info.dtype == torch.int32 and int(found.info) == 3
    assert torch.linalg.inv_ex(matrix).inverse.isnan().all()
    assert float(torch.linalg.det(matrix)) == 0.0


def test_without_the_package_numpy_computes():
    subprocess.run([sys.executable, "-c", WITHOUT_THE_PACKAGE], check=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [1, 5, 70])
def test_cholesky_where_a_pivot_is_not_a_number(dtype, size):
    matrix = torch.eye(size, dtype=dtype) * 2
    assert torch.linalg.cholesky_ex(matrix).info == 0
    for place in {0, size // 2, size - 1}:
        broken = matrix.clone()
        broken[place, place] = float("nan")
        factor, info = torch.linalg.cholesky_ex(broken)
        assert info == place + 1 == in_numpy("cholesky", broken)[1]
        assert_close(factor[:place, :place], (matrix / 2**0.5)[:place, :place])
        with pytest.raises(torch.linalg.LinAlgError, match="positive"):
            torch.linalg.cholesky(broken)


def test_signs_of_infinite_determinants():
    sign, logarithm = torch.linalg.slogdet(torch.diag(torch.tensor([torch.inf, -2.0])))
    assert sign == -1 and logarithm == torch.inf
    assert torch.linalg.slogdet(torch.zeros(2, 2)).sign == 0


@pytest.mark.parametrize(
    ("batch", "tolerances"), [((6, 1), (6,)), ((), (1,)), ((), (2,)), ((2,), ())]
)
def test_pseudo_inverses_by_several_tolerances(batch, tolerances):
    matrix = torch.diag(torch.tensor([4.0, 1.0])).expand(*batch, 2, 2)
    found = torch.linalg.pinv(matrix, rtol=torch.full(tolerances, 0.5))
    shape = torch.broadcast_shapes(batch, tolerances)
    assert_close(found, torch.diag(torch.tensor([0.25, 0.0])).expand(*shape, 2, 2))
