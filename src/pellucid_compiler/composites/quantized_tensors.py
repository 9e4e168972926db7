"""Quantized tensors: quantization, dequantization, and their parameters.

Implemented in ``pellucid/ao/_quantized``: ``construct.py``, ``methods.py``.
"""

from pellucid_compiler.composites import api, composite, framework_module

_SEEN = {"seen": True, "takes_parts": True}
_FUNCTION = {"method": False, **_SEEN}
_PUBLIC = {"method": True, "function": True, **_SEEN}


def _construct():
    return framework_module("ao._quantized.construct")


def _methods():
    return framework_module("ao._quantized.methods")


def _on(function, x, *args):
    """``function`` of a tensor, or of the values of a nested one."""
    if x.is_nested:
        return framework_module("nested._ops.quantized").on_values(function, x, *args)
    return function(x, *args)


def write_each(out, values):
    """Copies results into the tensors of ``out``, in their sizes."""
    for target, value in zip(out, values, strict=True):
        if target.shape != value.shape:
            target.resize_(value.shape)
        target.copy_(value)


# ------------------------------------------------------------------ quantization


@composite(
    "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, "
    "ScalarType dtype) -> Tensor[]",
    **_FUNCTION,
)
def quantize_each(tensors, scales, zero_points, dtype):
    """``quantize_per_tensor`` of every tensor of a list, with a scale for each."""
    quantize = _construct().quantize_per_tensor
    rows = zip(tensors, scales, zero_points, strict=True)
    return [quantize(x, float(s), int(z), dtype) for x, s, z in rows]


@composite(
    "quantize_per_tensor.tensors_out(Tensor[] tensors, Tensor scales, "
    "Tensor zero_points, ScalarType dtype, *, Tensor(a!)[] out) -> ()",
    **_FUNCTION,
)
def quantize_each_into(tensors, scales, zero_points, dtype, *, out):
    """``quantize_per_tensor`` of every tensor of a list, into those of ``out``."""
    write_each(out, quantize_each(tensors, scales, zero_points, dtype))


@composite(
    "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) "
    "-> Tensor",
    out=True,
    **_FUNCTION,
)
@composite(
    "quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
    "ScalarType dtype) -> Tensor",
    out=True,
    **_FUNCTION,
)
def quantize_per_tensor(x, scale, zero_point, dtype):
    """The float32 tensor quantized with one scale: ``round(x / scale + zero_point)``.

    ``dtype`` is ``qint8``, ``quint8`` or ``qint32``; ``scale`` and ``zero_point`` are
    numbers or tensors of one element; vectors for a list of tensors.

    >>> torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.5, 2, torch.quint8)
    tensor([0.5000, 1.0000], size=(2,), dtype=torch.quint8,
           quantization_scheme=torch.per_tensor_affine, scale=0.5, zero_point=2)
    """
    quantize = _construct().quantize_per_tensor
    return _on(quantize, x, float(scale), int(zero_point), dtype)


@composite(
    "quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) "
    "-> Tensor",
    out=True,
    **_FUNCTION,
)
def quantize_per_tensor_dynamic(x, dtype, reduce_range):
    """The float32 tensor as ``qint8`` or ``quint8``, with the scale from its
    minimum and maximum; ``reduce_range`` leaves one bit unused.
    """
    return _on(_construct().quantize_per_tensor_dynamic, x, dtype, reduce_range)


@composite(
    "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, "
    "ScalarType dtype) -> Tensor",
    out=True,
    **_FUNCTION,
)
def quantize_per_channel(x, scales, zero_points, axis, dtype):
    """The float32 tensor quantized with a scale for each index of dim ``axis``.

    Zero points of a floating dtype are subtracted before the division
    (``per_channel_affine_float_qparams``).
    """
    quantize = _construct().quantize_per_channel
    if x.is_nested:
        per_channel = framework_module("nested._ops.quantized").per_channel
        return per_channel(quantize, x, scales, zero_points, axis, dtype)
    return quantize(x, scales, zero_points, axis, dtype)


