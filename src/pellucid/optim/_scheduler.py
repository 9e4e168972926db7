"""The base of learning rate schedulers; ``lr_scheduler.py`` lists them.

A scheduler rewrites ``group["lr"]`` at each step. Most multiply the current value by a
factor, so that several can act on one optimizer; ``FactorLR`` is the base of those.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any, Self

from pellucid import Tensor
from pellucid.optim.optimizer import Group, Optimizer

Rate = float | Tensor


def rates(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """The groups' values of ``key``; tensors are copied."""
    values = (group[key] for group in optimizer.param_groups)
    return [v.clone() if isinstance(v, Tensor) else v for v in values]


def set_rate(group: Group, value: Rate) -> None:
    """Stores a learning rate, into the tensor if the group holds one."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(value))
    else:
        group["lr"] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """``value`` for each group: one shared value, or a list with one per group."""
    groups = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise ValueError(
            f"{name} has {len(values)} values for {groups} parameter groups"
        )
    return [v.clone() if isinstance(v, Tensor) else v for v in values]


def require_optimizer(optimizer: object) -> Any:
    """``optimizer``; TypeError unless it is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"a scheduler takes an Optimizer, not {optimizer!r:.100}")
    return optimizer


class _enable_get_lr_call:
    """The scope in which ``get_lr`` does not warn; schedulers of libraries enter it."""

    def __init__(self, o: LRScheduler) -> None:
        self.scheduler = o

    def __enter__(self) -> Self:
        self.scheduler._get_lr_called_within_step = True
        return self

    def __exit__(self, *error: object) -> None:
        self.scheduler._get_lr_called_within_step = False


class LRScheduler:
    """Base class: ``get_lr()`` gives the groups' next learning rates.

    Call ``step()`` after ``optimizer.step()``. ``last_epoch`` counts its calls; to
    resume, pass the last count and an optimizer whose groups have "initial_lr".
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = require_optimizer(optimizer)
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                rate = rate.clone() if isinstance(rate, Tensor) else rate
                group.setdefault("initial_lr", rate)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"parameter group {index} has no 'initial_lr', which a scheduler "
                    "that resumes needs: load the optimizer's state dict first, or "
                    "leave last_epoch out"
                )
        self.base_lrs = rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Sets the first rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state from ``state_dict``."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The current rates, of the last step."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The next rates; every subclass must define it, and ``step`` calls it."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def step(self, epoch: int | None = None) -> None:
        """Advances by one step, or, deprecated, to ``epoch``."""
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(
                "scheduler.step(epoch) is deprecated: call scheduler.step()",
                stacklevel=2,
            )
        self._update_lr(epoch)

    def _warn_about_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "optimizer.step was replaced after the scheduler was made; make sure "
                "that it is called before scheduler.step()",
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "scheduler.step() was called before optimizer.step(), so the first "
                "learning rate is skipped; call optimizer.step() first",
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with _enable_get_lr_call(self):
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            compute = self.get_lr
            if epoch is not None:
                compute = getattr(self, "_get_closed_form_lr", compute)
            values = compute()
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, value)
        self._last_lr = rates(self.optimizer)

    def _warn_if_called_alone(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "get_lr() computes the next rate; get_last_lr() gives the current one",
                stacklevel=3,
            )


class FactorLR(LRScheduler):
    """A scheduler that multiplies each group's current rate by ``_factor()``."""

    def _factor(self) -> float | None:
        """The factor at ``last_epoch``; None leaves the rates unchanged."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        self._warn_if_called_alone()
        factor = self._factor()
        if factor is None:
            return rates(self.optimizer)
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _total_factor(self) -> float:
        """The product of all factors up to ``last_epoch``."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list[Any]:
        total = self._total_factor()
        return [base * total for base in self.base_lrs]


def _note_steps(optimizer: Optimizer) -> None:
    """Makes ``optimizer.step`` set ``_opt_called``, for the warning about order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    # A weak reference: the attribute must not form a cycle with the optimizer.
    reference = weakref.ref(optimizer)
    function = optimizer.step.__func__  # type: ignore[attr-defined]

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]
