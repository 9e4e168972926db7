"""Mappings from float layers to quantized ones: static, for training, dynamic."""

from __future__ import annotations

import copy
from typing import Any

from pellucid import nn
from pellucid.ao.nn import intrinsic as nni
from pellucid.ao.nn import qat, quantized
from pellucid.ao.nn.intrinsic import qat as nniqat
from pellucid.ao.nn.intrinsic import quantized as nniq
from pellucid.ao.nn.intrinsic.quantized import dynamic as nniqd
from pellucid.ao.nn.qat import dynamic as qat_dynamic
from pellucid.ao.nn.quantized import dynamic
from pellucid.ao.nn.sparse import quantized as sparse
from pellucid.ao.quantization.fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)
from pellucid.ao.quantization.stubs import DeQuantStub, QuantStub
from pellucid.nn.modules.linear import NonDynamicallyQuantizableLinear

_Mapping = dict[Any, Any]

_SAME_NAMES = (
    *("BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d"),
    *("ConvTranspose2d", "ConvTranspose3d", "Dropout", "ELU", "Embedding"),
    *("EmbeddingBag", "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d"),
    *("InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "PReLU", "ReLU6"),
)

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: _Mapping = {
    QuantStub: quantized.Quantize,
    DeQuantStub: quantized.DeQuantize,
    **{getattr(nn, name): getattr(quantized, name) for name in _SAME_NAMES},
    NonDynamicallyQuantizableLinear: quantized.Linear,
    quantized.FloatFunctional: quantized.QFunctional,
    **{getattr(nni, name): getattr(nniq, name) for name in nniq.__all__},
    **{
        getattr(nniqat, f"ConvBn{k}d"): getattr(quantized, f"Conv{k}d")
        for k in (1, 2, 3)
    },
    **{
        getattr(nniqat, f"{name}{k}d"): getattr(nniq, f"ConvReLU{k}d")
        for name in ("ConvBnReLU", "ConvReLU")
        for k in (1, 2, 3)
    },
    nniqat.LinearReLU: nniq.LinearReLU,
    nniqat.LinearBn1d: quantized.Linear,
    **{
        getattr(qat, name): getattr(quantized, name)
        for name in (*("Conv1d", "Conv2d", "Conv3d", "Linear"),)
    },
}

DEFAULT_QAT_MODULE_MAPPINGS: _Mapping = {
    **{
        getattr(nn, name): getattr(qat, name) for name in ("Conv2d", "Conv3d", "Linear")
    },
    NonDynamicallyQuantizableLinear: qat.Linear,
    **{
        getattr(nni, name): getattr(nniqat, name)
        for name in nniqat.__all__
        if isinstance(getattr(nniqat, name), type)
    },
}

DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: _Mapping = {
    **{
        getattr(nn, name): getattr(dynamic, name)
        for name in ("GRUCell", "Linear", "LSTM", "GRU", "LSTMCell", "RNNCell")
    },
    qat_dynamic.Linear: dynamic.Linear,
    NonDynamicallyQuantizableLinear: dynamic.Linear,
    nni.LinearReLU: nniqd.LinearReLU,
    nn.EmbeddingBag: quantized.EmbeddingBag,
    nn.Embedding: quantized.Embedding,
}

DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS: _Mapping = {nn.Linear: sparse.Linear}
DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS: _Mapping = {
    nn.Linear: sparse.dynamic.Linear
}

# Fake quantizers of layers whose results are in a fixed range.
DEFAULT_MODULE_TO_ACT_POST_PROCESS: _Mapping = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}


