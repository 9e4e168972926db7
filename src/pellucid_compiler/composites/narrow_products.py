"""Products of narrow weights: int8 and four bits, which are decoded as they are read if
there are few rows, and eight-bit floats with scales.
"""

from pellucid_compiler.composites import api, composite, require

_FEW_ROWS = 4  # the most for which a weight is read once for every two rows
_GROUPS = (32, 64, 128, 256)
_TENSOR, _ROW = 0, 1  # how scales are given: torch.nn.functional.ScalingType


def _by_pairs(x, multiply):
    """``multiply`` of at most two rows at a time, which share the weight's elements."""
    if x.shape[0] <= 2:
        return multiply(x)
    return api.cat([multiply(part) for part in x.split(2)])


@composite(
    "_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
    method=False,
    seen=True,
)
def weight_int8pack_mm(x, weight, scales):
    """``self @ mat2.T * scales``: ``mat2`` is int8, with a scale for each row."""
    name = "_weight_int8pack_mm_cpu"
    require(
        x.dim() == weight.dim() == 2 and x.shape[1] == weight.shape[1],
        f"{name}: shapes {{}} and {{}}: two matrices with rows of one length",
        *(tuple(x.shape), tuple(weight.shape)),
    )
    require(
        x.dtype in (api.float32, api.bfloat16, api.float16),
        f"{name} : expect A to be either 32-bit or 16-bit float tensor.",
    )
    require(weight.dtype == api.int8, f"{name} : expect B to be int8 tensor.")
    require(
        scales.dim() == 1 and scales.shape[0] == weight.shape[0],
        f"{name} : expect scales to be 1d tensor with size {{}}",
        weight.shape[0],
    )
    if x.shape[0] <= _FEW_ROWS and x.dtype == api.float32:
        rows = api._C._pellucid._int8_rows
        return _by_pairs(x, lambda part: rows(part, weight, scales))
    sums = api.mm(x.float(), weight.float().t())
    return (sums * scales.float()).to(x.dtype)


@composite(
    "_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor",
    method=False,
    seen=True,
)
def convert_weight_to_int4pack(weight, inner):
    """Integers from 0 to 15 as halves of bytes: an element of the first half of a row,
    and one of the second in the upper bits.
    """
    name = "_convert_weight_to_int4pack_cpu"
    require(weight.dim() == 2, f"{name} : expect weight to be 2D tensor.")
    require(weight.dtype == api.int32, f"{name} : expect weight to be kInt.")
    rows, columns = weight.shape
    require(rows % 16 == 0, f"{name} : expect N to be dividable by 16")
    require(columns % 2 == 0, f"{name} : expect K to be dividable by 2")
    low, high = weight.to(api.uint8).chunk(2, 1)
    return low | (high << 4)


