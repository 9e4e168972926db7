"""torchvision's ops on boxes and deformed patches, by ops of the catalogue.

Gradients follow from those; the ops that torchvision's backward functions call are
here, too. Read ``pellucid_compiler/catalogue/regions.py`` and ``detection.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._library.registration import Library

_REGIONS = "Tensor rois"
_BINS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_IMAGE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_DEFORMED = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)
_LIBRARY = Library("torchvision", "DEF")
_BODIES: dict[str, Callable[..., Any]] = {}


def _op(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(body: Callable[..., Any]) -> Callable[..., Any]:
        _BODIES[schema] = body
        return body

    return enter


def define() -> None:
    """Define ``torch.ops.torchvision``; once."""
    for schema, body in _BODIES.items():
        _LIBRARY.impl(_LIBRARY.define(schema), body, "CompositeImplicitAutograd")


@_op("_cuda_version() -> int")
def cuda_version() -> int:
    """-1: built without CUDA."""
    return -1


@_op("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The indices of the boxes that no better box suppresses, best first."""
    if boxes.dim() != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"nms: boxes are (N, 4), {tuple(boxes.shape)} was given")
    if scores.shape != boxes.shape[:1]:
        raise RuntimeError(
            f"nms: {len(boxes)} boxes, and scores of shape {tuple(scores.shape)}"
        )
    order = scores.sort(stable=True, descending=True).indices
    kept: Tensor = pellucid.ops.pellucid._nms_kept(boxes.detach()[order], iou_threshold)
    return order[kept]


# ---------------------------------------------------------------- regions


