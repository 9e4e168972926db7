"""The functions that make messages, under PyTorch's names."""

from pellucid.utils.tensorboard._arrays import as_array as make_np
from pellucid.utils.tensorboard._layouts import convert_to_HWC
from pellucid.utils.tensorboard._numbers import (
    compute_curve,
    histogram,
    histogram_raw,
    make_histogram,
    pr_curve,
    pr_curve_raw,
    scalar,
    tensor_proto,
)
from pellucid.utils.tensorboard._pictures import (
    audio,
    image,
    image_boxes,
    make_image,
    make_video,
    video,
)
from pellucid.utils.tensorboard._plugins import custom_scalars, hparams, mesh, text

__all__ = [
    "audio",
    "compute_curve",
    "convert_to_HWC",
    "custom_scalars",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "make_histogram",
    "make_image",
    "make_np",
    "make_video",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]
