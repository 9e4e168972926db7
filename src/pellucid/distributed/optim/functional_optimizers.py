"""Optimizers that are given gradients: PyTorch's ``_FunctionalSGD`` and the like, which
hooks of gradients call; and optimizers that run inside backward.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pellucid import nn, optim
from pellucid.optim import Optimizer

__all__: list[str] = []


def step_with(optimizer: Optimizer, gradients: Mapping[Any, Any]) -> None:
    """A step of these parameters with these gradients; all others, and every ``grad``,
    stay as they are.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    former = [parameter.grad for parameter in parameters]
    try:
        for parameter in parameters:
            parameter.grad = gradients.get(parameter)
        optimizer.step()
    finally:
        for parameter, gradient in zip(parameters, former, strict=True):
            parameter.grad = gradient


class FunctionalOptimizer:
    """Steps of an optimizer whose gradients are arguments."""

    _kind: ClassVar[type[Optimizer]]
    #: Arguments of PyTorch's class that change no result.
    _without_effect: ClassVar[tuple[str, ...]] = ("_allow_empty_param_list",)

    def __init__(self, params: list[Any], *args: Any, **options: Any) -> None:
        if not params and not options.get("_allow_empty_param_list"):
            raise ValueError("optimizer got an empty parameter list")
        for name in self._without_effect:
            options.pop(name, None)
        # An empty group is filled later, as PyTorch's users do.
        self.param_group: dict[str, Any] = {"params": params}
        self._optimizer = self._kind([self.param_group], *args, **options)
        self.state = self._optimizer.state
        self._known = set(params)

    def step(self, gradients: Sequence[Any]) -> None:
        """A step of all parameters with their gradients, in order; None: no step."""
        parameters = self._optimizer.param_groups[0]["params"]
        if len(gradients) != len(parameters):
            raise ValueError(
                "the gradients passed in does not equal to the size of the parameters!"
                f"Params length: {len(parameters)}. Gradients length: {len(gradients)}"
            )
        step_with(self._optimizer, dict(zip(parameters, gradients, strict=True)))

    def step_param(self, param: Any, grad: Any) -> None:
        """A step of one parameter, which is added if it is new."""
        if param not in self._known:
            self._known.add(param)
            self._optimizer.param_groups[0]["params"].append(param)
        step_with(self._optimizer, {param: grad})


class _FunctionalSGD(FunctionalOptimizer):
    _kind = optim.SGD


class _FunctionalAdam(FunctionalOptimizer):
    _kind = optim.Adam


class _FunctionalAdamW(FunctionalOptimizer):
    _kind = optim.AdamW


class _FunctionalAdagrad(FunctionalOptimizer):
    _kind = optim.Adagrad
    _without_effect = (
        *FunctionalOptimizer._without_effect,
        *("warmup_lr_multiplier", "warmup_num_iters", "coalesce_grad"),
    )


class _FunctionalAdadelta(FunctionalOptimizer):
    _kind = optim.Adadelta


class _FunctionalAdamax(FunctionalOptimizer):
    _kind = optim.Adamax


class _FunctionalRMSprop(FunctionalOptimizer):
    _kind = optim.RMSprop


class _FunctionalRprop(FunctionalOptimizer):
    _kind = optim.Rprop


def _apply_optimizer_in_backward(
    optimizer_class: type[Optimizer],
    params: Iterable[nn.Parameter],
    optimizer_kwargs: dict[str, Any],
    register_hook: bool = True,
) -> None:
    """Backward steps each parameter as soon as its gradient is complete, and frees the
    gradient. Further calls add optimizers to a parameter.
    """
    for parameter in params:
        made: Any = getattr(parameter, "_in_backward_optimizers", None)
        if made is None:
            made = parameter._in_backward_optimizers = []  # type: ignore[attr-defined]
            if register_hook:
                parameter.register_post_accumulate_grad_hook(_step_in_backward)
        made.append(optimizer_class([parameter], **optimizer_kwargs))


def _step_in_backward(parameter: Any) -> None:
    for optimizer in parameter._in_backward_optimizers:
        optimizer.step()
    parameter.grad = None


def _get_in_backward_optimizers(module: nn.Module) -> list[Optimizer]:
    """The optimizers that ``_apply_optimizer_in_backward`` gave a module's
    parameters.
    """
    found: list[Optimizer] = []
    for parameter in module.parameters():
        found += getattr(parameter, "_in_backward_optimizers", [])
    return found
