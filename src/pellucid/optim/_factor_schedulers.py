"""Schedulers that are a factor, or a function, of the step number."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from pellucid.optim._scheduler import FactorLR, LRScheduler, rates
from pellucid.optim.optimizer import Optimizer

_Function = Callable[[int], float]


class _FunctionLR(LRScheduler):
    """A scheduler with a function per group; state dicts do not hold the functions."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: _Function | list[_Function],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != groups:
                raise ValueError(
                    f"{len(lr_lambda)} functions for {groups} parameter groups"
                )
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * groups
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda is a function, not {type(function).__name__}"
                )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Like the base's, with the attributes of callable objects."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else f.__dict__.copy()
            for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state from ``state_dict``."""
        given = {k: v for k, v in state_dict.items() if k != "lr_lambdas"}
        self.__dict__.update(given)
        saved = state_dict["lr_lambdas"]
        for function, attributes in zip(self.lr_lambdas, saved, strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_FunctionLR):
    """The initial rate times ``lr_lambda(epoch)``."""

    def get_lr(self) -> list[Any]:
        self._warn_if_called_alone()
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]


class MultiplicativeLR(_FunctionLR):
    """The current rate times ``lr_lambda(epoch)``."""

    def get_lr(self) -> list[Any]:
        self._warn_if_called_alone()
        if self._is_initial:
            return rates(self.optimizer)
        pairs = zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        return [group["lr"] * function(self.last_epoch) for function, group in pairs]


class StepLR(FactorLR):
    """Multiplies by ``gamma`` every ``step_size`` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        step_size: int,
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self.gamma if due else None

    def _total_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(FactorLR):
    """Multiplies by ``gamma`` at each of the ``milestones``."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch not in self.milestones:
            return None
        return float(self.gamma ** self.milestones[self.last_epoch])

    def _total_factor(self) -> float:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return float(self.gamma**passed)


class ConstantLR(FactorLR):
    """``factor`` times the rate for ``total_iters`` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0.0 <= factor <= 1.0:
            raise ValueError(f"factor must be between 0 and 1, not {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _total_factor(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(FactorLR):
    """A factor from ``start_factor`` to ``end_factor`` in ``total_iters`` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0.0 < start_factor <= 1.0:
            raise ValueError(f"start_factor must be in (0, 1], not {start_factor}")
        if not 0.0 <= end_factor <= 1.0:
            raise ValueError(f"end_factor must be between 0 and 1, not {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return 1.0 + change / before

    def _total_factor(self) -> float:
        change = self.end_factor - self.start_factor
        steps = min(self.total_iters, self.last_epoch)
        return self.start_factor + change * steps / self.total_iters


class ExponentialLR(FactorLR):
    """Multiplies by ``gamma`` every step."""

    def __init__(
        self, optimizer: Optimizer, gamma: float, last_epoch: int = -1
    ) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _total_factor(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(FactorLR):
    """``(1 - epoch / total_iters) ** power`` times the rate, then 0."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left = 1.0 - self.last_epoch / self.total_iters
        left_before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return float((left / left_before) ** self.power)

    def _total_factor(self) -> float:
        steps = min(self.total_iters, self.last_epoch)
        return float((1.0 - steps / self.total_iters) ** self.power)


def _on_wave(base_lrs: list[Any], eta_min: float, wave: float) -> list[Any]:
    """Rates from ``eta_min`` at ``wave`` 0 to the base rates at ``wave`` 2."""
    return [eta_min + (base - eta_min) * wave / 2 for base in base_lrs]


class CosineAnnealingLR(LRScheduler):
    """From the rate to ``eta_min`` along half a cosine wave of ``T_max`` steps.

    Loshchilov and Hutter, 2017, without restarts.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_called_alone()
        present = rates(self.optimizer)
        if self._is_initial:
            return present
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        eta_min, length = self.eta_min, self.T_max
        if (self.last_epoch - 1 - length) % (2 * length) == 0:
            # At the minimum of the wave the quotient below would divide by zero.
            rise = (1 - math.cos(math.pi / length)) / 2
            pairs = zip(present, self.base_lrs, strict=True)
            return [rate + (base - eta_min) * rise for rate, base in pairs]
        now = 1 + math.cos(math.pi * self.last_epoch / length)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / length)
        return [now / before * (rate - eta_min) + eta_min for rate in present]

    def _get_closed_form_lr(self) -> list[Any]:
        wave = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return _on_wave(self.base_lrs, self.eta_min, wave)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine waves of ``T_0``, ``T_0 * T_mult``, ... steps, each from the full rate.

    Loshchilov and Hutter, 2017. ``step`` takes a fraction of an epoch too.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"T_0 must be a positive int, not {T_0!r}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"T_mult must be an int >= 1, not {T_mult!r}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"eta_min must be a number, not {eta_min!r}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_if_called_alone()
        wave = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return _on_wave(self.base_lrs, self.eta_min, wave)

    def step(self, epoch: float | None = None) -> None:
        """Advances by one step, or to ``epoch``, which may be fractional."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            self._jump(epoch)
        self._update_lr(math.floor(epoch))

    def _jump(self, epoch: float) -> None:
        """Finds the wave that contains ``epoch``."""
        if epoch < 0:
            raise ValueError(f"the epoch must not be negative: {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            ratio = self.T_mult - 1
            waves = int(math.log(epoch / self.T_0 * ratio + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**waves - 1) / ratio
            self.T_i = self.T_0 * self.T_mult**waves
