"""Utilities for gradients and parameters."""

from importlib import import_module
from typing import Any

from pellucid.nn.utils import fusion, parametrizations, parametrize, rnn
from pellucid.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from pellucid.nn.utils.convert_parameters import (
    parameters_to_vector,
    vector_to_parameters,
)
from pellucid.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from pellucid.nn.utils.init import skip_init
from pellucid.nn.utils.memory_format import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
)
from pellucid.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from pellucid.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "fusion",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]


def __getattr__(name: str) -> Any:
    if name in ("prune", "stateless"):
        return import_module(f"pellucid.nn.utils.{name}")
    raise AttributeError(f"module 'pellucid.nn.utils' has no attribute {name!r}")