_SIZES = "int[] size, Tensor qtensor, *"
_FORMAT = "MemoryFormat? memory_format=None"


@composite(
    f"empty_quantized({_SIZES}, ScalarType? dtype=None, Layout? layout=None, "
    f"Device? device=None, bool? pin_memory=None, {_FORMAT}) -> Tensor",
    out=f"empty_quantized.out({_SIZES}, {_FORMAT}, Tensor(a!) out) -> Tensor(a!)",
    **_FUNCTION,
)
def empty_quantized(size, qtensor, *, memory_format, **options):
    """An uninitialised tensor of this size with the scales of ``qtensor``."""
    return _construct().empty_quantized(size, qtensor, memory_format)


@composite(
    "choose_qparams_optimized(Tensor input, int numel, int n_bins, float ratio, "
    "int bit_width) -> (Tensor, Tensor)",
    method=False,
)
def choose_qparams_optimized(x, numel, n_bins, ratio, bit_width):
    """(greatest, least) of the range of the first ``numel`` elements that integers of
    ``bit_width`` bits represent with the least error: it narrows in steps of
    1 / ``n_bins`` by at most the share ``ratio``.
    """
    ends = framework_module("ao._quantized.ranges").narrowed(
        x, numel, n_bins, ratio, bit_width
    )
    return tuple(api.tensor([end], dtype=x.dtype) for end in ends)


# ------------------------------------------------------------------ dequantization


@composite("dequantize.tensors(Tensor[] tensors) -> Tensor[]", **_FUNCTION)
def dequantize_each(tensors):
    """``dequantize`` of every tensor of a list."""
    return [dequantize(each) for each in tensors]


@composite(
    "dequantize.tensors_out(Tensor[] tensors, *, Tensor(a!)[] out) -> ()", **_FUNCTION
)
def dequantize_each_into(tensors, *, out):
    """``dequantize`` of every tensor of a list, into those of ``out``."""
    write_each(out, dequantize_each(tensors))


@composite("dequantize.self(Tensor self) -> Tensor", out=True, **_PUBLIC)
def dequantize(x):
    """The numbers that a quantized tensor represents, float32; ``float()`` for others.

    >>> torch.quantize_per_tensor(torch.ones(2), 0.5, 2, torch.quint8).dequantize()
    tensor([1., 1.])
    """
    return _on(_methods().dequantize, x)


@composite("int_repr(Tensor self) -> Tensor", out=True, **_PUBLIC)
def int_repr(x):
    """The integers of a quantized tensor, copied."""
    return _on(_methods().int_repr, x)


@composite("qscheme(Tensor self) -> QScheme", function=False, **_SEEN)
def qscheme(x):
    """``torch.per_tensor_affine`` or ``torch.per_channel_affine``."""
    return _on(_methods().qscheme, x)


@composite("q_scale(Tensor self) -> float", **_PUBLIC)
def q_scale(x):
    """The scale of a tensor with one scale."""
    return _on(_methods().q_scale, x)


@composite("q_zero_point(Tensor self) -> int", **_PUBLIC)
def q_zero_point(x):
    """The zero point of a tensor with one scale."""
    return _on(_methods().q_zero_point, x)


@composite("q_per_channel_scales(Tensor self) -> Tensor", out=True, **_PUBLIC)
def q_per_channel_scales(x):
    """The scales of the channels, float64."""
    return _on(_methods().q_per_channel_scales, x)


@composite("q_per_channel_zero_points(Tensor self) -> Tensor", out=True, **_PUBLIC)
def q_per_channel_zero_points(x):
    """The zero points of the channels, int64."""
    return _on(_methods().q_per_channel_zero_points, x)


@composite("q_per_channel_axis(Tensor self) -> int", **_PUBLIC)
def q_per_channel_axis(x):
    """The dim of the channels."""
    find = _methods().q_per_channel_axis
    if x.is_nested:
        return framework_module("nested._ops.quantized").channel_axis(x, find)
    return find(x)
