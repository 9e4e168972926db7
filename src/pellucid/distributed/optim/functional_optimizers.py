"""Optimizers that are given gradients: PyTorch's ``_FunctionalSGD`` and the like, which
hooks of gradients call; and optimizers that run inside backward.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, ClassVar

from pellucid import nn, optim
from pellucid.optim import Optimizer

__all__: list[str] = []


_ALLOWS_NONE = "_allow_empty_param_list"


def step_with(optimizer: Optimizer, chosen: Sequence[Mapping[Any, Any]]) -> None:
    """A step of some parameters of each group with these gradients; all others, and
    every ``grad``, stay as they are.
    """
    groups = optimizer.param_groups
    wholes = [group["params"] for group in groups]
    former = [(parameter, parameter.grad) for part in chosen for parameter in part]
    try:
        for group, part in zip(groups, chosen, strict=True):
            group["params"] = list(part)
            for parameter, gradient in part.items():
                parameter.grad = gradient
        optimizer.step()
    finally:
        for group, whole in zip(groups, wholes, strict=True):
            group["params"] = whole
        for parameter, gradient in former:
            parameter.grad = gradient


class FunctionalOptimizer:
    """Steps of an optimizer whose gradients are arguments."""

    _kind: ClassVar[type[Optimizer]]
    #: PyTorch's arguments after the parameters, in order, with their defaults.
    _options: ClassVar[dict[str, Any]]
    #: Those that change no result.
    _without_effect: ClassVar[tuple[str, ...]] = ()
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls) -> None:
        kind = Parameter.POSITIONAL_OR_KEYWORD
        options = {**cls._options, _ALLOWS_NONE: False}
        taken = [Parameter(name, kind, default=v) for name, v in options.items()]
        cls.__signature__ = Signature([Parameter("params", kind), *taken])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = self.__signature__.bind(*args, **kwargs)
        given.apply_defaults()
        options = given.arguments
        params, allows_none = options.pop("params"), options.pop(_ALLOWS_NONE)
        if not params and not allows_none:
            raise ValueError("optimizer got an empty parameter list")
        for name in self._without_effect:
            del options[name]
        # An empty group is filled later, as PyTorch's users do.
        self.param_group: dict[str, Any] = {"params": params}
        self._optimizer = self._kind([self.param_group], **options)
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
        step_with(self._optimizer, [dict(zip(parameters, gradients, strict=True))])

    def step_param(self, param: Any, grad: Any) -> None:
        """A step of one parameter, which is added if it is new."""
        if param not in self._known:
            self._known.add(param)
            self._optimizer.param_groups[0]["params"].append(param)
        step_with(self._optimizer, [{param: grad}])


class _FunctionalSGD(FunctionalOptimizer):
    _kind = optim.SGD
    _options: ClassVar[dict[str, Any]] = {
        "lr": 1e-2,
        "momentum": 0.0,
        "dampening": 0.0,
        "weight_decay": 0.0,
        "nesterov": False,
        "maximize": False,
        "foreach": False,
        "fused": False,
    }


class _FunctionalAdam(FunctionalOptimizer):
    _kind = optim.Adam
    _options: ClassVar[dict[str, Any]] = {
        "lr": 1e-3,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 0.0,
        "amsgrad": False,
        "maximize": False,
        "foreach": False,
        "fused": False,
    }


class _FunctionalAdamW(FunctionalOptimizer):
    _kind = optim.AdamW
    _options: ClassVar[dict[str, Any]] = {
        "lr": 1e-3,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 1e-2,
        "amsgrad": False,
        "maximize": False,
        "foreach": False,
        "fused": False,
    }


class _FunctionalAdagrad(FunctionalOptimizer):
    _kind = optim.Adagrad
    _options: ClassVar[dict[str, Any]] = {
        "lr": 1e-2,
        "lr_decay": 0.0,
        "weight_decay": 0.0,
        "initial_accumulator_value": 0.0,
        "warmup_lr_multiplier": 1.0,
        "warmup_num_iters": 0.0,
        "eps": 1e-10,
        "coalesce_grad": True,
        "foreach": False,
        "fused": False,
        "maximize": False,
    }
    _without_effect = ("warmup_lr_multiplier", "warmup_num_iters", "coalesce_grad")


class _FunctionalAdadelta(FunctionalOptimizer):
    _kind = optim.Adadelta
    _options: ClassVar[dict[str, Any]] = {
        "lr": 1.0,
        "rho": 0.9,
        "eps": 1e-6,
        "weight_decay": 0.0,
        "foreach": False,
        "maximize": False,
    }


class _FunctionalAdamax(FunctionalOptimizer):
    _kind = optim.Adamax
    _options: ClassVar[dict[str, Any]] = {
        "lr": 1e-3,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 0.0,
        "foreach": False,
        "maximize": False,
    }


class _FunctionalRMSprop(FunctionalOptimizer):
    _kind = optim.RMSprop
    _options: ClassVar[dict[str, Any]] = {
        "lr": 1e-2,
        "alpha": 0.99,
        "eps": 1e-8,
        "weight_decay": 0.0,
        "momentum": 0.0,
        "centered": False,
        "foreach": False,
        "maximize": False,
    }


class _FunctionalRprop(FunctionalOptimizer):
    _kind = optim.Rprop
    _options: ClassVar[dict[str, Any]] = {
        "lr": 1e-2,
        "etas": (0.5, 1.2),
        "step_sizes": (1e-6, 50),
        "foreach": False,
        "maximize": False,
    }


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
