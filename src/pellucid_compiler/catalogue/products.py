"""Products of matrices and vectors of fixed rank, also added to a tensor."""

from pellucid_compiler.catalogue.contraction import matmul
from pellucid_compiler.catalogue.seen import (
    adjoint,
    conjugated,
    of_second,
    scaled,
    summed,
)
from pellucid_compiler.declare import (
    ask,
    broadcast_element,
    cast,
    contraction,
    require,
    require_fits,
    tabulate,
    to,
    total,
)
from pellucid_compiler.ir.dtypes import is_complex, promote, shown_dtype


def _require_ranks(name, read=0, **operands):
    """Check the operands' numbers of dims; one of fewer than ``read`` dims raises an
    IndexError, as where PyTorch reads their sizes before.
    """
    for word, (tensor, rank) in operands.items():
        require(
            tensor.rank == rank,
            f"{name}: `{word}` needs {rank} dims, it has {tensor.rank}",
            error=IndexError if tensor.rank < read else RuntimeError,
        )


@contraction(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    refuses=("bool",),
    autocast="lower",
    core=True,
)
def mm(a, b):
    """The product of two matrices."""
    _require_ranks("mm", self=(a, 2), mat2=(b, 2))
    return matmul(a, b)


mm.gradients_seen_as(
    self=lambda grad, mat2: grad.mm(adjoint(mat2)),
    mat2=lambda grad, self, mat2=None: of_second(grad, self, mat2),
)


@contraction(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    refuses=("bool",),
    autocast="lower",
    core=True,
)
def bmm(a, b):
    """The products of matrices, pair by pair along the first dim."""
    _require_ranks("bmm", self=(a, 3), mat2=(b, 3))
    require(
        (a.shape[0] == b.shape[0]) & (a.shape[2] == b.shape[1]),
        "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but "
        "got: [{}, {}].",
        *(a.shape[0], a.shape[2], *b.shape[:2]),
    )
    return matmul(a, b)


bmm.gradients_seen_as(
    self=lambda grad, mat2: grad.bmm(adjoint(mat2)),
    mat2=lambda grad, self: adjoint(self).bmm(grad),
)


@contraction("_int_mm(Tensor self, Tensor mat2) -> Tensor", method=False)
def _int_mm(a, b):
    """The product of two matrices of int8, whose sums are int32; the first may be
    uint8."""
    for word, tensor in (("self", a), ("mat2", b)):
        require(
            tensor.rank == 2,
            f"_int_mm: Expected {word} to be of dimension 2 but got {tensor.rank}",
        )
    require(
        a.dtype in ("int8", "uint8"),
        "_int_mm: Expected self dtype to be int8 or uint8 but got "
        f"{shown_dtype(a.dtype)}",
    )
    require(
        b.dtype == "int8",
        "_int_mm: Expected mat2 dtype to be of type int8 but got "
        f"{shown_dtype(b.dtype)}",
    )
    (m, k), (depth, n) = a.shape, b.shape
    require(
        k == depth,
        "_int_mm: self.size(1) needs to match mat2.size(0) but got {} and {}",
        *(k, depth),
    )

    def element(i, j):
        return total([k], lambda p: cast(a[i, p], "int32") * cast(b[p, j], "int32"))

    return tabulate([m, n], element)


@contraction("mv(Tensor self, Tensor vec) -> Tensor", refuses=("bool",))
def mv(a, v):
    """The product of a matrix and a vector."""
    _require_ranks("mv", 1, self=(a, 2), vec=(v, 1))
    return matmul(a, v)


mv.gradients_seen_as(
    self=lambda grad, vec: grad.outer(conjugated(vec)),
    vec=lambda grad, self: conjugated(self.t()).mv(grad),
)


@contraction("dot(Tensor self, Tensor tensor) -> Tensor", refuses=("bool",))
def dot(a, b):
    """The sum of the products of two vectors' elements."""
    _require_ranks("dot", self=(a, 1), tensor=(b, 1))
    return matmul(a, b)


@contraction(
    "outer(Tensor self, Tensor vec2) -> Tensor",
    node="MulBackward0",
    aliases=("ger",),
    casts_out=True,
)
def outer(a, b):
    """All products of an element of ``self`` and one of ``vec2``."""
    _require_ranks("outer", self=(a, 1), vec2=(b, 1))
    return tabulate([a.shape[0], b.shape[0]], lambda i, j: a[i] * b[j])


@outer.seen_as
def _(a, b):
    if a.dim() != 1 or b.dim() != 1:
        return NotImplemented
    return a.view(-1, 1) * b


@contraction(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) "
    "-> Tensor",
    refuses=("bool",),
    inplace=True,
    autocast="lower",
    core=True,
)
def addmm(x, a, b, beta, alpha):
    """``beta x + alpha a b``; x is not read where ``beta`` is 0."""
    _require_ranks("addmm", mat1=(a, 2), mat2=(b, 2))
    return _added("addmm", x, matmul(a, b), beta, alpha)


addmm.gradients_seen_as(
    mat1=lambda grad, mat2, alpha=1: scaled(grad.mm(adjoint(mat2)), alpha),
    mat2=lambda grad, mat1, mat2=None, alpha=1: scaled(
        of_second(grad, mat1, mat2), alpha
    ),
    self=lambda grad, size, beta: scaled(summed(grad, size), beta),
)


