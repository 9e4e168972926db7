"""Averages of weights over training: stochastic and exponential, and their rates."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import Module
from pellucid.nn.modules.batchnorm import _BatchNorm
from pellucid.optim.lr_scheduler import LRScheduler
from pellucid.optim.optimizer import Optimizer
from pellucid.utils._foreach_utils import (
    _group_tensors_by_device_and_dtype as _group_tensors_by_device_and_dtype,
)

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

_Lists = list[Tensor]


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """``averaged = decay * averaged + (1 - decay) * current`` for lists of tensors."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay must be between 0 and 1: {decay}")

    def update(averaged: _Lists, current: _Lists, count: Any) -> None:
        with pellucid.no_grad():
            for mean, value in zip(averaged, current, strict=True):
                if mean.is_floating_point():
                    mean.lerp_(value, 1 - decay)
                else:
                    mean.copy_(mean * decay + value * (1 - decay))

    return update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """The plain average of all models, for lists of tensors."""

    def update(averaged: _Lists, current: _Lists, count: Any) -> None:
        weight = 1 / (float(count) + 1)
        with pellucid.no_grad():
            for mean, value in zip(averaged, current, strict=True):
                if mean.is_floating_point():
                    mean.lerp_(value, weight)
                else:
                    mean.add_((value - mean) * weight)

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """``decay * averaged + (1 - decay) * current``."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay must be between 0 and 1: {decay}")

    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        with pellucid.no_grad():
            return decay * averaged + (1 - decay) * current

    return average


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """The plain average of all models."""

    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        with pellucid.no_grad():
            result: Tensor = averaged + (current - averaged) / (count + 1)
            return result

    return average


class AveragedModel(Module):
    """A copy of a model in which ``update_parameters`` averages parameters.

    Without ``avg_fn`` and ``multi_avg_fn`` it is the plain average; ``use_buffers``
    averages buffers too, otherwise they are copied.
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("give avg_fn or multi_avg_fn, not both")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        count = pellucid.tensor(0, dtype=pellucid.long, device=device)
        self.register_buffer("n_averaged", count)
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _tensors(self, model: Module) -> _Lists:
        buffers = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in itertools.chain(model.parameters(), buffers)]

    def update_parameters(self, model: Module) -> None:
        """Updates the average by the values of ``model``."""
        averaged, current = self._tensors(self.module), self._tensors(model)
        count = self.n_averaged
        if int(count) == 0:
            for mean, value in zip(averaged, current, strict=True):
                mean.copy_(value)
        elif self.avg_fn is not None:
            for mean, value in zip(averaged, current, strict=True):
                mean.copy_(self.avg_fn(mean, value, count))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            update(averaged, current, count)
        if not self.use_buffers:
            pairs = zip(self.module.buffers(), model.buffers(), strict=True)
            for mean, value in pairs:
                mean.detach().copy_(value.detach())
        count += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recomputes the running statistics of batch norms over the data."""
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta = {m: m.momentum for m in norms}
    was_training = model.training
    model.train()
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    with pellucid.no_grad():
        for batch in loader:
            input = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(input if device is None else input.to(device))
    for m, momentum in momenta.items():
        m.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the rates to ``swa_lr`` over ``anneal_epochs``, then holds them there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        groups = optimizer.param_groups
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr]
        rates = rates * len(groups) if len(rates) == 1 else rates
        if len(rates) != len(groups):
            raise ValueError(f"{len(rates)} values of swa_lr for {len(groups)} groups")
        for rate, group in zip(rates, groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs is an int from 0 on: {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _weight(self, part: float) -> float:
        """The weight of ``swa_lr`` after this fraction of the annealing."""
        if self._anneal_strategy == "linear":
            return part
        return (1 - math.cos(math.pi * part)) / 2

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, from those of the previous epoch."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "use get_last_lr() to read the rates of the last step", stacklevel=2
            )
        step = self._step_count - 1
        span = max(1, self.anneal_epochs)
        before = self._weight(max(0.0, min(1.0, (step - 1) / span)))
        now = self._weight(max(0.0, min(1.0, step / span)))
        if self.anneal_epochs == 0:
            step = max(1, step)
            before = now = 1.0
        rates = []
        for group in self.optimizer.param_groups:
            target, lr = group["swa_lr"], group["lr"]
            start = lr if before == 1 else (lr - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates
