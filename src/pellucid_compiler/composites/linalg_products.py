"""Products of many matrices, powers, the exponential; products of vectors."""

from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.linalg_checks import (
    plain,
    require_float,
    require_square,
)

# Vectors

_WORTH_PARTS = 1536  # elements from which products of parts are faster than of rolls


@composite(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    namespace="linalg",
    out=True,
    seen=True,
    casts_out=False,
)
def linalg_cross(a, b, *, dim):
    """The cross product of vectors of 3 elements along ``dim``."""
    require(
        a.dim() == b.dim(),
        "linalg.cross: tensors of {} and {} dims; give equal numbers",
        a.dim(),
        b.dim(),
    )
    return _crossed(a, b, dim)


@composite(
    "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    out=True,
    casts_out=False,
)
def cross(a, b, dim):
    """The cross product of vectors along ``dim``, by default the first of size 3."""
    if dim is None:
        api._package.calls.deprecation.deprecated(
            "cross without dim", "dim, or linalg.cross, where it is -1"
        )
        shape = api.broadcast_shapes(a.shape, b.shape)
        threes = [d for d, n in enumerate(shape) if n == 3]
        require(threes, "cross: no dim of size 3 in {}", shape)
        dim = threes[0]
    return _crossed(a, b, dim)


def _crossed(a, b, dim):
    require(
        api.bool not in (a.dtype, b.dtype),
        "cross does not take bools: convert with .to(torch.int64) or .float()",
        error=NotImplementedError,
    )
    require(
        a.dtype == b.dtype, "cross: dtypes {} and {}; convert one", a.dtype, b.dtype
    )
    require(a.dim() == b.dim(), "cross: tensors of {} and {} dims", a.dim(), b.dim())
    if a.shape != b.shape:
        a, b = api.broadcast_tensors(a, b)
    require(a.shape[dim] == 3, "cross: dim {} has size {}, not 3", dim, a.shape[dim])
    if a.numel() < _WORTH_PARTS:
        return a.roll(-1, dim) * b.roll(-2, dim) - a.roll(-2, dim) * b.roll(-1, dim)
    of_a, of_b = a.unbind(dim), b.unbind(dim)
    return api.stack(
        [of_a[k - 2] * of_b[k - 1] - of_a[k - 1] * of_b[k - 2] for k in range(3)],
        dim,
    )


@composite(
    "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    namespace="linalg",
    out=True,
    autocast="lower",
    casts_out=False,
)
def vecdot(x, y, *, dim):
    """The products of vectors along ``dim``, the first conjugated."""
    require_float("linalg.vecdot", x)
    require(
        x.dtype == y.dtype,
        "linalg.vecdot takes tensors of one dtype, not of {} and {}",
        x.dtype,
        y.dtype,
    )
    left = x.conj() if x.is_complex() else x
    return (left * y).sum(dim)


@composite(
    "vdot(Tensor self, Tensor other) -> Tensor", out=True, seen=True, casts_out=False
)
def vdot(a, b):
    """The product of vectors, the first conjugated."""
    return a.conj().dot(b)


