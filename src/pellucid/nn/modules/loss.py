"""Losses as modules; the formulas stand in ``nn.functional``."""

from __future__ import annotations

from pellucid import Tensor
from pellucid.nn import functional
from pellucid.nn.functional._losses import named_reduction
from pellucid.nn.modules.module import Module

_Flag = bool | None


class _Loss(Module):
    """A loss with a ``reduction``: "mean", "sum" or "none"."""

    def __init__(
        self,
        size_average: _Flag = None,
        reduce: _Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = named_reduction(size_average, reduce, reduction)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a weight per class or element, kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _Flag = None,
        reduce: _Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """``abs(input - target)``, reduced."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """``(input - target) ** 2``, reduced."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared error over ``2 beta`` below ``beta``, absolute error above."""

    def __init__(
        self,
        size_average: _Flag = None,
        reduce: _Flag = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.smooth_l1_loss(
            input, target, reduction=self.reduction, beta=self.beta
        )


class HuberLoss(_Loss):
    """Half the squared error below ``delta``, linear above."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.huber_loss(
            input, target, reduction=self.reduction, delta=self.delta
        )


class NLLLoss(_WeightedLoss):
    """Minus the log probabilities (N, C, ...) at the class indices (N, ...)."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _Flag = None,
        ignore_index: int = -100,
        reduce: _Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_WeightedLoss):
    """The cross-entropy of logits (N, C, ...) and class indices or probabilities."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _Flag = None,
        ignore_index: int = -100,
        reduce: _Flag = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """The cross-entropy of probabilities and targets between 0 and 1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy(
            input, target, weight=self.weight, reduction=self.reduction
        )


class BCEWithLogitsLoss(_Loss):
    """The cross-entropy of ``sigmoid(input)`` and targets between 0 and 1."""

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _Flag = None,
        reduce: _Flag = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(
            input,
            target,
            self.weight,
            pos_weight=self.pos_weight,
            reduction=self.reduction,
        )


class KLDivLoss(_Loss):
    """``target * (log target - input)`` of log probabilities ``input``."""

    def __init__(
        self,
        size_average: _Flag = None,
        reduce: _Flag = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.kl_div(
            input, target, reduction=self.reduction, log_target=self.log_target
        )