@contraction(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) "
    "-> Tensor",
    refuses=("bool",),
    inplace=True,
    inplace_function=True,
)
def addmv(x, a, v, beta, alpha):
    """``beta x + alpha a v``; x is not read where ``beta`` is 0."""
    _require_ranks("addmv", mat=(a, 2), vec=(v, 1))
    return _added("addmv", x, matmul(a, v), beta, alpha)


addmv.gradients_seen_as(
    self=lambda grad, size, beta=1: scaled(summed(grad, size), beta),
    mat=lambda grad, vec, alpha=1: scaled(grad.outer(conjugated(vec)), alpha),
    vec=lambda grad, mat, alpha=1: scaled(adjoint(mat).mv(grad), alpha),
)


@contraction(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor",
    refuses=("bool",),
    inplace=True,
    autocast="lower",
)
def baddbmm(x, a, b, beta, alpha):
    """``beta x + alpha a b`` for every pair of matrices."""
    _require_ranks("baddbmm", 3, batch1=(a, 3), batch2=(b, 3))
    return _added("baddbmm", x, bmm(a, b), beta, alpha)


baddbmm.gradients_seen_as(
    batch1=lambda grad, batch2, alpha=1: scaled(grad.bmm(adjoint(batch2)), alpha),
    batch2=lambda grad, batch1, alpha=1: scaled(adjoint(batch1).bmm(grad), alpha),
    self=lambda grad, size, beta: scaled(summed(grad, size), beta),
)


@contraction(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor",
    refuses=("bool",),
    inplace=True,
    autocast="lower",
)
def addbmm(x, a, b, beta, alpha):
    """``beta x + alpha`` times the sum of the products of all pairs of matrices."""
    _require_ranks("addbmm", 3, batch2=(b, 3))
    _require_ranks("addbmm", 2, batch1=(a, 3))
    require(
        (a.shape[0] == b.shape[0]) & (a.shape[2] == b.shape[1]),
        "addbmm: batches of {} and {} matrices, {} columns and {} rows do not match",
        a.shape[0],
        b.shape[0],
        a.shape[2],
        b.shape[1],
    )
    product = tabulate(
        [a.shape[1], b.shape[2]],
        lambda i, j: total(
            [a.shape[0], a.shape[2]], lambda n, k: a[n, i, k] * b[n, k, j]
        ),
    )
    return _added("addbmm", x, product, beta, alpha)


addbmm.gradients_seen_as(
    self=lambda grad, size, beta=1: scaled(summed(grad, size), beta),
    batch1=lambda grad, size, batch2, alpha=1: scaled(
        grad.unsqueeze(0).expand(size[0], -1, -1).bmm(adjoint(batch2)), alpha
    ),
    batch2=lambda grad, size, batch1, alpha=1: scaled(
        adjoint(batch1).bmm(grad.unsqueeze(0).expand(size[0], -1, -1)), alpha
    ),
)


@contraction(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) "
    "-> Tensor",
    inplace=True,
    layout="operand",
    casts_out=True,
)
def addr(x, a, b, beta, alpha):
    """``beta x + alpha outer(a, b)``."""
    dtype = promote(x.dtype, promote(a.dtype, b.dtype))
    x, a, b = (to(t, dtype) for t in (x, a, b))
    require(
        x.is_floating or not any(n.dtype == "weakfloat" for n in (beta, alpha)),
        f"addr: beta and alpha of {x.dtype} tensors must be integers",
    )
    require(
        dtype == "bool" or not any(n.dtype == "bool" for n in (beta, alpha)),
        f"addr: beta and alpha of {x.dtype} tensors must not be bools",
    )
    return _added("addr", x, outer(a, b), beta, alpha)


addr.gradients_seen_as(
    self=lambda grad, size, beta=1: scaled(summed(grad, size), beta),
    vec1=lambda grad, vec2, alpha=1: scaled(grad.mv(conjugated(vec2)), alpha),
    vec2=lambda grad, vec1, alpha=1: scaled(grad.t().mv(conjugated(vec1)), alpha),
)


def _added(name, x, product, beta, alpha):
    require(
        x.dtype == product.dtype,
        f"{name}: `self` is {x.dtype}, the product {product.dtype}; convert one",
    )
    require(
        x.rank <= product.rank,
        f"{name}: `self` has rank {x.rank}, the product {product.rank}: it must expand "
        "to the product's shape",
    )
    for own, n in zip(x.shape, product.shape[product.rank - x.rank :], strict=True):
        require(
            (own == 1) | (own == n),
            f"{name}: a size {{}} of `self` does not expand to the product's {{}}",
            own,
            n,
        )
    for number in (beta, alpha):
        require(
            is_complex(x.dtype) or number.dtype != "weakcomplex",
            f"{name}: beta and alpha of {x.dtype} tensors must not be complex numbers; "
            "convert the tensors",
        )
    if not x.is_floating:
        for number in (beta, alpha):
            require_fits(name, number, x.dtype)
        beta, alpha = cast(beta, x.dtype), cast(alpha, x.dtype)
    if not ask(alpha == 1):
        product = product * alpha
    if ask(beta == 0):
        return product
    shape = product.shape
    return tabulate(
        shape, lambda *p: broadcast_element(x, p, shape) * beta + product[p]
    )
