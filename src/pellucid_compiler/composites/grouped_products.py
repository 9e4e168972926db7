"""Grouped GEMM: products of groups of rows, each with another matrix (mixtures of
experts).
"""

from pellucid_compiler.composites import api, composite, require


@composite(
    "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
    "ScalarType? out_dtype=None) -> Tensor",
    method=False,
)
def grouped_mm(a, b, offs, bias, out_dtype):
    """The products of groups of ``a`` and ``b``; ``offs`` has the ends of the groups.

    Groups are rows of ``a`` times each matrix of ``b``; each matrix of ``a`` times
    columns of ``b``; or, for two matrices, columns of ``a`` times rows of ``b``, whose
    products are stacked. Elements past the last group are zero.
    """
    _require_operands(a, b, offs, bias, out_dtype)
    if offs is None:
        return api.bmm(a, b)
    if a.is_meta:
        return a.new_empty(_shape(a, b, offs.numel()))
    ends = offs.tolist()
    groups = list(zip([0, *ends], ends, strict=False))
    if a.dim() == b.dim() == 2:
        return api.stack([a[:, i:j] @ b[i:j] for i, j in groups])
    if a.dim() == 2:
        parts = [a[i:j] @ b[k] for k, (i, j) in enumerate(groups)]
        parts.append(a.new_zeros(a.shape[0] - ends[-1], b.shape[2]))
        return api.cat(parts)
    parts = [a[k] @ b[:, i:j] for k, (i, j) in enumerate(groups)]
    parts.append(a.new_zeros(a.shape[1], b.shape[1] - ends[-1]))
    return api.cat(parts, 1)


def _shape(a, b, count):
    if a.dim() == b.dim() == 2:
        return [count, a.shape[0], b.shape[1]]
    return [a.shape[-2], b.shape[-1]]


def _require_operands(a, b, offs, bias, out_dtype):
    for name, x in (("mat_a", a), ("mat_b", b)):
        require(
            x.dim() in (2, 3), "_grouped_mm: {} has {} dims, not 2 or 3", name, x.dim()
        )
        require(
            x.is_floating_point(),
            "Expected {} to be a matrix of a float dtype, got {}",
            name,
            x.dtype,
        )
    require(a.dtype == b.dtype, "_grouped_mm: dtypes {} and {}", a.dtype, b.dtype)
    require(bias is None, "_grouped_mm: Bias not supported yet")
    require(
        out_dtype in (None, a.dtype),
        "Grouped gemm output dtype must match `mat_a` dtype: {}, not {}",
        a.dtype,
        out_dtype,
    )
    require(
        (offs is None) == (a.dim() == b.dim() == 3),
        "Have to provide offsets if there is a 2d matrix, or no offset if both "
        "matrices are 3d",
    )
    require(
        a.shape[-1] == b.shape[-2] or a.dim() == b.dim() == 2,
        "contraction dimension of mat_a and mat_b must match: {} and {}",
        a.shape[-1],
        b.shape[-2],
    )
    if offs is None:
        return
    require(
        offs.dim() == 1 and offs.dtype == api.int32 and offs.numel() > 0,
        "Offsets have to be int32, a vector of the groups' ends: {} of {} dims",
        offs.dtype,
        offs.dim(),
    )
    for x in (a, b):
        require(
            x.dim() == 2 or x.shape[0] == offs.numel(),
            "matrix batch sizes have to match: {} matrices for {} groups",
            x.shape[0],
            offs.numel(),
        )
