"""Fake quantization whose scale and zero point are parameters (Esser 2020)."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao.quantization.fake_quantize import FakeQuantizeBase
from pellucid.nn import Parameter

__all__: list[str] = []

_SYMMETRIC = (pellucid.per_channel_symmetric, pellucid.per_tensor_symmetric)
_PER_CHANNEL = (pellucid.per_channel_symmetric, pellucid.per_channel_affine)


class _LearnableFakeQuantize(FakeQuantizeBase):
    """Rounds by a learned scale and zero point, or by those of ``observer``.

    ``channel_len`` is the number of channels, -1 for one scale. ``use_grad_scaling``
    divides the gradients of both by ``sqrt(numel * quant_max)``.

    >>> from pellucid.ao.quantization import MovingAverageMinMaxObserver
    >>> fake = _LearnableFakeQuantize(MovingAverageMinMaxObserver)
    >>> fake.enable_param_learning()(torch.tensor([0.4, 2.6])).tolist()
    [0.0, 3.0]
    """

    static_enabled: Tensor
    learning_enabled: Tensor
    eps: Tensor

    def __init__(
        self,
        observer: Any,
        quant_min: int = 0,
        quant_max: int = 255,
        scale: float = 1.0,
        zero_point: float = 0.0,
        channel_len: int = -1,
        use_grad_scaling: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min >= quant_max:
            raise AssertionError(
                f"quant_min={quant_min} is not below quant_max={quant_max}"
            )
        self.quant_min, self.quant_max = quant_min, quant_max
        self.use_grad_scaling = use_grad_scaling
        if channel_len != -1 and not (isinstance(channel_len, int) and channel_len > 0):
            raise AssertionError(f"channel_len is -1 or positive, not {channel_len!r}")
        count = max(channel_len, 1)
        self.scale = Parameter(pellucid.tensor([float(scale)] * count))
        self.zero_point = Parameter(pellucid.tensor([float(zero_point)] * count))
        observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        self.activation_post_process = seen = observer(**observer_kwargs)
        self.dtype, self.qscheme = seen.dtype, seen.qscheme
        limits = pellucid.iinfo(seen.dtype)
        if not limits.min <= quant_min < quant_max <= limits.max:
            raise AssertionError(
                f"{quant_min} to {quant_max} are outside of {self.dtype}"
            )
        self.ch_axis = getattr(seen, "ch_axis", -1)
        on = pellucid.tensor([1], dtype=pellucid.uint8)
        self.register_buffer("static_enabled", on)
        self.register_buffer("learning_enabled", on - 1)
        self.bitwidth = (quant_max - quant_min + 1).bit_length() - 1
        eps = pellucid.finfo(pellucid.float32).eps
        self.register_buffer("eps", pellucid.tensor([eps]))

    def enable_param_learning(self) -> Any:
        """Learns scale and zero point instead of estimating them."""
        self.toggle_qparam_learning(True).toggle_fake_quant(True)
        return self.toggle_observer_update(False)

    def enable_static_estimate(self) -> None:
        """Rounds by the observer's scale and zero point."""
        self.toggle_qparam_learning(False).toggle_fake_quant(True)
        self.toggle_observer_update(True)

    def enable_static_observation(self) -> None:
        """Observes without rounding."""
        self.toggle_qparam_learning(False).toggle_fake_quant(False)
        self.toggle_observer_update(True)

    def toggle_observer_update(self, enabled: bool = True) -> Any:
        """Whether calls update scale and zero point by the observer."""
        self.static_enabled[0] = int(enabled)
        return self

    def enable_observer(self, enabled: bool = True) -> None:
        """``toggle_observer_update``"""
        self.toggle_observer_update(enabled)

    def toggle_qparam_learning(self, enabled: bool = True) -> Any:
        """Whether scale and zero point require gradients."""
        self.learning_enabled[0] = int(enabled)
        self.scale.requires_grad = self.zero_point.requires_grad = enabled
        return self

    def toggle_fake_quant(self, enabled: bool = True) -> Any:
        """Whether calls round."""
        self.fake_quant_enabled[0] = int(enabled)
        return self

    def observe_quant_params(self) -> None:
        """Prints scale and zero point."""
        print(f"_LearnableFakeQuantize Scale: {self.scale.detach()}")
        print(f"_LearnableFakeQuantize Zero Point: {self.zero_point.detach()}")

    def calculate_qparams(self, **kwargs: Any) -> Any:
        self.scale.data.clamp_(min=self.eps.item())
        points = self.zero_point.detach().round()
        return self.scale.detach(), points.clamp(self.quant_min, self.quant_max).long()

    def forward(self, X: Tensor) -> Tensor:
        if self.static_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero_point = self.activation_post_process.calculate_qparams()
            self.scale.data.copy_(scale)
            self.zero_point.data.copy_(zero_point)
        else:
            self.scale.data.clamp_(min=self.eps.item())
        if self.fake_quant_enabled[0] != 1:
            return X
        if self.qscheme in _SYMMETRIC:
            self.zero_point.data.zero_()
        factor = 1.0
        if self.use_grad_scaling:
            factor = (X.numel() * self.quant_max) ** -0.5
        bounds = self.quant_min, self.quant_max, factor
        params = X, self.scale, self.zero_point
        made: Tensor
        if self.qscheme in _PER_CHANNEL:
            made = pellucid._fake_quantize_learnable_per_channel_affine(
                *params, self.ch_axis, *bounds
            )
        else:
            made = pellucid._fake_quantize_learnable_per_tensor_affine(*params, *bounds)
        return made
