"""Products of matrices of eight-bit floats with scales of matrices or of rows."""

from pellucid_compiler.composites import api, composite, require

_BY_MATRIX, _BY_ROW = range(2)  # the numbers of ``nn.functional.ScalingType``


@composite(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, "
    "Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, "
    "bool use_fast_accum=False) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum):
    """``(scale_a a) @ (scale_b b) + bias`` of eight-bit floats, summed in float32, as
    ``out_dtype``, by default that of ``self``.

    A scale is one number, or a number for each row of ``self`` (m, 1) and each column
    of ``mat2`` (1, n). ``scale_result`` and ``use_fast_accum`` concern GPUs alone.
    """
    _require_matrices(a, b)
    by_row = (list(scale_a.shape), list(scale_b.shape)) == (
        [a.shape[0], 1],
        [1, b.shape[1]],
    )
    _require_scales(
        (a, b), (scale_a, scale_b), by_row or scale_a.numel() == scale_b.numel() == 1
    )
    return _product(a, b, scale_a, scale_b, bias, out_dtype)


@composite(
    "_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, "
    "int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, "
    "Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[], "
    "bool use_fast_accum=False) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def scaled_mm_by_recipe(
    a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias,
    out_dtype, contraction_dim, use_fast_accum,
):  # fmt: skip
    """``_scaled_mm`` with the kinds of the scales named."""
    _require_matrices(a, b)
    require(
        not any((*swizzle_a, *swizzle_b)),
        "_scaled_mm: scales on the CPU are not swizzled",
        error=ValueError,
    )
    rows, columns = a.shape[0], b.shape[1]
    counts = {_BY_MATRIX: (1, 1), _BY_ROW: (rows, columns)}
    recipe = recipe_a[0] if len(recipe_a) == len(scale_a) == len(scale_b) == 1 else None
    fits = recipe in counts and list(recipe_b) == [recipe]
    fits = fits and (scale_a[0].numel(), scale_b[0].numel()) == counts[recipe]
    _require_scales((a, b), (*scale_a, *scale_b), fits)
    first, second = scale_a[0].reshape(-1, 1), scale_b[0].reshape(1, -1)
    return _product(a, b, first, second, bias, out_dtype)


def _product(a, b, scale_a, scale_b, bias, out_dtype):
    product = (a.float() @ b.float()) * scale_a * scale_b
    if bias is not None:
        product = product + bias.float()
    return product.to(out_dtype or a.dtype)


def _require_matrices(a, b):
    require(
        a.dim() == b.dim() == 2,
        "_scaled_mm takes matrices, not tensors of {} and {} dims",
        a.dim(),
        b.dim(),
    )
    require(
        a.shape[1] == b.shape[0],
        "mat_a and mat_b shapes cannot be multiplied ({}x{} and {}x{})",
        *a.shape,
        *b.shape,
    )


def _require_scales(operands, scales, fit):
    eighths = (api.float8_e4m3fn, api.float8_e5m2)
    require(
        fit
        and all(x.dtype in eighths for x in operands)
        and all(x.dtype == api.float32 for x in scales),
        "_scaled_mm: Invalid scaling configuration: operands of {} and {}, scales of "
        "{}. Give float8 operands and float32 scales: one number each, or a number for "
        "each row and each column",
        operands[0].dtype,
        operands[1].dtype,
        [(x.dtype, list(x.shape)) for x in scales],
        error=ValueError,
    )