def get_default_static_quant_module_mappings() -> _Mapping:
    """Float or fake-quantized layers to quantized layers."""
    return copy.copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> _Mapping:
    """Float layers to fake-quantized layers."""
    return copy.copy(DEFAULT_QAT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings() -> _Mapping:
    """Float layers to dynamically quantized layers."""
    return copy.copy(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_static_sparse_quant_module_mappings() -> _Mapping:
    """Float layers to quantized layers with weights of sparse blocks."""
    return copy.copy(DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS)


def get_default_dynamic_sparse_quant_module_mappings() -> _Mapping:
    """Float layers to dynamically quantized ones with weights of sparse blocks."""
    return copy.copy(DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> _Mapping:
    """The static mapping with fake-quantized embeddings."""
    return {
        **DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        qat.EmbeddingBag: quantized.EmbeddingBag,
        qat.Embedding: quantized.Embedding,
    }


def get_embedding_qat_module_mappings() -> _Mapping:
    """The mapping for training, with embeddings."""
    return {
        **DEFAULT_QAT_MODULE_MAPPINGS,
        nn.EmbeddingBag: qat.EmbeddingBag,
        nn.Embedding: qat.Embedding,
    }


def get_static_quant_module_class(
    float_module_class: Any,
    additional_static_quant_mapping: _Mapping | None = None,
    is_reference: bool = False,
) -> Any:
    """The quantized form of a float layer; AssertionError if it has none."""
    if is_reference:
        raise NotImplementedError(
            "reference modules are not supported: is_reference=False"
        )
    return _found(
        DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        additional_static_quant_mapping,
        float_module_class,
    )


def get_dynamic_quant_module_class(
    float_module_class: Any, additional_dynamic_quant_mapping: _Mapping | None = None
) -> Any:
    """The dynamic form of a float layer; AssertionError if it has none."""
    return _found(
        DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
        additional_dynamic_quant_mapping,
        float_module_class,
    )


def _found(known: _Mapping, more: _Mapping | None, kind: Any) -> Any:
    found = {**known, **(more or {})}.get(kind)
    if found is None:
        raise AssertionError(
            f"Floating point module class {kind} does not have a corresponding "
            "quantized module class"
        )
    return copy.deepcopy(found)


def get_default_qconfig_propagation_list() -> set[Any]:
    """Types of layers that get observers."""
    return {
        *DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        *DEFAULT_QAT_MODULE_MAPPINGS,
        *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
        nn.Sequential,
    }


def get_default_compare_output_module_list() -> set[Any]:
    """Types of layers whose results the numeric suite records: also the quantized."""
    tables = (
        DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        DEFAULT_QAT_MODULE_MAPPINGS,
        DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    )
    quantized = {kind for table in tables for kind in table.values()}
    return quantized | get_default_qconfig_propagation_list()


# Their results are not observed, whatever list has them.
UNOBSERVED = {nn.Sequential, nn.Dropout, DeQuantStub}


def observed_types() -> set[Any]:
    """The types of that list whose results are observed."""
    return get_default_qconfig_propagation_list() - UNOBSERVED


def no_observer_set() -> set[Any]:
    """Types whose results are not observed: layers inside of them are."""
    from pellucid.ao.nn import quantizable

    return {quantizable.LSTM, quantizable.MultiheadAttention}


def get_quantized_operator(float_op: Any) -> Any:
    """The op of ``torch.ops.quantized`` for a function of ``nn.functional``."""
    found = get_default_float_to_quantized_operator_mappings().get(float_op)
    if found is None:
        raise AssertionError(
            f"Operator {float_op} does not have corresponding quantized op"
        )
    return found


def get_default_float_to_quantized_operator_mappings() -> _Mapping:
    """Functions of ``nn.functional`` to ops of ``torch.ops.quantized``."""

    from pellucid.ao._quantized.registry import by_name

    names = ("elu", "hardswish", "instance_norm", "layer_norm", "leaky_relu", "dropout")
    return {getattr(nn.functional, name): by_name(name) for name in names}


__all__ = [
    "get_default_dynamic_quant_module_mappings",
    "get_default_dynamic_sparse_quant_module_mappings",
    "get_default_float_to_quantized_operator_mappings",
    "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list",
    "get_default_static_quant_module_mappings",
    "get_default_static_sparse_quant_module_mappings",
    "get_dynamic_quant_module_class",
    "get_embedding_qat_module_mappings",
    "get_embedding_static_quant_module_mappings",
    "get_quantized_operator",
    "get_static_quant_module_class",
    "no_observer_set",
]
