"""Patterns of layers and functions, as functions of a backend's dtypes.

The layers come from the mappings of the eager flow: what is fused (``fuse_modules``),
what is trained with rounding (``ao/nn/qat``), what rounds its weight in floats
(``ao/nn/quantized/reference``). The backends choose from here (``backends.py``).
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable
from typing import Any

import pellucid
from pellucid import nn
from pellucid.ao.nn import qat
from pellucid.ao.nn.intrinsic import qat as nniqat
from pellucid.ao.nn.quantized import reference
from pellucid.ao.quantization.backend_config.backend_config import (
    BackendPatternConfig,
    DTypeConfig,
    ObservationType,
)
from pellucid.ao.quantization.fuse_modules import FUSED, fuse_layers
from pellucid.ao.quantization.qconfig_mapping import FIXED_RANGES
from pellucid.nn import functional as F

Patterns = list[BackendPatternConfig]
Dtypes = list[DTypeConfig]

_SHARED = ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT
_OWN = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
_WEIGHT_AND_BIAS = {"weight": 1, "bias": 2}


def _pattern(pattern: Any, dtypes: Dtypes) -> BackendPatternConfig:
    return BackendPatternConfig(pattern).set_dtype_configs(dtypes)


def _weighted(layer: Any, root: Any, dtypes: Dtypes) -> BackendPatternConfig:
    """A layer with the weight of a root: the root itself, or a fused layer that
    contains it
    """
    made = _pattern(layer, dtypes).set_root_module(root)
    return made.set_reference_quantized_module(getattr(reference, root.__name__))


def _trained(layer: Any, root: Any, trained: Any, dtypes: Dtypes) -> Patterns:
    """A float layer, and its reference form."""
    return [
        _weighted(layer, root, dtypes).set_qat_module(trained),
        _weighted(trained, root, dtypes),
    ]


def _with_functional_relu(layers: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The same layers with ``relu`` as a layer and as a function."""
    is_relu = layers[-1] is nn.ReLU
    return [layers, (*layers[:-1], F.relu)] if is_relu else [layers]


def _fusions(root: Any, dtypes: Dtypes) -> Patterns:
    """A sequence that begins with ``root`` and is fused; the fused layer, and its form
    for training.
    """
    found = []
    for layers, fused in FUSED.items():
        if layers[0] is not root:
            continue
        for pattern in _with_functional_relu(layers):
            made = _pattern(pattern, dtypes).set_fuser_method(fuse_layers)
            found.append(made.set_fused_module(fused))
        trained = getattr(nniqat, fused.__name__, None)
        if trained is not None:
            found += _trained(fused, root, trained, dtypes)
        else:
            found.append(_pattern(fused, dtypes))
    return found


def bare_product(root: Any, function: Any, dtypes: Dtypes) -> Patterns:
    """A layer with a weight and its function, with nothing after them."""
    call = _pattern(function, dtypes)._set_input_type_to_index(_WEIGHT_AND_BIAS)
    return [*_trained(root, root, getattr(qat, root.__name__), dtypes), call]


def product(root: Any, function: Any, dtypes: Dtypes) -> Patterns:
    """The same, optionally followed by what is fused with them."""
    return [
        *bare_product(root, function, dtypes),
        *(_pattern((function, relu), dtypes) for relu in (nn.ReLU, F.relu)),
        *_fusions(root, dtypes),
    ]


def linear(dtypes: Dtypes) -> Patterns:
    """Linear layers, optionally followed by relu or batch norm."""
    return product(nn.Linear, F.linear, dtypes)


def convolutions(dtypes: Dtypes) -> Patterns:
    """Convolutions, optionally followed by batch norm and relu; transposed ones."""
    found = []
    for dims in (1, 2, 3):
        root = getattr(nn, f"Conv{dims}d")
        found += product(root, getattr(F, f"conv{dims}d"), dtypes)
        transposed = getattr(nn, f"ConvTranspose{dims}d")
        norm = getattr(nn, f"BatchNorm{dims}d")
        fusion = _weighted((transposed, norm), transposed, dtypes)
        call = _pattern(getattr(F, f"conv_transpose{dims}d"), dtypes)
        found += [
            _weighted(transposed, transposed, dtypes),
            fusion.set_fuser_method(fuse_layers),
            call._set_input_type_to_index(_WEIGHT_AND_BIAS),
        ]
    return found


def of_two_operands(functions: Iterable[Any], dtypes: Dtypes) -> Patterns:
    """Functions of two operands, optionally followed by relu; with a number the scale
    depends on the tensor's.
    """
    by_tensors = {0: _OWN, 1: _SHARED, 2: _OWN}
    return [
        _pattern(pattern, dtypes)._set_num_tensor_args_to_observation_type(by_tensors)
        for function in functions
        for pattern in (
            *((function, relu) for relu in (nn.ReLU, F.relu, pellucid.relu)),
            function,
        )
    ]


def binary(dtypes: Dtypes) -> Patterns:
    """Sums and products."""
    functions = (operator.add, pellucid.add, operator.mul, pellucid.mul)
    return [*of_two_operands(functions, dtypes), _pattern(pellucid.matmul, dtypes)]


