"""Batch normalization, and the running statistics that channel norms share."""

from __future__ import annotations

import sys
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.homes import elsewhere
from pellucid.nn import functional, init
from pellucid.nn.modules.module import Module
from pellucid.nn.parameter import Parameter


class _NormBase(Module):
    """Parameters and running statistics of a norm over channels."""

    _version = 2
    ranks: tuple[int, ...]
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if affine:
            self.weight = Parameter(pellucid.empty(num_features, **options))
            if bias:
                self.bias = Parameter(pellucid.empty(num_features, **options))
        if track_running_stats:
            self.register_buffer(
                "running_mean", pellucid.zeros(num_features, **options)
            )
            self.register_buffer("running_var", pellucid.ones(num_features, **options))
            self.register_buffer("num_batches_tracked", self._zero_count(device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    @staticmethod
    def _zero_count(device: Any) -> Tensor:
        return pellucid.tensor(0, dtype=pellucid.long, device=device)

    def reset_running_stats(self) -> None:
        """Resets the running means to 0 and the variances to 1."""
        if self.track_running_stats:
            assert self.running_mean is not None and self.running_var is not None
            assert self.num_batches_tracked is not None
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Resets the statistics; weight to ones, bias to zeros."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            raise ValueError(
                f"{type(self).__name__} takes {' or '.join(map(str, self.ranks))} "
                f"dimensions, not {input.dim()}"
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        *rest: Any,
    ) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            # Before version 2 there was no count of batches.
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                own = self.num_batches_tracked
                state_dict[key] = pellucid.tensor(0) if own is None else own
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """``(input - mean) / sqrt(var + eps) * weight + bias`` for every channel.

    In training the batch's statistics are used, and the running statistics move towards
    them by ``momentum`` (None: a plain average); evaluation uses the running
    statistics.
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        training = self.training
        mean, var, momentum = _followed(self, training)
        return functional.batch_norm(
            input,
            mean,
            var,
            self.weight,
            self.bias,
            training or (mean is None and var is None),
            momentum,
            self.eps,
        )


def _followed(
    layer: _NormBase, training: bool
) -> tuple[Tensor | None, Tensor | None, float]:
    """(running mean, running variance, momentum) of a batch, which training counts.

    Statistics that training does not track are None.
    """
    momentum = layer.momentum
    if not training:
        return layer.running_mean, layer.running_var, momentum or 0.0
    if not layer.track_running_stats:
        return None, None, momentum or 0.0
    count = layer.num_batches_tracked
    if count is not None:
        count.add_(1)
        if momentum is None:
            momentum = 1.0 / float(count)
    return layer.running_mean, layer.running_var, momentum or 0.0


class BatchNorm1d(_BatchNorm):
    """Normalizes the channels of (N, C) or (N, C, L)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes the channels of (N, C, H, W)."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalizes the channels of (N, C, D, H, W)."""

    ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over all processes of ``process_group``, by default of all.

    In training the statistics are over the batches of all ranks. Without a group of
    several ranks the layer is an ordinary batch norm. Takes ``(N, C, ...)``.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype,
            bias=bias,
        )  # fmt: skip
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(
                f"SyncBatchNorm takes at least 2 dimensions, not {input.dim()}"
            )

    def forward(self, input: Tensor) -> Tensor:
        if self.training and "pellucid.distributed" in sys.modules:
            from pellucid.distributed.nn.batch_norm import batch_norm, synchronized

            group = self.process_group
            if synchronized(group):
                self._check_input_dim(input)
                mean, var, momentum = _followed(self, True)
                given = input, mean, var, self.weight, self.bias, momentum
                made: Tensor = batch_norm(*given, self.eps, group)
                return made
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(
        cls, module: Module, process_group: Any = None
    ) -> Module:
        """``module`` with every BatchNorm layer replaced by a SyncBatchNorm."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group,
            )  # fmt: skip
            converted.weight, converted.bias = module.weight, module.bias
            for name, buffer in module.named_buffers(recurse=False):
                setattr(converted, name, buffer)
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


__getattr__ = elsewhere(__name__)
