"""Insertion points in sorted rows, membership, and distinct elements."""

import math

from pellucid_compiler.composites import api, composite, require


@composite(
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, "
    "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    out=True,
    method=False,
    casts_out=False,
)
@composite(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
    "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    out="Tensor_out",
    method=False,
    casts_out=False,
)
def searchsorted(rows, values, *, out_int32, right, side, sorter):
    """The insertion points of values in sorted rows: before equal elements, or after
    them with ``right``.
    """
    require(
        side in (None, "left", "right"), "side is 'left' or 'right', not {!r}", side
    )
    require(
        side != "left" or not right, "side='left' and right=True exclude each other"
    )
    require(rows.dim() != 0, "searchsorted needs a sorted row, not a number")
    require(
        rows.dtype != api.bool,
        "searchsorted does not take bools: convert with .to(torch.int64) or .float()",
        error=NotImplementedError,
    )
    rows = rows if sorter is None else rows.gather(-1, sorter)
    shape = values.shape if isinstance(values, api.Tensor) else ()
    require(
        rows.dim() == 1 or rows.shape[:-1] == shape[:-1],
        "searchsorted: rows of shape {} do not fit values of shape {}",
        rows.shape,
        shape,
    )
    positions = _places(rows, values, shape, right or side == "right")
    return positions.int() if out_int32 else positions


def _places(rows, values, shape, right):
    """Calls the routine with operands of one dtype that it supports, and with at least
    one row of values.
    """
    if not isinstance(values, api.Tensor):
        values = api.tensor(values, device=rows.device)
        if values.is_floating_point() and rows.is_floating_point():
            values = values.to(rows.dtype)
    dtype = api.promote_types(rows.dtype, values.dtype)
    if dtype in (api.float16, api.bfloat16):
        dtype = api.float32
    values = values.reshape(-1) if rows.dim() == 1 else values
    return api._C._pellucid._searchsorted(
        rows.to(dtype), values.to(dtype), right
    ).reshape(shape)


@composite(
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, "
    "bool right=False) -> Tensor",
    out=True,
    method=False,
)
@composite(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, "
    "bool right=False) -> Tensor",
    out="Tensor_out",
    method=False,
    casts_out=False,
)
def bucketize(values, boundaries, *, out_int32, right):
    """The number of the bucket between sorted ``boundaries`` that holds each value."""
    require(
        boundaries.dim() == 1, "bucketize: boundaries have {} dims", boundaries.dim()
    )
    return api.searchsorted(boundaries, values, out_int32=out_int32, right=right)


_FEW = 64  # elements, or elements among them, that are compared one by one
_ISIN = "bool assume_unique=False, bool invert=False) -> Tensor"


@composite(
    f"isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, {_ISIN}",
    out=True,
    method=False,
    casts_out=False,
)
@composite(
    f"isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, {_ISIN}",
    out=True,
    method=False,
    casts_out=False,
)
def isin(elements, among, *, assume_unique, invert):
    """Which elements are among ``test_elements``."""
    if not isinstance(elements, api.Tensor):
        elements = api.tensor(elements, device=among.device)
    _require_order(elements, among)
    if not among.numel():
        is_member = api.zeros_like(elements, dtype=api.bool)
    elif among.numel() <= _FEW or elements.numel() <= _FEW:
        is_member = (elements.unsqueeze(-1) == among.reshape(-1)).any(-1)
    else:
        dtype = api.promote_types(elements.dtype, among.dtype)
        elements, among = elements.to(dtype), among.to(dtype).reshape(-1).sort()[0]
        places = api.searchsorted(among, elements).clamp(max=among.numel() - 1)
        is_member = among[places] == elements
    return ~is_member if invert else is_member


@composite(
    f"isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, {_ISIN}",
    out=True,
    method=False,
    casts_out=False,
)
def is_number(elements, number, *, assume_unique, invert):
    """Which elements are the number."""
    _require_order(elements, api.tensor(number))
    return elements != number if invert else elements == number


def _require_order(*tensors):
    """Refuse dtypes without an order: PyTorch sorts the elements."""
    for tensor in tensors:
        require(
            tensor.dtype != api.bool and not tensor.is_complex(),
            "isin does not take {}: convert with .to(torch.int64) or .real",
            tensor.dtype,
        )


# ------------------------------------------------------------------ distinct elements


@composite(
    "unique_consecutive(Tensor self, bool return_inverse=False, "
    "bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
    method=False,
    function=False,
    out=True,
    tags="dynamic_output_shape",
)
def unique_consecutive(x, return_inverse, return_counts, dim):
    """The elements (slices along ``dim``) that differ from the one before; the index
    among them of each element, and the counts.
    """
    rows = x.reshape(-1) if dim is None else x.movedim(dim, 0)
    _require_comparable("unique_consecutive", rows)
    size = rows.shape[0]
    slices = rows.reshape(size, math.prod(rows.shape[1:]))
    differs = (slices[1:] != slices[:-1]).any(1)
    starts = api.cat((differs.new_ones(min(size, 1)), differs))
    places = starts.nonzero().squeeze(1)
    distinct = rows[places]
    inverse = starts.long().cumsum(0) - 1
    ends = api.cat((places[1:], places.new_full((min(size, 1),), size)))
    nothing = places.new_empty(0)
    return (
        distinct if dim is None else distinct.movedim(0, dim),
        _placed(inverse, x, dim) if return_inverse else nothing,
        ends - places if return_counts else nothing,
    )


def _placed(inverse, x, dim):
    return api.ops.aten._unsafe_view(inverse, x.shape) if dim is None else inverse


def _require_comparable(name, rows):
    require(
        0 not in rows.shape[1:],
        "{}: slices of shape {} have no elements to compare",
        name,
        tuple(rows.shape[1:]),
    )


@composite(
    "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
    method=False,
    function=False,
    out=True,
    tags="dynamic_output_shape",
)
def unique_dim_consecutive(x, dim, return_inverse, return_counts):
    """``unique_consecutive`` of slices along ``dim``, always with all results."""
    return unique_consecutive(x, True, True, dim)


@composite(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
    method=False,
    function=False,
    out=True,
    tags="dynamic_output_shape",
)
def unique_dim(x, dim, sorted, return_inverse, return_counts):
    """The distinct slices along ``dim``, in order; the index among them of each slice,
    and the counts, always with all results. Slices are ranked column by column: equal
    ranks mean that they are equal so far.
    """
    slices = x.movedim(dim, 0)
    _require_comparable("unique", slices)
    rows = slices.flatten(1) if slices.dim() > 1 else slices.unsqueeze(1)
    number = api.zeros(rows.shape[0], dtype=api.int64, device=x.device)
    for column in rows.unbind(1):
        rank = api._unique2(column, True, True)[1]
        number = api._unique2(number * rows.shape[0] + rank, True, True)[1]
    _, inverse, counts = api._unique2(number, True, True, True)
    steps = api.arange(inverse.numel(), device=x.device)
    first = api.zeros_like(counts).scatter_(0, inverse, steps)
    return x.index_select(dim, first), inverse, counts
