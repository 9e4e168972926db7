"""Modules as functions of their parameters: functorch's older names.

``torch.func.functional_call`` and ``stack_module_state`` do the same for new programs;
libraries still import these. Parameters are tuples here, in the order of
``named_parameters``; a tensor of several names is one of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from pellucid import Tensor, nn, stack
from pellucid._package.calls.deprecation import deprecated
from pellucid.func import functional_call


def _named(
    tensors: Iterable[tuple[str, Tensor]],
) -> tuple[dict[str, list[str]], list[Tensor]]:
    """The names of each tensor by its first one, and the tensors."""
    names: dict[str, list[str]] = {}
    first: dict[int, str] = {}
    found = []
    for name, tensor in tensors:
        if id(tensor) in first:
            names[first[id(tensor)]].append(name)
            continue
        first[id(tensor)] = name
        names[name] = [name]
        found.append(tensor)
    return names, found


def _state(names: dict[str, list[str]], tensors: Iterable[Tensor]) -> dict[str, Tensor]:
    pairs = zip(names.values(), tensors, strict=True)
    return {name: tensor for shared, tensor in pairs for name in shared}


def _without_state(model: nn.Module) -> nn.Module:
    """A copy whose parameters and buffers hold no elements."""
    state = (*model.parameters(), *model.buffers())
    memo = {id(t): t.detach().to("meta") for t in state}
    for tensor in state:
        if isinstance(tensor, nn.Parameter):
            memo[id(tensor)] = nn.Parameter(memo[id(tensor)], tensor.requires_grad)
    return copy.deepcopy(model, memo)


def _detached(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Copies in which nothing has been recorded."""
    return tuple(t.detach().clone() for t in tensors)


class FunctionalModule(nn.Module):
    """``fmodule(params, *args)`` calls the module with these parameters."""

    def __init__(
        self,
        stateless_model: nn.Module,
        param_names: tuple[str, ...],
        names_map: dict[str, list[str]],
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.names_map = names_map

    @staticmethod
    def _create_from(
        model: nn.Module, disable_autograd_tracking: bool = False
    ) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
        names, found = _named(model.named_parameters(remove_duplicate=False))
        params = _parameters(found, disable_autograd_tracking)
        return FunctionalModule(_without_state(model), tuple(names), names), params

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The module's result with ``params``, one for each of ``param_names``."""
        state = _state(self.names_map, params)
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModuleWithBuffers(nn.Module):
    """``fmodule(params, buffers, *args)`` calls the module with these tensors."""

    def __init__(
        self,
        stateless_model: nn.Module,
        param_names: tuple[str, ...],
        buffer_names: tuple[str, ...],
        param_names_map: dict[str, list[str]],
        buffer_names_map: dict[str, list[str]],
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.buffer_names = buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(
        model: nn.Module, disable_autograd_tracking: bool = False
    ) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
        names, found = _named(model.named_parameters(remove_duplicate=False))
        others, buffers = _named(model.named_buffers(remove_duplicate=False))
        params = _parameters(found, disable_autograd_tracking)
        made = FunctionalModuleWithBuffers(
            _without_state(model), tuple(names), tuple(others), names, others
        )
        return made, params, _detached(buffers)

    def forward(
        self,
        params: Iterable[Tensor],
        buffers: Iterable[Tensor],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """The module's result with ``params`` and ``buffers``, in the order of
        ``param_names`` and ``buffer_names``.
        """
        state = _state(self.all_names_map, (*params, *buffers))
        return functional_call(self.stateless_model, state, args, kwargs)


def _parameters(found: list[Tensor], untracked: bool) -> tuple[Tensor, ...]:
    copies = _detached(found)
    if untracked:
        return copies
    pairs = zip(copies, found, strict=True)
    return tuple(nn.Parameter(made, given.requires_grad) for made, given in pairs)


def _warn(name: str, instead: str) -> None:
    deprecated(f"functorch.{name}", instead, FutureWarning, 3)


def make_functional(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A function of the parameters, and copies of these.

    RuntimeError for a model with buffers: ``make_functional_with_buffers`` takes them.
    """
    _warn("make_functional", "torch.func.functional_call")
    if next(model.buffers(), None) is not None:
        raise RuntimeError(
            "make_functional(model): the model has buffers; use "
            "make_functional_with_buffers(model)"
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function of parameters and buffers, and copies of both."""
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[nn.Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """One function for models of one class, and their parameters and buffers stacked
    for ``vmap``.

    RuntimeError for no models, for different classes, and for a mix of training and
    evaluation.
    """
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    if not models:
        raise RuntimeError("combine_state_for_ensemble: give at least one model, not 0")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: all models must be in training or all in "
            "evaluation mode"
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: the models' classes differ")
    functions, params, buffers = zip(
        *(FunctionalModuleWithBuffers._create_from(model) for model in models),
        strict=True,
    )
    return functions[0], _stacked(params), _stacked(buffers)


def _stacked(states: Iterable[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(stack(same) for same in zip(*states, strict=True))