@composite("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", namespace="linalg")
def vander(x, *, N):
    """The powers from 0 on of each element along the last dim."""
    x = x if x.dim() else x.unsqueeze(0)
    count = x.shape[-1] if N is None else N
    require(count >= 2, "linalg.vander: N is {}; give 2 or more", count)
    require(
        x.dtype not in (api.bool, api.half, api.bfloat16),
        "linalg.vander takes float32, float64, complex numbers or integers, not {}: "
        "convert with .float()",
        x.dtype,
    )
    if not (x.is_floating_point() or x.is_complex()):
        x = x.long()
    columns = [api.ones_like(x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return api.stack(columns, -1)


@composite(
    "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", method=False
)
def powers(x, N, increasing):
    """The powers of each element of a vector, highest first unless ``increasing``."""
    require(x.dim() == 1, "vander takes a vector, not {} dims", x.dim())
    count = x.shape[0] if N is None else N
    if count == 1:
        return api.ones_like(x).unsqueeze(1)
    exponents = api.arange(count, device=x.device)
    return x.unsqueeze(1) ** (exponents if increasing else exponents.flip(0))


@composite(
    "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) "
    "-> Tensor(a)",
    namespace="linalg",
)
def diagonal(A, *, offset, dim1, dim2):
    """The diagonal of matrices in the last two dims, as a view."""
    return A.diagonal(offset, dim1, dim2)


# Many matrices


@composite(
    "linalg_matmul(Tensor self, Tensor other) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
def matmul(a, b):
    """The product of vectors, matrices or batches of them."""
    return a @ b


@composite(
    "linalg_multi_dot(Tensor[] tensors) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
def multi_dot(tensors):
    """The product of several matrices, in the cheapest order.

    The first and the last may be vectors.
    """
    require(
        len(tensors) >= 2,
        "linalg.multi_dot: {} tensors; give two or more",
        len(tensors),
    )
    first, *middle, last = tensors
    matrices = [
        first.unsqueeze(0) if first.dim() == 1 else first,
        *middle,
        last.unsqueeze(1) if last.dim() == 1 else last,
    ]
    for matrix in matrices:
        require(
            matrix.dim() == 2,
            "linalg.multi_dot: a tensor of {} dims; give matrices, at the ends "
            "also vectors",
            matrix.dim(),
        )
    product = _chain(matrices, _best_splits(matrices), 0, len(matrices) - 1)
    product = product.squeeze(0) if first.dim() == 1 else product
    return product.squeeze(-1) if last.dim() == 1 else product


def _best_splits(matrices):
    """Where to split each run of factors (Cormen et al., 15.2)."""
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    count = len(matrices)
    cost = {(i, i): 0 for i in range(count)}
    splits = {}

    def split_at(i, k, j):
        ends = sizes[i] * sizes[k + 1] * sizes[j + 1]
        return cost[i, k] + cost[k + 1, j] + ends, k

    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], splits[i, j] = min(split_at(i, k, j) for k in range(i, j))
    return splits


def _chain(matrices, splits, i, j):
    if i == j:
        return matrices[i]
    k = splits[i, j]
    return _chain(matrices, splits, i, k) @ _chain(matrices, splits, k + 1, j)


@composite(
    "chain_matmul(Tensor[] matrices) -> Tensor",
    out=True,
    variadic=True,
    method=False,
    casts_out=False,
)
def chain_matmul(matrices):
    """The old name of ``linalg.multi_dot``; also accepts a single matrix."""
    api._package.calls.deprecation.deprecated(
        "torch.chain_matmul", "torch.linalg.multi_dot"
    )
    for matrix in matrices:
        require(
            matrix.dim() == 2,
            "chain_matmul: Tensor dimension is {}, expected 2 instead.",
            matrix.dim(),
        )
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)


# Powers and the exponential


@composite(
    "linalg_matrix_power(Tensor self, int n) -> Tensor", namespace="linalg", out=True
)
@composite("matrix_power(Tensor self, int n) -> Tensor", out=True)
def matrix_power(x, n):
    """The ``n``-th power of a matrix; for negative ``n``, of its inverse."""
    require_square("matrix_power", x)
    if n == 0:
        return x.clone().copy_(api.eye(x.shape[-1], device=x.device))
    base = api.linalg.inv(x) if n < 0 else x
    power = None
    for bit in reversed(bin(abs(n))[2:]):
        if bit == "1":
            power = base if power is None else power @ base
        base = base @ base
    return power.clone() if power is x else power


# The number of terms of Taylor's series, and the norms up to which they reach the
# dtypes' accuracy (Bader, Blanes and Casas 2019, table 1).
_TERMS = 18
_REACH = {"float32": 3.01, "float64": 1.09}


@composite(
    "linalg_matrix_exp(Tensor self) -> Tensor", namespace="linalg", out=True, seen=True
)
def matrix_exp(x):
    """The exponential of square matrices, by scaling and squaring (Moler and Van Loan
    2003, method 3).
    """
    require_float("linalg.matrix_exp", x)
    require_square("matrix_exp", x)
    if not x.numel():
        return x.clone()
    norms = x.detach().abs().sum(-2).amax(-1)[..., None, None]
    reach = _REACH.get(str(x.dtype).removeprefix("torch."), 1.0)
    ratio = (norms / reach).clamp(min=1)
    halvings = api.where(ratio.isfinite(), ratio, 1.0).log2().ceil()
    scaled = x * api.exp2(-halvings)
    one = api.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    exponential = one + scaled / _TERMS
    for k in range(_TERMS - 1, 0, -1):
        exponential = one + scaled @ exponential / k
    for k in range(_greatest(halvings)):
        exponential = api.where(halvings > k, exponential @ exponential, exponential)
    return exponential.masked_fill(~norms.isfinite(), float("nan"))


@composite("matrix_exp(Tensor self) -> Tensor")
def exponential(x):
    """``linalg.matrix_exp``."""
    return api.linalg.matrix_exp(x)


def _greatest(halvings):
    """The greatest number over all examples; 0 on Meta."""
    values = plain(halvings)
    return 0 if values.is_meta else int(values.max())
