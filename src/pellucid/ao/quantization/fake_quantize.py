"""Fake quantization as modules: an observer, and rounding by its scale."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao.quantization.observer import (
    FixedQParamsObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    Partial,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    with_args_of,
)
from pellucid.nn import Module

_PER_CHANNEL = (
    *(pellucid.per_channel_symmetric, pellucid.per_channel_affine),
    pellucid.per_channel_affine_float_qparams,
)


class FakeQuantizeBase(Module):
    """Rounds numbers like a quantized model; rounding and observing can be disabled."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        on = pellucid.tensor([1], dtype=pellucid.uint8)
        self.register_buffer("fake_quant_enabled", on)
        self.register_buffer("observer_enabled", on.clone())

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """``x`` rounded."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scales, zero points)"""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Enables or disables rounding."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Disables rounding."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Enables or disables observation of ranges."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Disables observation of ranges."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> Partial:
        """A constructor with these arguments."""
        return with_args_of(cls, **kwargs)


class FakeQuantize(FakeQuantizeBase):
    """Rounds to ``quant_min`` ... ``quant_max`` by the ranges of ``observer``.

    >>> fake = torch.ao.quantization.FakeQuantize()
    >>> fake(torch.tensor([0.0, 2.55])).shape
    torch.Size([2])
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must not be above quant_max")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        self.is_dynamic = is_dynamic
        self.activation_post_process = observer(**observer_kwargs)
        seen = self.activation_post_process
        self.quant_min, self.quant_max = seen.quant_min, seen.quant_max
        self.dtype, self.qscheme = seen.dtype, seen.qscheme
        self.ch_axis = getattr(seen, "ch_axis", -1)
        self.is_per_channel = self.qscheme in _PER_CHANNEL
        is_float = self.qscheme is pellucid.per_channel_affine_float_qparams
        points = pellucid.float if is_float else pellucid.int
        self.register_buffer("scale", pellucid.tensor([1.0]))
        self.register_buffer("zero_point", pellucid.tensor([0], dtype=points))

    def calculate_qparams(self, **kwargs: Any) -> Any:
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero_point = self.calculate_qparams()
            self.scale.resize_(scale.shape).copy_(scale)
            self.zero_point.resize_(zero_point.shape).copy_(zero_point)
        if self.fake_quant_enabled[0] != 1:
            return X
        bounds = self.quant_min, self.quant_max
        made: Tensor
        if self.is_per_channel:
            made = pellucid.fake_quantize_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, *bounds
            )
        else:
            made = pellucid.fake_quantize_per_tensor_affine(
                X, self.scale, self.zero_point, *bounds
            )
        return made

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, quant_min={self.quant_min}, "
            f"quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
            f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("scale", "zero_point"):
            given = state_dict.get(prefix + name)
            if given is not None:
                getattr(self, name).resize_(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class FixedQParamsFakeQuantize(FakeQuantize):
    """With the scale and zero point of its observer."""

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if not isinstance(self.activation_post_process, FixedQParamsObserver):
            raise AssertionError("FixedQParamsFakeQuantize's observer must be fixed")
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point

    def calculate_qparams(self, **kwargs: Any) -> Any:
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, "
            f"qscheme={self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """``FakeQuantize`` of a moving average, as one op."""

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, is_dynamic, **observer_kwargs)
        self.register_buffer("fake_quant_enabled", pellucid.tensor([1]))
        self.register_buffer("observer_enabled", pellucid.tensor([1]))
        self.is_symmetric_quant = "symmetric" in str(self.qscheme)

    def forward(self, X: Tensor) -> Tensor:
        seen = self.activation_post_process
        made: Tensor = pellucid.fused_moving_avg_obs_fake_quant(
            *(X, self.observer_enabled, self.fake_quant_enabled),
            *(seen.min_val, seen.max_val, self.scale, self.zero_point),
            *(seen.averaging_constant, seen.quant_min, seen.quant_max),
            *(self.ch_axis, self.is_per_channel, self.is_symmetric_quant),
        )
        return made

    def extra_repr(self) -> str:
        seen = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, "
            f"quant_min={seen.quant_min}, quant_max={seen.quant_max}, "
            f"qscheme={self.qscheme}, reduce_range={seen.reduce_range}"
        )


def _setting(method: str, doc: str) -> Any:
    def apply(mod: Any) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, method)()

    apply.__name__ = apply.__qualname__ = method
    apply.__doc__ = doc
    return apply


enable_fake_quant = _setting("enable_fake_quant", "For ``model.apply``: round.")
disable_fake_quant = _setting(
    "disable_fake_quant", "For ``model.apply``: stop rounding."
)
enable_observer = _setting("enable_observer", "For ``model.apply``: start observing.")
disable_observer = _setting("disable_observer", "For ``model.apply``: stop observing.")

_ACTIVATIONS = {"quant_min": 0, "quant_max": 255, "dtype": pellucid.quint8}
_WEIGHTS = {"quant_min": -128, "quant_max": 127, "dtype": pellucid.qint8}
_ONE = {
    **_WEIGHTS,
    "observer": MovingAverageMinMaxObserver,
    "qscheme": pellucid.per_tensor_symmetric,
}
_CHANNELS = {
    **_WEIGHTS,
    "observer": MovingAveragePerChannelMinMaxObserver,
    "qscheme": pellucid.per_channel_symmetric,
}
default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    qscheme=pellucid.per_tensor_affine,
    reduce_range=True,
    **_ACTIVATIONS,
)
default_weight_fake_quant = FakeQuantize.with_args(**_ONE, reduce_range=False)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    **_CHANNELS, reduce_range=False, ch_axis=0
)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_ACTIVATIONS
)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_ONE)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    **_CHANNELS
)
fused_wt_fake_quant_range_neg_127_to_127 = default_fused_wt_fake_quant.with_args(
    quant_min=-127, quant_max=127, eps=2**-12
)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = (
    default_fused_per_channel_wt_fake_quant.with_args(
        quant_min=-127, quant_max=127, eps=2**-12
    )
)
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    qscheme=pellucid.per_channel_affine_float_qparams,
    ch_axis=0,
    averaging_constant=1,
    **_ACTIVATIONS,
)
default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    is_dynamic=True,
    averaging_constant=1,
    **_ACTIVATIONS,
)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