def of_one_scale(patterns: Iterable[Any], dtypes: Dtypes) -> Patterns:
    """Ops whose operands and result have one scale."""
    return [_pattern(each, dtypes).set_observation_type(_SHARED) for each in patterns]


def concatenation(dtypes: Dtypes) -> Patterns:
    """``cat``: one scale for its operands and its result."""
    return of_one_scale((pellucid.cat,), dtypes)


def activations(dtypes: Dtypes) -> Patterns:
    """Activations and norms with their own output scale."""
    layers = (
        *(nn.ELU, nn.LeakyReLU, nn.Hardswish, nn.InstanceNorm1d, nn.InstanceNorm2d),
        *(nn.InstanceNorm3d, nn.Dropout, nn.PReLU),
    )
    functions = (F.elu, F.hardswish, F.leaky_relu, F.dropout)
    group_norm, instance_norm = (
        _pattern(function, dtypes)._set_input_type_to_index(
            {"weight": first, "bias": first + 1}
        )
        for function, first in ((F.group_norm, 2), (F.instance_norm, 3))
    )
    plain = [_pattern(each, dtypes) for each in (*layers, *functions)]
    return [*plain, group_norm, instance_norm]


def layer_norm(dtypes: Dtypes) -> Patterns:
    """``layer_norm``, whose weight stays float."""
    call = _pattern(F.layer_norm, dtypes)
    return [
        _pattern(nn.LayerNorm, dtypes),
        call._set_input_type_to_index({"weight": 2, "bias": 3}),
    ]


def batch_norm(dtypes: Dtypes) -> Patterns:
    """Batch norms that do not follow a convolution."""
    found = []
    for norm in (nn.BatchNorm2d, nn.BatchNorm3d):
        found += [*_fusions(norm, dtypes), _pattern(norm, dtypes)]
    return found


def fixed_range(dtypes: Dtypes) -> Patterns:
    """Functions of a fixed range: their scale is known."""
    found = []
    for pattern, observer in FIXED_RANGES.items():
        scale, zero_point = map(float, observer().calculate_qparams())
        limited = copy.deepcopy(dtypes)
        for config in limited:
            for each in (
                config.input_dtype_with_constraints,
                config.output_dtype_with_constraints,
            ):
                if each.dtype is pellucid.quint8:
                    each.quant_min_lower_bound, each.quant_max_upper_bound = 0, 255
                    each.scale_exact_match = scale
                    each.zero_point_exact_match = int(zero_point)
        found.append(_pattern(pattern, limited))
    return found


_ON_INTEGERS: tuple[Any, ...] = (
    *(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AvgPool1d),
    *(nn.AvgPool2d, nn.AvgPool3d, nn.Hardtanh, nn.Identity, nn.MaxPool1d),
    *(nn.MaxPool2d, nn.MaxPool3d, nn.PixelShuffle, nn.PixelUnshuffle, nn.ReLU),
    *(nn.ReLU6, pellucid.adaptive_avg_pool1d, F.adaptive_avg_pool2d),
    *(F.adaptive_avg_pool3d, F.hardtanh, F.hardtanh_, F.interpolate, F.max_pool1d),
    *(F.max_pool2d, F.max_pool3d, F.pixel_shuffle, F.pixel_unshuffle, F.relu),
    *(F.relu6, pellucid.avg_pool1d, F.avg_pool2d, F.avg_pool3d, pellucid.clamp),
    *(pellucid.flatten, pellucid.mean, pellucid.narrow, pellucid.repeat_interleave),
    *(pellucid.transpose, pellucid.squeeze, pellucid.stack, pellucid.unsqueeze),
    *(operator.floordiv, "contiguous", "clamp", "detach", "detach_", "mean"),
    *("permute", "repeat", "repeat_interleave", "reshape", "resize_", "relu"),
    *("relu_", "squeeze", "squeeze_", "transpose", "unsqueeze", "unsqueeze_", "view"),
)


def on_integers(dtypes: Dtypes) -> Patterns:
    """Ops that move, compare or average: the result has the scale of the input."""
    return of_one_scale(_ON_INTEGERS, dtypes)


def shapes(dtypes: Dtypes) -> Patterns:
    """Questions about a tensor's shape."""
    nothing = ObservationType.INPUT_OUTPUT_NOT_OBSERVED
    return [
        _pattern(each, dtypes).set_observation_type(nothing)
        for each in ("shape", "size")
    ]


def recurrent(dtypes: Dtypes) -> Patterns:
    """Recurrent layers and cells."""
    kinds = (nn.GRUCell, nn.LSTMCell, nn.RNNCell, nn.LSTM, nn.GRU)
    return [_weighted(kind, kind, dtypes) for kind in kinds]


def embeddings(dtypes: Dtypes) -> Patterns:
    """Embeddings, of which only the rows are quantized."""
    found = []
    for kind in (nn.Embedding, nn.EmbeddingBag):
        found += _trained(kind, kind, getattr(qat, kind.__name__), dtypes)
    return found


def matrix_sum(dtypes: Dtypes) -> Patterns:
    """``addmm``, for backends that have it."""
    call = _pattern(pellucid.addmm, dtypes)
    return [call._set_input_type_to_index({"bias": 0, "input": 1, "weight": 2})]
