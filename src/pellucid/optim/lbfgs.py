"""LBFGS: a quasi-Newton method with limited memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.optim._fused import number
from pellucid.optim.optimizer import Optimizer, as_real


class LBFGS(Optimizer):
    """Limited-memory BFGS (Nocedal and Wright, 2006); calls ``closure`` at every point.

    One ``step`` does up to ``max_iter`` iterations; ``line_search_fn`` is None or
    "strong_wolfe". All parameters are in one group.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if not number(lr) >= 0.0:
            raise ValueError(f"lr must not be negative: {lr}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS takes one group: it has no options per parameter")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        grads = [
            pellucid.zeros_like(p) if p.grad is None else p.grad for p in self._params
        ]
        return pellucid.cat([grad.reshape(-1) for grad in as_real(grads)])

    def _move(self, step: float, direction: Tensor) -> None:
        start = 0
        for p in as_real(self._params):
            part = direction[start : start + p.numel()]
            p.add_(part.view_as(p), alpha=step)
            start += p.numel()

    def _evaluate(
        self, closure: Callable[[], Any], origin: list[Tensor], step: float, d: Tensor
    ) -> tuple[float, Tensor]:
        """(loss, gradient) at ``origin + step * d``; the parameters return to
        origin.
        """
        self._move(step, d)
        with pellucid.enable_grad():
            loss = float(closure())
        gradient = self._gradient()
        for p, value in zip(self._params, origin, strict=True):
            p.copy_(value)
        return loss, gradient

    @pellucid.no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: Callable[[], Any]) -> Any:
        """Up to ``max_iter`` iterations; returns the loss before the first."""
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with pellucid.enable_grad():
            first_loss = closure()
        loss, gradient = float(first_loss), self._gradient()
        evaluations = 1
        state["func_evals"] += 1
        if float(gradient.abs().max()) <= group["tolerance_grad"]:
            return first_loss
        memory = _Memory(state, group["history_size"])
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = memory.direction(gradient)
            before = loss
            rate = number(group["lr"])
            if state["n_iter"] == 1:
                rate *= min(1.0, 1.0 / float(gradient.abs().sum()))
            slope = float(gradient.dot(direction))
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is None:
                self._move(rate, direction)
                count = 0
                if iteration != group["max_iter"]:
                    with pellucid.enable_grad():
                        loss = float(closure())
                    gradient = self._gradient()
                    count = 1
            else:
                loss, gradient, rate, count = self._search(
                    closure, rate, direction, loss, gradient, slope
                )
            memory.rate = rate
            evaluations += count
            state["func_evals"] += count
            done = (
                iteration == group["max_iter"]
                or evaluations >= group["max_eval"]
                or float(gradient.abs().max()) <= group["tolerance_grad"]
                or float(direction.mul(rate).abs().max()) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            )
            if done:
                break
        memory.save(state, gradient, loss)
        return first_loss

    def _search(
        self,
        closure: Callable[[], Any],
        rate: float,
        direction: Tensor,
        loss: float,
        gradient: Tensor,
        slope: float,
    ) -> tuple[float, Tensor, float, int]:
        """(loss, gradient, step length, evaluations) after a line search and move."""
        name = self.param_groups[0]["line_search_fn"]
        if name != "strong_wolfe":
            raise RuntimeError(
                f"line_search_fn is None or 'strong_wolfe', not {name!r}"
            )
        origin = [p.clone() for p in self._params]

        def at(step: float) -> tuple[float, Tensor]:
            return self._evaluate(closure, origin, step, direction)

        found = strong_wolfe(at, rate, direction, loss, gradient, slope)
        self._move(found[2], direction)
        return found


