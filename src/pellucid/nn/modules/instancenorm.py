"""Instance normalization: each channel of each sample by its own statistics."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid._package.homes import elsewhere
from pellucid.nn import functional
from pellucid.nn.modules.batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    """Normalizes each channel of each sample by its own statistics."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            device,
            dtype,
            bias=bias,
        )

    def _apply_norm(self, input: Tensor) -> Tensor:
        return functional.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = self.ranks[1]
        channels = input.shape[input.dim() - batched + 1]
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"the input has {channels} channels, the layer {self.num_features}"
            )
        if input.dim() == batched:
            return self._apply_norm(input)
        return self._apply_norm(input.unsqueeze(0)).squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes the rows of (N, C, L) or (C, L)."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalizes the planes of (N, C, H, W) or (C, H, W)."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalizes the volumes of (N, C, D, H, W) or (C, D, H, W)."""

    ranks = (4, 5)


__getattr__ = elsewhere(__name__)