@composite(
    "_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, "
    "Tensor qScaleAndZeros) -> Tensor",
    method=False,
    seen=True,
)
def weight_int4pack_mm(x, weight, size, scales):
    """``self @ decoded.T``: groups of ``qGroupSize`` elements of a row have a scale and
    a zero, ``(integer - 8) * scale + zero``.
    """
    name = "_weight_int4pack_mm_cpu"
    require(
        size in _GROUPS,
        f"{name}: expect qGroupSize to be 32, 64, 128 or 256, got {size}",
    )
    require(
        x.dim() == weight.dim() == 2 and x.shape[1] == 2 * weight.shape[1],
        f"{name}: shapes {{}} and {{}}: a packed row is half as long",
        *(tuple(x.shape), tuple(weight.shape)),
    )
    wanted = [x.shape[1] // size, weight.shape[0], 2]
    require(
        list(scales.shape) == wanted and x.shape[1] % size == 0,
        f"{name}: expect qScaleAndZeros to be of shape {wanted}, not {{}}",
        tuple(scales.shape),
    )
    is_even = wanted[0] % 2 == 0
    if x.shape[0] <= _FEW_ROWS and x.dtype == scales.dtype == api.float32 and is_even:
        rows = api._C._pellucid._int4_rows
        return _by_pairs(x, lambda part: rows(part, weight, scales))
    decoded = decoded_int4(weight, size, scales.float())
    return api.mm(x.float(), decoded.t()).to(x.dtype)


def decoded_int4(weight, size, scales):
    """The numbers of a packed weight."""
    integers = api.cat([weight & 15, weight >> 4], 1).to(scales.dtype) - 8
    groups = integers.view(weight.shape[0], -1, size)
    scale, zero = scales.transpose(0, 1).unbind(2)
    decoded = groups * scale.unsqueeze(2) + zero.unsqueeze(2)
    return decoded.view(integers.shape)


@composite(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, "
    "Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, "
    "bool use_fast_accum=False) -> Tensor",
    out=True,
    method=False,
    seen=True,
)
def scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum):
    """``(self * scale_a) @ (mat2 * scale_b) + bias`` of eight-bit floats, summed in
    float32. ``scale_result`` is, as in PyTorch on a CPU, not applied.
    """
    for name, each in (("mat1", a), ("mat2", b)):
        require(each.dim() == 2, f"{name} must be a matrix")
    require(
        a.shape[1] == b.shape[0],
        "mat_a and mat_b shapes cannot be multiplied ({}x{} and {}x{})",
        *(*a.shape, *b.shape),
    )
    m, n = a.shape[0], b.shape[1]
    scales = scale_a, scale_b
    is_one = all(each.numel() == 1 for each in scales)
    shapes = [list(each.shape) for each in scales]
    is_by_row = shapes == [[m, 1], [1, n]] and all(s.is_contiguous() for s in scales)
    dtypes = {each.dtype for each in scales}
    is_narrow = a.dtype.itemsize == b.dtype.itemsize == 1
    is_narrow = is_narrow and a.is_floating_point() and b.is_floating_point()
    require(
        is_narrow and dtypes == {api.float32} and (is_one or is_by_row),
        "Invalid scaling configuration.\n- For TensorWise scaling, a and b should be "
        "float8, scales should be float and singletons.\n- For RowWise scaling, a and "
        f"b should be float8, scales should be float, scale_a should be ({m}, 1) and "
        f"scale_b should be (1, {n}), and both should be contiguous.\nGot {a.dtype}, "
        f"{b.dtype}, scales of shapes {shapes}",
        error=ValueError,
    )
    if is_one:
        scale_a, scale_b = scale_a.reshape(()), scale_b.reshape(())
    sums = api.mm(a.float(), b.float()) * scale_a * scale_b
    sums = sums if bias is None else sums + bias.float()
    return sums.to(a.dtype if out_dtype is None else out_dtype)


@composite(
    "_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, "
    "int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? bias, "
    "ScalarType? out_dtype, int[] contraction_dim=[], bool use_fast_accum=False) "
    "-> Tensor",
    out=True,
    method=False,
)
def scaled_mm_v2(
    a,
    b,
    scale_a,
    recipe_a,
    swizzle_a,
    scale_b,
    recipe_b,
    swizzle_b,
    bias,
    out_dtype,
    contraction_dim,
    use_fast_accum,
):
    """``_scaled_mm`` by recipes: a scale for the tensor, or one for each row of
    ``self`` and column of ``mat2``.
    """
    recipes = list(recipe_a), list(recipe_b)
    require(
        recipes in (([_TENSOR], [_TENSOR]), ([_ROW], [_ROW]))
        and not any([*swizzle_a, *swizzle_b]),
        "_scaled_mm_v2: scales are given for tensors or for rows, not swizzled; these "
        "are {} and {}",
        *recipes,
        error=NotImplementedError,
    )
    return api.ops.aten._scaled_mm(
        *(a, b, scale_a[0], scale_b[0], bias, None, out_dtype, use_fast_accum)
    )