class _Memory:
    """The history of steps and gradient changes, and the direction computed from it."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.size = size
        self.changes: list[Tensor] = state.get("old_dirs") or []
        self.steps: list[Tensor] = state.get("old_stps") or []
        self.weights: list[Tensor] = state.get("ro") or []
        self.factors: list[Tensor | None] | None = state.get("al")
        self.scale: Any = state.get("H_diag", 1)
        self.last: Tensor | None = state.get("d")
        self.rate: float = state.get("t", 0.0) or 0.0
        self.gradient: Tensor | None = state.get("prev_flat_grad")

    def direction(self, gradient: Tensor) -> Tensor:
        """The negative inverse Hessian estimate times ``gradient``."""
        if self.last is None or self.gradient is None:
            found = gradient.neg()
        else:
            self._remember(gradient)
            found = self._two_loops(gradient)
        self.last, self.gradient = found, gradient.clone()
        return found

    def _remember(self, gradient: Tensor) -> None:
        assert self.last is not None and self.gradient is not None
        change, step = gradient - self.gradient, self.last * self.rate
        product = float(change.dot(step))
        if product <= 1e-10:
            return
        if len(self.changes) == self.size:
            for column in (self.changes, self.steps, self.weights):
                column.pop(0)
        self.changes.append(change)
        self.steps.append(step)
        self.weights.append(pellucid.tensor(1.0 / product, dtype=gradient.dtype))
        self.scale = product / float(change.dot(change))

    def _two_loops(self, gradient: Tensor) -> Tensor:
        q = gradient.neg()
        history = list(zip(self.changes, self.steps, self.weights, strict=True))
        factors: list[Any] = [None] * len(history)
        for k, (change, step, weight) in reversed(list(enumerate(history))):
            factors[k] = step.dot(q) * weight
            q = q - change * factors[k]
        found = q * self.scale
        for (change, step, weight), factor in zip(history, factors, strict=True):
            found = found + step * (factor - change.dot(found) * weight)
        self.factors = factors + [None] * (self.size - len(history))
        result: Tensor = found
        return result

    def save(self, state: dict[str, Any], gradient: Tensor, loss: float) -> None:
        if self.factors is not None:
            state["al"] = self.factors
        state.update(
            d=self.last,
            t=self.rate,
            old_dirs=self.changes,
            old_stps=self.steps,
            ro=self.weights,
            H_diag=self.scale,
            prev_flat_grad=self.gradient,
            prev_loss=loss,
        )


class _Point(NamedTuple):
    step: float
    loss: float
    gradient: Tensor
    slope: float


def _cubic_minimum(
    a: _Point, b: _Point, bounds: tuple[float, float] | None = None
) -> float:
    """The minimiser of the cubic through two points and slopes (Nocedal 3.59)."""
    low, high = bounds or (min(a.step, b.step), max(a.step, b.step))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2
    d2 = square**0.5
    if a.step > b.step:
        a, b = b, a
    width = b.step - a.step
    place = b.step - width * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    result: float = min(max(place, low), high)
    return result


def strong_wolfe(
    at: Callable[[float], tuple[float, Tensor]],
    step: float,
    direction: Tensor,
    loss: float,
    gradient: Tensor,
    slope: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance: float = 1e-9,
    most: int = 25,
) -> tuple[float, Tensor, float, int]:
    """(loss, gradient, step, evaluations) where both Wolfe conditions hold."""
    size = float(direction.abs().max())

    def point(length: float) -> _Point:
        found, slopes = at(length)
        return _Point(length, found, slopes.clone(), float(slopes.dot(direction)))

    start = before = _Point(0.0, loss, gradient.clone(), slope)
    new = point(step)
    evaluations, bracket = 1, None
    for iteration in range(most):
        if new.loss > loss + c1 * new.step * slope or (
            iteration > 1 and new.loss >= before.loss
        ):
            bracket = [before, new]
            break
        if abs(new.slope) <= -c2 * slope:
            return new.loss, new.gradient, new.step, evaluations
        if new.slope >= 0:
            bracket = [before, new]
            break
        low = new.step + 0.01 * (new.step - before.step)
        length = _cubic_minimum(before, new, (low, new.step * 10))
        before, new = new, point(length)
        evaluations += 1
    if bracket is None:
        bracket = [start, new]
    return _zoom(
        point, bracket, loss, slope, c1, c2, size, tolerance, most, evaluations
    )


def _zoom(
    point: Callable[[float], _Point],
    bracket: list[_Point],
    loss: float,
    slope: float,
    c1: float,
    c2: float,
    size: float,
    tolerance: float,
    most: int,
    evaluations: int,
) -> tuple[float, Tensor, float, int]:
    """Narrows a bracket that contains a point where the Wolfe conditions hold."""
    low, high = sorted(bracket, key=lambda p: p.loss)
    stuck = False
    for _ in range(most - evaluations + 1):
        width = abs(high.step - low.step)
        if width * size < tolerance:
            break
        step = _cubic_minimum(bracket[0], bracket[1])
        first, last = sorted((low.step, high.step))
        margin = 0.1 * (last - first)
        if min(last - step, step - first) < margin:
            # Near an end for the second time, or at it: move away from it.
            if stuck or step >= last or step <= first:
                near_last = abs(step - last) < abs(step - first)
                step = last - margin if near_last else first + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = point(step)
        evaluations += 1
        if new.loss > loss + c1 * new.step * slope or new.loss >= low.loss:
            high = new
        else:
            if abs(new.slope) <= -c2 * slope:
                low = new
                break
            if new.slope * (high.step - low.step) >= 0:
                high = low
            low = new
        bracket = [low, high]
    return low.loss, low.gradient, low.step, evaluations
