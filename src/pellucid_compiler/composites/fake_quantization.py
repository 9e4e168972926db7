"""Fake quantization: values rounded to those that a quantized dtype can represent.

The ops that also return a mask are those that dispatch modes see; the others call them.
The computation and its gradients are in ``pellucid/ao/_quantized/fake.py``.
"""

from pellucid_compiler.composites import api, composite, framework_module

_SEEN = {"method": False, "function": False, "seen": True, "takes_parts": True}
_CALLER = {"method": False, "takes_parts": True}
_BOUNDS = "int quant_min, int quant_max"
_RESULTS = "(Tensor output, Tensor mask)"
_OUT = "*, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"
_OBSERVED = (
    "Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, "
    "Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, "
    "float averaging_const, int quant_min, int quant_max, int ch_axis, "
    "bool per_row_fake_quant=False, bool symmetric_quant=False"
)


def _fake():
    return framework_module("ao._quantized.fake")


@composite(
    "fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, "
    f"int zero_point, {_BOUNDS}) -> {_RESULTS}",
    out="fake_quantize_per_tensor_affine_cachemask.out(Tensor self, float scale, "
    f"int zero_point, {_BOUNDS}, {_OUT}",
    **_SEEN,
)
def fake_quantize_per_tensor_affine_cachemask(
    x, scale, zero_point, quant_min, quant_max
):
    """``fake_quantize_per_tensor_affine``, and where the integers are in bounds."""
    return _fake().with_mask(x, scale, zero_point, quant_min, quant_max)


@composite(
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, "
    "Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, "
    f"{_BOUNDS}) -> {_RESULTS}",
    out="_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.out(Tensor self, "
    "Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, "
    f"{_BOUNDS}, {_OUT}",
    **_SEEN,
)
def _by_tensors(x, scale, zero_point, fake_quant_enabled, quant_min, quant_max):
    """The same with the scale and the zero point in tensors of one element; ``self``
    itself where ``fake_quant_enabled`` is 0.
    """
    return _fake().with_mask_by_tensors(
        x, scale, zero_point, fake_quant_enabled, quant_min, quant_max
    )


@composite(
    "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, "
    f"Tensor zero_point, int axis, {_BOUNDS}) -> {_RESULTS}",
    out="fake_quantize_per_channel_affine_cachemask.out(Tensor self, Tensor scale, "
    f"Tensor zero_point, int axis, {_BOUNDS}, {_OUT}",
    **_SEEN,
)
def fake_quantize_per_channel_affine_cachemask(
    x, scale, zero_point, axis, quant_min, quant_max
):
    """``fake_quantize_per_channel_affine``, and where the integers are in bounds."""
    return _fake().with_mask_by_channels(
        x, scale, zero_point, axis, quant_min, quant_max
    )


@composite(
    "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, "
    f"Tensor zero_point, {_BOUNDS}) -> Tensor",
    **_CALLER,
)
def fake_quantize_by_tensors(x, scale, zero_point, quant_min, quant_max):
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point in tensors of
    one element.
    """
    op = api.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    enabled = api.ones(1, dtype=api.int64, device=x.device)
    return op(x, scale, zero_point, enabled, quant_min, quant_max)[0]


@composite(
    "fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, "
    f"{_BOUNDS}) -> Tensor",
    **_CALLER,
)
def fake_quantize_per_tensor_affine(x, scale, zero_point, quant_min, quant_max):
    """``(clamp(round(x / scale) + zero_point) - zero_point) * scale``.

    ``scale`` and ``zero_point`` are numbers or tensors of one element; ``quant_min``
    and ``quant_max`` bound the integers. The gradient is that of the identity within
    the bounds.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.3, 9.0]), 0.5, 0, 0, 3)
    tensor([0.5000, 1.5000])
    """
    op = api.ops.aten.fake_quantize_per_tensor_affine_cachemask
    return op(x, scale, zero_point, quant_min, quant_max)[0]


@composite(
    "fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, "
    f"int axis, {_BOUNDS}) -> Tensor",
    **_CALLER,
)
def fake_quantize_per_channel_affine(x, scale, zero_point, axis, quant_min, quant_max):
    """``fake_quantize_per_tensor_affine`` with a scale for each index of ``axis``."""
    op = api.ops.aten.fake_quantize_per_channel_affine_cachemask
    return op(x, scale, zero_point, axis, quant_min, quant_max)[0]


@composite(
    "fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) "
    "-> Tensor",
    method=False,
    function=False,
)
@composite(
    "fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) "
    "-> Tensor",
    method=False,
    function=False,
)
def fake_quantize_cachemask_backward(grad, mask):
    """The gradient of the input: that of the result within the bounds, else 0."""
    return grad * mask


@composite(
    f"_fused_moving_avg_obs_fq_helper({_OBSERVED}) -> {_RESULTS}",
    method=False,
    seen=True,
)
def _fused_moving_avg_obs_fq_helper(*arguments):
    """``fused_moving_avg_obs_fake_quant``, and where the integers are in bounds."""
    return _fake().observed(*arguments)


@composite(f"fused_moving_avg_obs_fake_quant({_OBSERVED}) -> Tensor", method=False)
def fused_moving_avg_obs_fake_quant(x, *arguments):
    """Observes ``input`` by a moving average and fake-quantizes it.

    Writes ``running_min``, ``running_max``, ``scale`` and ``zero_point``.
    """
    if not x.numel():
        return x.clone()
    return api.ops.aten._fused_moving_avg_obs_fq_helper(x, *arguments)[0]
