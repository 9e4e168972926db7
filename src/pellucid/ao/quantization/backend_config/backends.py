"""The backends, with their families of patterns and dtypes."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.ao.quantization.backend_config import patterns
from pellucid.ao.quantization.backend_config.backend_config import (
    BackendConfig,
    DTypeConfig,
    DTypeWithConstraints,
)

_UNSIGNED, _SIGNED = pellucid.quint8, pellucid.qint8
_FLOAT, _HALF = pellucid.float, pellucid.float16

WEIGHTED = DTypeConfig(_UNSIGNED, _UNSIGNED, _SIGNED, _FLOAT)
PLAIN = DTypeConfig(_UNSIGNED, _UNSIGNED)
_FLOAT_WEIGHT = DTypeConfig(_UNSIGNED, _UNSIGNED, _FLOAT, _FLOAT)
DYNAMIC = DTypeConfig(_UNSIGNED, _FLOAT, _SIGNED, _FLOAT, is_dynamic=True)
DYNAMIC_HALF = DTypeConfig(_HALF, _FLOAT, _HALF, _FLOAT, is_dynamic=True)
ROWS = DTypeConfig(_FLOAT, _FLOAT, _UNSIGNED)
_SMALL_ROWS = DTypeConfig(_FLOAT, _FLOAT, pellucid.quint4x2)

# The limits of qnnpack's symmetric products.
_SYMMETRIC = DTypeWithConstraints(_SIGNED, scale_min_lower_bound=2**-12)
_SYMMETRIC_WEIGHT = DTypeWithConstraints(_SIGNED, -127, 127, 2**-12)
WEIGHTED_SYMMETRIC = DTypeConfig(_SYMMETRIC, _SYMMETRIC, _SYMMETRIC_WEIGHT, _FLOAT)
PLAIN_SYMMETRIC = DTypeConfig(_SYMMETRIC, _SYMMETRIC)
DYNAMIC_SYMMETRIC = DTypeConfig(
    _SYMMETRIC, _FLOAT, _SYMMETRIC_WEIGHT, _FLOAT, is_dynamic=True
)

_RECURRENT = [DYNAMIC, DYNAMIC_HALF]
_FAMILIES: dict[str, list[DTypeConfig]] = {
    "convolutions": [WEIGHTED],
    "linear": [WEIGHTED, DYNAMIC, DYNAMIC_HALF],
    "binary": [PLAIN],
    "concatenation": [PLAIN],
    "activations": [PLAIN],
    "fixed_range": [PLAIN],
    "on_integers": [PLAIN],
    "shapes": [PLAIN],
    "batch_norm": [PLAIN],
    "layer_norm": [_FLOAT_WEIGHT],
    "recurrent": _RECURRENT,
    "embeddings": [ROWS, _SMALL_ROWS],
}


def _backend(name: str, families: dict[str, Any]) -> BackendConfig:
    made = BackendConfig(name)
    for family, dtypes in families.items():
        made.set_backend_pattern_configs(getattr(patterns, family)(dtypes))
    return made


def _without(*families: str) -> dict[str, Any]:
    return {name: each for name, each in _FAMILIES.items() if name not in families}


def get_native_backend_config() -> BackendConfig:
    """What this library's layers and ops can quantize; the default."""
    return _backend("native", _FAMILIES)


def get_native_backend_config_dict() -> dict[str, Any]:
    """``get_native_backend_config`` as a dictionary."""
    return get_native_backend_config().to_dict()


def get_x86_backend_config() -> BackendConfig:
    """What PyTorch's x86 backend can quantize."""
    families = _without("layer_norm")
    return _backend(
        "x86", {**families, "binary": [WEIGHTED], "fixed_range": [WEIGHTED]}
    )


def get_fbgemm_backend_config() -> BackendConfig:
    """What PyTorch's fbgemm backend quantizes."""
    return _backend("fbgemm", _without("layer_norm"))


def _with_symmetric(families: dict[str, Any]) -> dict[str, Any]:
    symmetric = {id(WEIGHTED): WEIGHTED_SYMMETRIC, id(PLAIN): PLAIN_SYMMETRIC}
    return {
        name: [
            *(symmetric[id(each)] for each in dtypes if id(each) in symmetric),
            *dtypes,
        ]
        for name, dtypes in families.items()
    }


def get_qnnpack_backend_config() -> BackendConfig:
    """What PyTorch's qnnpack backend quantizes: also signed activations."""
    return _backend("qnnpack", _with_symmetric(_without("layer_norm", "shapes")))


def get_tensorrt_backend_config() -> BackendConfig:
    """What NVIDIA's TensorRT quantizes: signed activations."""
    weighted = [DTypeConfig(_SIGNED, _SIGNED, _SIGNED, _FLOAT)]
    plain = [DTypeConfig(_SIGNED, _SIGNED)]
    families = {
        "convolutions": weighted,
        "matrix_sum": weighted,
        "concatenation": plain,
        "linear": weighted,
        "binary": weighted,
        "on_integers": plain,
        "shapes": plain,
    }
    return _backend("tensorrt", families)


def get_tensorrt_backend_config_dict() -> dict[str, Any]:
    """``get_tensorrt_backend_config`` as a dictionary."""
    return get_tensorrt_backend_config().to_dict()
