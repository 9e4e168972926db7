"""``GradScaler``: scales losses, so that half-precision gradients do not underflow."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered


class OptState(Enum):
    """The state of an optimizer's gradients since the last ``update``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


@offered.value
class GradScaler:
    """Scales losses; skips steps whose gradients overflowed, and adapts the scale.

    The scale is multiplied by ``growth_factor`` after ``growth_interval`` steps without
    an infinite or NaN gradient, and by ``backoff_factor`` after each with one. With
    ``enabled=False`` every method passes its argument through.

    Example::

        >>> import pellucid as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.scale((w * w).sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w
        tensor([0., 0.], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1.0 or backoff_factor >= 1.0:
            raise AssertionError(
                "GradScaler: growth_factor must be above 1 and backoff_factor below, "
                f"{growth_factor} and {backoff_factor} were given"
            )
        if enabled and device != "cpu":
            warnings.warn(
                f"GradScaler: there is no device of type {device!r}; losses are not "
                "scaled",
                stacklevel=2,
            )
        self._enabled = enabled and device == "cpu"
        self._scale = init_scale
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._stages: dict[int, OptState] = {}
        self._overflowed: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """A tensor times the scale, or all those of a list or tuple."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        raise ValueError(
            "GradScaler.scale takes a tensor or a list or tuple of them, "
            f"{type(outputs).__name__} was given"
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, once a step.

        Call it before clipping gradients. Raises RuntimeError the second time.
        """
        if not self._enabled:
            return
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage != OptState.READY:
            raise RuntimeError(
                "GradScaler.unscale_ was called twice for this optimizer, or after its "
                "step; call update() at the end of each step"
            )
        inverse, overflowed = 1.0 / self._scale, False
        with pellucid.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.mul_(inverse)
                        finite = pellucid.isfinite(parameter.grad).all()
                        overflowed = overflowed or not bool(finite)
        self._overflowed[id(optimizer)] = overflowed
        self._stages[id(optimizer)] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args)``, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "GradScaler.step takes no closure: call backward before it"
            )
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage == OptState.STEPPED:
            raise RuntimeError(
                "GradScaler.step was called twice for this optimizer; call update() "
                "after each step"
            )
        if stage == OptState.READY:
            self.unscale_(optimizer)
        self._stages[id(optimizer)] = OptState.STEPPED
        if self._overflowed[id(optimizer)]:
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapts the scale to overflow in the steps since the last call, or sets it."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._overflowed:
                raise AssertionError(
                    "GradScaler.update: no step was taken since the last update; call "
                    "step(optimizer) before"
                )
            self._adapt(overflowed=any(self._overflowed.values()))
        self._stages.clear()
        self._overflowed.clear()

    def _adapt(self, *, overflowed: bool) -> None:
        if overflowed:
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._scale *= self._growth_factor
            self._growth_tracker = 0

    def get_scale(self) -> float:
        """The scale; 1.0 when switched off."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether losses are scaled: ``enabled=True`` on a device that is there."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """The growth factor of the scale."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets the growth factor of the scale."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The backoff factor of the scale."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets the backoff factor of the scale."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of steps without overflow after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets the number of steps without overflow after which the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale, its factors and its count, under PyTorch's keys."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from ``state_dict``; RuntimeError if it is of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler.load_state_dict: the state is empty, as that of a scaler "
                "with enabled=False is"
            )
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
