"""QConfig: the observers or fake quantizers of activations and weights."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import pellucid
from pellucid.ao.quantization import fake_quantize as fake
from pellucid.ao.quantization import observer as obs
from pellucid.ao.quantization.histogram import HistogramObserver
from pellucid.nn import Module


class _Pair(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Pair):
    """Constructors of the observers of a layer's results and of its weight.

    Pass classes, or ``Observer.with_args(...)``; an instance would be shared.
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class "
                "instead. Use MyObserver.with_args(x=1) to override arguments to "
                "constructor if needed"
            )
        return super().__new__(cls, activation, weight)


_reduced = HistogramObserver.with_args(reduce_range=True)
_whole = HistogramObserver.with_args(reduce_range=False)
_channels, _one = obs.default_per_channel_weight_observer, obs.default_weight_observer

default_qconfig = QConfig(obs.default_observer, _one)
default_debug_qconfig = QConfig(_one, obs.default_debug_observer)
default_per_channel_qconfig = QConfig(obs.default_observer, _channels)
default_dynamic_qconfig = QConfig(obs.default_dynamic_quant_observer, _one)
per_channel_dynamic_qconfig = QConfig(obs.default_dynamic_quant_observer, _channels)
default_qat_qconfig = QConfig(fake.default_fake_quant, fake.default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(
    fake.default_fused_act_fake_quant, fake.default_fused_wt_fake_quant
)
default_weight_only_qconfig = QConfig(
    pellucid.nn.Identity, fake.default_weight_fake_quant
)
default_activation_only_qconfig = QConfig(fake.default_fake_quant, pellucid.nn.Identity)

float_qparams_weight_only_qconfig = QConfig(
    obs.default_placeholder_observer, obs.default_float_qparams_observer
)
float16_dynamic_qconfig = QConfig(
    obs.PlaceholderObserver.with_args(dtype=pellucid.float16, is_dynamic=True),
    obs.PlaceholderObserver.with_args(dtype=pellucid.float16),
)
float16_static_qconfig = QConfig(
    obs.PlaceholderObserver.with_args(dtype=pellucid.float16),
    obs.PlaceholderObserver.with_args(dtype=pellucid.float16),
)
default_embedding_qat_qconfig = QConfig(
    obs.NoopObserver.with_args(dtype=pellucid.float32),
    fake.default_embedding_fake_quant,
)

default_reuse_input_qconfig = QConfig(
    obs.default_reuse_input_observer, obs.NoopObserver
)
default_quint8_weight_qconfig = QConfig(HistogramObserver, obs.MinMaxObserver)

_signed = HistogramObserver.with_args(
    dtype=pellucid.qint8, reduce_range=False, eps=2**-12
)
_signed_fake = fake.FusedMovingAvgObsFakeQuantize.with_args(
    observer=obs.MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=pellucid.qint8,
    reduce_range=False,
    eps=2**-12,
)
default_symmetric_qnnpack_qconfig = QConfig(
    _signed, obs.weight_observer_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _signed, obs.per_channel_weight_observer_range_neg_127_to_127
)
default_symmetric_qnnpack_qat_qconfig = QConfig(
    _signed_fake, fake.fused_wt_fake_quant_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _signed_fake, fake.fused_per_channel_wt_fake_quant_range_neg_127_to_127
)

_CONFIGS = {
    "fbgemm": QConfig(_reduced, _channels),
    "x86": QConfig(_reduced, _channels),
    "qnnpack": QConfig(_whole, _one),
    "onednn": QConfig(_whole, _channels),
}


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """For static quantization with the numerics of ``backend``: x86, fbgemm, onednn
    or qnnpack. The first two leave one bit of activations unused.
    """
    if version != 0:
        raise AssertionError(f"Version number: {version} is not supported; use 0")
    return _CONFIGS[_checked(backend)]


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """For quantization-aware training; version 1 fuses observing and rounding."""
    if version not in (0, 1):
        raise AssertionError(f"Version number: {version} is not supported; use 0 or 1")
    backend = _checked(backend)
    make: Any = fake.FusedMovingAvgObsFakeQuantize if version else fake.FakeQuantize
    bounds: dict[str, Any] = {"quant_min": 0, "quant_max": 255}
    if backend != "onednn":
        bounds["reduce_range"] = backend != "qnnpack"
    activation = make.with_args(observer=obs.MovingAverageMinMaxObserver, **bounds)
    if version:
        one = fake.default_fused_wt_fake_quant
        channels = fake.default_fused_per_channel_wt_fake_quant
    else:
        one = fake.default_weight_fake_quant
        channels = fake.default_per_channel_weight_fake_quant
    return QConfig(activation, one if backend == "qnnpack" else channels)


def _checked(backend: str) -> str:
    if backend not in _CONFIGS:
        raise AssertionError(
            f"backend: {backend} not supported. backend must be one of "
            f"{sorted(_CONFIGS)}"
        )
    return backend


def qconfig_equals(q1: QConfig | None, q2: QConfig | None) -> bool:
    """Whether both make equal observers: equal classes with equal arguments."""
    if q1 is None or q2 is None:
        return q1 is q2
    return _makes_same(q1.activation, q2.activation) and _makes_same(
        q1.weight, q2.weight
    )


def _makes_same(one: Any, other: Any) -> bool:
    if not isinstance(one, obs.Partial) or not isinstance(other, obs.Partial):
        return bool(one == other)
    first, second = one.p, other.p
    if not isinstance(first, partial) or not isinstance(second, partial):
        return first is second
    return (
        first.func == second.func
        and first.args == second.args
        and first.keywords.keys() == second.keywords.keys()
        and all(
            _makes_same(value, second.keywords[name])
            for name, value in first.keywords.items()
        )
    )
