"""Products of half types whose result is float32: ``mm(a, b, torch.float32)``."""

from pellucid_compiler.composites import api, composite, require


def _wider(name, out_dtype, *factors):
    """The factors in the dtype of the result, which represents their products
    exactly.
    """
    is_half = factors[0].dtype in (api.bfloat16, api.float16)
    require(
        out_dtype == factors[0].dtype or (is_half and out_dtype == api.float32),
        "{}: out_dtype {} for {}: give that, or float32 for half types",
        name,
        out_dtype,
        factors[0].dtype,
    )
    return [factor.to(out_dtype) for factor in factors]


@composite(
    "mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    out="dtype_out",
    method=False,
    seen=True,
)
def mm(a, b, out_dtype):
    """The product of two matrices in ``out_dtype``."""
    return api.mm(*_wider("mm", out_dtype, a, b))


@composite(
    "bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    out="dtype_out",
    method=False,
    seen=True,
)
def bmm(a, b, out_dtype):
    """The products of matrices, pair by pair, in ``out_dtype``."""
    return api.bmm(*_wider("bmm", out_dtype, a, b))


@composite(
    "addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, "
    "Scalar beta=1, Scalar alpha=1) -> Tensor",
    out="dtype_out",
    method=False,
    seen=True,
)
def addmm(x, a, b, out_dtype, *, beta, alpha):
    """``beta x + alpha a b`` in ``out_dtype``."""
    a, b = _wider("addmm", out_dtype, a, b)
    return api.addmm(x.to(out_dtype), a, b, beta=beta, alpha=alpha)


@composite(
    "baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, "
    "*, Scalar beta=1, Scalar alpha=1) -> Tensor",
    out="dtype_out",
    method=False,
    seen=True,
)
def baddbmm(x, a, b, out_dtype, *, beta, alpha):
    """``beta x + alpha a b`` for every pair of matrices, in ``out_dtype``."""
    a, b = _wider("baddbmm", out_dtype, a, b)
    return api.baddbmm(x.to(out_dtype), a, b, beta=beta, alpha=alpha)
