"""What ExecuTorch's quantized kernels compute: ``get_executorch_backend_config``."""

from __future__ import annotations

import operator
from typing import Any

import pellucid
from pellucid import nn
from pellucid.ao.quantization.backend_config import patterns
from pellucid.ao.quantization.backend_config.backend_config import (
    BackendConfig,
    BackendPatternConfig,
)
from pellucid.ao.quantization.backend_config.backends import (
    DYNAMIC,
    DYNAMIC_HALF,
    DYNAMIC_SYMMETRIC,
    PLAIN,
    PLAIN_SYMMETRIC,
    ROWS,
    WEIGHTED,
    WEIGHTED_SYMMETRIC,
)
from pellucid.nn import functional as F

_STATIC = [WEIGHTED_SYMMETRIC, WEIGHTED]
_DYNAMIC = [DYNAMIC, DYNAMIC_SYMMETRIC, DYNAMIC_HALF]
_INTEGERS = [PLAIN_SYMMETRIC, PLAIN]
_ARITHMETIC = (
    *(operator.add, pellucid.add, operator.sub, pellucid.sub),
    *(operator.mul, pellucid.mul),
)
_OF_ONE_SCALE: tuple[Any, ...] = (
    *(nn.Flatten, F.adaptive_avg_pool2d, F.elu, F.hardtanh, F.max_pool2d, F.pad),
    *(F.relu, F.relu6, F.leaky_relu, F.leaky_relu_, nn.AdaptiveAvgPool2d),
    *(nn.ConstantPad2d, nn.ELU, nn.MaxPool2d, nn.ReLU6, nn.Hardtanh, nn.LeakyReLU),
    *(pellucid.clamp, pellucid.flatten, pellucid.mean, pellucid.permute),
    *(pellucid.permute_copy, pellucid.squeeze, "clamp", "mean", "permute", "reshape"),
    *("relu", "relu_", "squeeze", "squeeze_", "leaky_relu"),
)
_CONCATENATIONS = (pellucid.cat, pellucid.concat, pellucid.concatenate)


def get_executorch_backend_config() -> BackendConfig:
    """What ExecuTorch's kernels can quantize, with signed or unsigned activations."""
    made = BackendConfig("executorch")
    for family in (
        patterns.bare_product(nn.Linear, F.linear, [*_STATIC, *_DYNAMIC]),
        patterns.product(nn.Conv2d, F.conv2d, _STATIC),
        patterns.of_two_operands(_ARITHMETIC, [PLAIN_SYMMETRIC, WEIGHTED]),
        patterns.of_one_scale(_OF_ONE_SCALE, _INTEGERS),
        [BackendPatternConfig(nn.BatchNorm2d).set_dtype_configs(_INTEGERS)],
        patterns.of_one_scale(_CONCATENATIONS, _INTEGERS),
        patterns.embeddings([ROWS]),
        [_embedding_function()],
    ):
        made.set_backend_pattern_configs(family)
    return made


def _embedding_function() -> BackendPatternConfig:
    call = BackendPatternConfig(F.embedding).set_dtype_configs([ROWS])
    return call._set_input_type_to_index({"weight": 1})
