"""LAPACK's routines against NumPy references: dtypes, batches, threads, errors."""

import subprocess
import sys

import numpy as np
import pytest

import pellucid as torch
from pellucid.testing import assert_close

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
WITHOUT_THE_PACKAGE = """
import pellucid._C._runtime.lapack
pellucid._C._runtime.lapack.library_file = lambda: ""
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
    import pellucid_compiler.catalogue  # noqa: F401 - fills the routines
    from pellucid_compiler.ir.primitives.library import ROUTINES

    results = ROUTINES[name].evaluate(*(x.numpy() for x in operands), **options)
    return [torch.as_tensor(result) for result in results]


def assert_same(actual, meant):
    tolerance = 2e-3 if actual[0].real.dtype == torch.float32 else 1e-8
    for one, other in zip(actual, meant, strict=False):
        assert_close(one, other, rtol=tolerance, atol=tolerance)


def test_factorizations_are_what_they_mean(batch):
    definite = batch @ batch.mH + torch.eye(9, dtype=batch.dtype)
    assert_same(torch.linalg.cholesky_ex(definite), in_numpy("cholesky", definite))
    packed, pivots, order, info = in_numpy("lu", batch, pivot=True)
    assert_same(torch.linalg.lu_factor_ex(batch), (packed, pivots, info))
    assert torch.equal(torch._C._pellucid._linalg_permutation(pivots, 9), order)
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
def test_the_other_triangle_is_not_read(batch, upper, unitriangular):
    options = {"upper": upper, "unitriangular": unitriangular}
    matrix = batch / 9 + 2 * torch.eye(9, dtype=batch.dtype)
    other = torch.ones(9, 9).tril(-1) if upper else torch.ones(9, 9).triu(1)
    matrix = matrix.masked_fill(other.bool(), float("nan"))
    right = torch.randn(3, 9, 4, dtype=batch.dtype)
    for b in (right, right[..., :1]):
        actual = torch.linalg.solve_triangular(matrix, b, **options)
        assert_same([actual], in_numpy("solve_triangular", matrix, b, **options))


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
        assert_same([torch._C._pellucid._linalg_pinv(part, cutoffs, False)], meant)


def test_threads_change_no_bit():
    torch.manual_seed(0)
    batch = torch.randn(40, 24, 24)
    threads = torch.get_num_threads()
    actual = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            actual.append((torch.linalg.inv(batch), torch.linalg.svd(batch).U))
    finally:
        torch.set_num_threads(threads)
    for results in actual[1:]:
        assert all(map(torch.equal, results, actual[0]))


def test_what_does_not_converge_is_an_error():
    holes = torch.full((2, 3, 3), float("nan"))
    assert torch.linalg.cholesky_ex(holes).info.tolist() == [1, 1]
    for function in (torch.linalg.svd, torch.linalg.svdvals, torch.linalg.eigh):
        with pytest.raises(torch.linalg.LinAlgError, match="did not converge"):
            function(holes)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("place", [0, 69])
def test_iterations_over_infinities_end(batch, value, place):
    matrix = torch.eye(70, dtype=batch.dtype)
    assert torch.linalg.svdvals(matrix).sum() == 70
    matrix[place, place] = float(value)
    for name in ("svd", "svdvals", "eigh", "eigvalsh", "pinv"):
        with pytest.raises(torch.linalg.LinAlgError, match="did not converge"):
            getattr(torch.linalg, name)(matrix)
    for name, options in (("svd", {"full_matrices": True}), ("eigh", {"upper": True})):
        with pytest.raises(np.linalg.LinAlgError):
            in_numpy(name, matrix, **options)


def test_of_hermitian_matrices_one_triangle_must_be_finite(batch):
    matrix = torch.eye(9, dtype=batch.dtype)
    matrix[0, 8] = float("inf")
    for actual in (torch.linalg.eigvalsh(matrix), torch.linalg.eigh(matrix)[0]):
        assert actual.tolist() == [1.0] * 9
    assert in_numpy("eigvalsh", matrix, upper=False)[0].tolist() == [1.0] * 9
    with pytest.raises(torch.linalg.LinAlgError, match="did not converge"):
        torch.linalg.eigvalsh(matrix, "U")


def test_singular_matrices_say_where():
    matrix = torch.tensor([[1.0, 2.0, 3.0], [0.0, 4.0, 5.0], [0.0, 0.0, 0.0]])
    for actual in (torch.linalg.inv_ex(matrix), torch.linalg.solve_ex(matrix, matrix)):
        assert actual.info.dtype == torch.int32 and int(actual.info) == 3
    assert torch.linalg.inv_ex(matrix).inverse.isnan().all()
    assert float(torch.linalg.det(matrix)) == 0.0


def test_without_the_package_numpy_computes():
    assert subprocess.run([sys.executable, "-c", WITHOUT_THE_PACKAGE]).returncode == 0


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
    actual = torch.linalg.pinv(matrix, rtol=torch.full(tolerances, 0.5))
    shape = torch.broadcast_shapes(batch, tolerances)
    assert_close(actual, torch.diag(torch.tensor([0.25, 0.0])).expand(*shape, 2, 2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize(
    "pivots",
    [
        [7, 1, 2],
        [0, 2, 3],
        [-1, 2, 3],
        [1, 2, -3],
        [-2, -3, 3],
        [-5, -5, 3],
        [1, 2**31],
    ],
    ids=str,
)
def test_pivots_that_no_factorization_gave(dtype, hermitian, pivots):
    n = len(pivots)
    matrix, right = torch.eye(n, dtype=dtype), torch.ones(n, 1, dtype=dtype)
    message = "invalid for a matrix of . rows"
    inputs = torch.tensor(pivots)
    with pytest.raises(RuntimeError, match=message):
        torch.linalg.ldl_solve(matrix, inputs, right, hermitian=hermitian)
    with pytest.raises(RuntimeError, match=message):
        in_numpy("ldl_solve", matrix, inputs, right, hermitian=hermitian)


FUNCTIONS = {
    "cholesky": torch.linalg.cholesky_ex,
    "lu": torch.linalg.lu_factor_ex,
    "lu_without_pivots": lambda a: torch.linalg.lu(a, pivot=False),
    "qr": torch.linalg.qr,
    "complete_qr": lambda a: torch.linalg.qr(a, "complete"),
    "ldl": lambda a: torch.linalg.ldl_factor_ex(a, hermitian=True),
    "ldl_solve": lambda a: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), a),
    "lu_solve": lambda a: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), a),
    "inv": torch.linalg.inv_ex,
    "solve": lambda a: torch.linalg.solve_ex(a, a[..., :1]),
    "solve_many": lambda a: torch.linalg.solve_ex(a, a.mT),
    "solve_triangular": lambda a: torch.linalg.solve_triangular(a, a, upper=True),
    "det": torch.linalg.det,
    "slogdet": torch.linalg.slogdet,
    "eigh": torch.linalg.eigh,
    "eigvalsh": lambda a: torch.linalg.eigvalsh(a, "U"),
    "eig": torch.linalg.eig,
    "svd": torch.linalg.svd,
    "svdvals": torch.linalg.svdvals,
    "pinv": torch.linalg.pinv,
    "hermitian_pinv": lambda a: torch.linalg.pinv(a, hermitian=True),
}
RECTANGLES = {"lu", "lu_without_pivots", "qr", "complete_qr", "svd", "svdvals", "pinv"}


def batches(dtype):
    """Batches that routines must accept or refuse, by name."""
    torch.manual_seed(0)
    square = torch.randn(3, 5, 5, dtype=dtype)
    named = {
        "one": square[:1, :1, :1],
        "none": square[:0],
        "no rows": square[:, :0, :0],
        "many small": torch.randn(300, 2, 2, dtype=dtype),
        "blocks": torch.randn(2, 70, 70, dtype=dtype),
        "zero": torch.zeros(2, 5, 5, dtype=dtype),
        "rank one": square[..., :1] * square[..., :1, :],
        "huge": square * 1e37,
        "tiny": square * 1e-41,
        "wide": square[:, :2],
        "high": square[..., :2],
    }
    for value in ("nan", "inf", "-inf"):
        holes = square.clone()
        holes[1, 2, 1] = float(value)
        named[value] = holes
    return named


def with_layout(a):
    """The same matrices in another layout."""
    stepped = a.new_zeros(*a.shape[:-1], 2 * a.shape[-1] + 1)[..., 1::2]
    return (a.mT.contiguous().mT, stepped.copy_(a), torch.cat([a[:1], a])[1:])


def outcome_of(function, a):
    try:
        actual = function(a)
    except RuntimeError as error:
        return type(error), str(error)
    actual = actual if isinstance(actual, tuple) else (actual,)
    return [(result.shape, result.dtype, repr(result.tolist())) for result in actual]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_layouts_of_all_matrices_give_the_same(name, dtype):
    """Also singular, empty, huge and NaN matrices: a result, or PyTorch's error."""
    for which, a in batches(dtype).items():
        if a.shape[-1] != a.shape[-2] and name not in RECTANGLES:
            continue
        expected = outcome_of(FUNCTIONS[name], a.contiguous())
        for other in with_layout(a):
            assert outcome_of(FUNCTIONS[name], other) == expected, which