def _largest_bin(
    rois: Tensor, scale: float, pooled: tuple[int, int], more: int
) -> list[int]:
    """How many elements the largest bin spans in height and width, plus ``more``."""
    if len(rois) == 0:
        return [1, 1]
    sizes = (rois[:, 3:5] - rois[:, 1:3]).detach().amax(0).double() * scale
    height, width = sizes.ceil().clamp(min=1).tolist()
    return [-int(-height // pooled[0]) + more, -int(-width // pooled[1]) + more]


def _sampling(
    rois: Tensor, scale: float, pooled: tuple[int, int], sampling_ratio: int
) -> tuple[int, int, bool]:
    """How many samples the largest bin has, and whether their number varies by bin."""
    if sampling_ratio > 0:
        return sampling_ratio, sampling_ratio, False
    height, width = _largest_bin(rois, scale, pooled, 0)
    return height, width, True


def _stand_in(grad: Tensor, *sizes: int) -> Tensor:
    """Replaces the image: the derivative of a linear op reads only its sizes."""
    return grad.new_zeros(()).expand(sizes)


@_op(
    f"roi_align(Tensor input, {_REGIONS}, {_BINS}, int sampling_ratio, bool aligned)"
    " -> Tensor"
)
def roi_align(
    x: Tensor,
    rois: Tensor,
    scale: float,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """The mean of bilinear samples in every bin."""
    sampled = _sampling(rois, scale, (height, width), sampling_ratio)
    pooled: Tensor = pellucid.ops.pellucid._roi_align(
        x, rois, scale, height, width, *sampled, aligned
    )
    return pooled


@_op(
    f"_roi_align_backward(Tensor grad, {_REGIONS}, {_BINS}, {_IMAGE}, "
    "int sampling_ratio, bool aligned) -> Tensor"
)
def roi_align_backward(
    grad: Tensor, rois: Tensor, scale: float, height: int, width: int, *rest: Any
) -> Tensor:
    """The gradient of the image."""
    *image, sampling_ratio, aligned = rest
    sampled = _sampling(rois, scale, (height, width), sampling_ratio)
    grad_image: Tensor = pellucid.ops.pellucid._roi_align_backward(
        grad, _stand_in(grad, *image), rois, scale, height, width, *sampled, aligned
    )
    return grad_image


@_op(
    f"ps_roi_align(Tensor input, {_REGIONS}, {_BINS}, int sampling_ratio) "
    "-> (Tensor, Tensor)"
)
def ps_roi_align(
    x: Tensor, rois: Tensor, scale: float, height: int, width: int, sampling_ratio: int
) -> Any:
    """``roi_align`` in which each bin reads its own channel, and these channels."""
    sampled = _sampling(rois, scale, (height, width), sampling_ratio)
    return pellucid.ops.pellucid._ps_roi_align(x, rois, scale, height, width, *sampled)


@_op(
    f"_ps_roi_align_backward(Tensor grad, {_REGIONS}, Tensor channel_mapping, {_BINS}, "
    f"int sampling_ratio, {_IMAGE}) -> Tensor"
)
def ps_roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    channels: Tensor,
    scale: float,
    height: int,
    width: int,
    sampling_ratio: int,
    *image: int,
) -> Tensor:
    """The gradient of the image."""
    sampled = _sampling(rois, scale, (height, width), sampling_ratio)
    grad_image: Tensor = pellucid.ops.pellucid._ps_roi_align_backward(
        grad, _stand_in(grad, *image), rois, scale, height, width, *sampled
    )
    return grad_image


@_op(f"roi_pool(Tensor input, {_REGIONS}, {_BINS}) -> (Tensor, Tensor)")
def roi_pool(x: Tensor, rois: Tensor, scale: float, height: int, width: int) -> Any:
    """The greatest element of every bin, and its index in the image."""
    largest = _largest_bin(rois, scale, (height, width), 3)
    return pellucid.ops.pellucid._roi_pool(x, rois, scale, height, width, *largest)


@_op(
    f"_roi_pool_backward(Tensor grad, {_REGIONS}, Tensor argmax, {_BINS}, {_IMAGE}) "
    "-> Tensor"
)
def roi_pool_backward(grad: Tensor, rois: Tensor, places: Tensor, *rest: Any) -> Tensor:
    """The gradient of the image: that of a bin goes to its greatest element."""
    *_, batch, channels, height, width = rest
    area = height * width
    channel = pellucid.arange(channels, device=grad.device)[:, None, None]
    plane = rois[:, 0].long()[:, None, None, None] * channels + channel
    flat = plane * area + places.clamp(min=0)
    counted = grad.masked_fill(places < 0, 0)
    grad_image = grad.new_zeros(batch * channels * area)
    grad_image.index_add_(0, flat.reshape(-1), counted.reshape(-1))
    return grad_image.view(batch, channels, height, width)


@_op(f"ps_roi_pool(Tensor input, {_REGIONS}, {_BINS}) -> (Tensor, Tensor)")
def ps_roi_pool(x: Tensor, rois: Tensor, scale: float, height: int, width: int) -> Any:
    """The mean of every bin in its own channel, and these channels."""
    largest = _largest_bin(rois, scale, (height, width), 3)
    return pellucid.ops.pellucid._ps_roi_pool(x, rois, scale, height, width, *largest)


@_op(
    f"_ps_roi_pool_backward(Tensor grad, {_REGIONS}, Tensor channel_mapping, {_BINS}, "
    f"{_IMAGE}) -> Tensor"
)
def ps_roi_pool_backward(
    grad: Tensor,
    rois: Tensor,
    channels: Tensor,
    scale: float,
    height: int,
    width: int,
    *image: int,
) -> Tensor:
    """The gradient of the image."""
    largest = _largest_bin(rois, scale, (height, width), 3)
    grad_image: Tensor = pellucid.ops.pellucid._ps_roi_pool_backward(
        grad, _stand_in(grad, *image), rois, scale, height, width, *largest
    )
    return grad_image


# ---------------------------------------------------------------- deformed convolution


@_op(f"deform_conv2d({_DEFORMED}) -> Tensor")
def deform_conv2d(
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    *numbers: Any,
) -> Tensor:
    """A convolution that reads its patches at shifted positions."""
    *spatial, groups, offset_groups, use_mask = numbers
    out, _, *kernel = weight.shape
    _check_deformed(x, weight, offset, spatial, groups)
    columns = pellucid.ops.pellucid._deform_columns(
        x,
        offset,
        mask,
        kernel,
        spatial[0:2],
        spatial[2:4],
        spatial[4:6],
        offset_groups,
        use_mask,
    )
    batch, size = len(x), columns.shape[-2:]
    columns = columns.reshape(batch, groups, -1, size[0] * size[1])
    rows = weight.reshape(1, groups, out // groups, -1)
    convolved: Tensor = (rows @ columns).view(batch, out, *size)
    return convolved + bias.view(1, -1, 1, 1)


def _check_deformed(
    x: Tensor, weight: Tensor, offset: Tensor, spatial: list[int], groups: int
) -> None:
    if x.dim() != 4 or offset.dim() != 4 or weight.dim() != 4:
        raise RuntimeError(
            f"deform_conv2d: input, offset and weight have {x.dim()}, {offset.dim()} "
            f"and {weight.dim()} dims; give 4 each"
        )
    if weight.shape[1] * groups != x.shape[1] or weight.shape[0] % groups:
        raise RuntimeError(
            f"deform_conv2d: a weight of shape {tuple(weight.shape)} in {groups} "
            f"groups does not fit {x.shape[1]} channels"
        )
    for d in range(2):
        reach = spatial[4 + d] * (weight.shape[2 + d] - 1) + 1
        count = (x.shape[2 + d] + 2 * spatial[2 + d] - reach) // spatial[d] + 1
        if offset.shape[2 + d] != count:
            raise RuntimeError(
                f"deform_conv2d: the result has {count} elements in dim {2 + d}, "
                f"offset {offset.shape[2 + d]}"
            )


@_op(
    f"_deform_conv2d_backward(Tensor grad, {_DEFORMED}) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
def deform_conv2d_backward(grad: Tensor, *arguments: Any) -> Any:
    """The gradients of input, weight, offset, mask and bias."""
    with pellucid.enable_grad():
        tensors = [tensor.detach().requires_grad_() for tensor in arguments[:5]]
        result = deform_conv2d(*tensors, *arguments[5:])
    return pellucid.autograd.grad(
        result, tensors, grad, allow_unused=True, materialize_grads=True
    )


# ---------------------------------------------------------------- of quantized tensors


@_op("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
@_op(
    f"qroi_align(Tensor input, {_REGIONS}, float input_scale, int input_zero_point, "
    "float rois_scale, int rois_zero_point, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
)
def of_quantized(*args: Any) -> Any:
    """Refused: the ops are not implemented for quantized tensors."""
    raise NotImplementedError(
        "torchvision's ops on quantized tensors are not implemented: give float tensors"
    )
