"""``_NamedOptimizer``: an optimizer whose state is keyed by the parameters' names, so
that states of models with other parameters beside them can be exchanged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from typing import Any

import pellucid as torch
from pellucid.distributed.fsdp import FullyShardedDataParallel
from pellucid.optim import Optimizer

__all__: list[str] = []


class _NamedOptimizer(Optimizer):
    """Wraps ``optimizer_class(parameters, *args, **kwargs)``.

    ``named_parameters`` are those of a model. ``param_groups`` choose some of them;
    ``module``: a FullyShardedDataParallel, whose states are then whole.

    Example::

        optimizer = _NamedOptimizer(dict(model.named_parameters()), SGD, lr=0.1)
    """

    def __init__(
        self,
        named_parameters: Mapping[str, Any],
        optimizer_class: Callable[..., Optimizer],
        param_groups: Collection[dict[str, Any]] | None = None,
        module: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self.named_parameters = dict(named_parameters)
        self.module = module
        if param_groups is None:
            given: Any = self.named_parameters.values()
            self.ordered_param_keys = list(self.named_parameters)
        else:
            warnings.warn(
                "param_groups are given: parameters that are in none of them are not "
                "optimized",
                stacklevel=2,
            )
            given = [_with_list(group) for group in param_groups]
            self.ordered_param_keys = self._names_of(given)
        self._optimizer = optimizer_class(given, *args, **kwargs)
        self.param_groups = self._optimizer.param_groups

    def __getattr__(self, name: str) -> Any:
        """The wrapped optimizer's defaults and hooks."""
        if name == "_optimizer":  # while a copy is made
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _names_of(self, groups: Collection[Mapping[str, Any]]) -> list[str]:
        names = {id(value): name for name, value in self.named_parameters.items()}
        listed = [value for group in groups for value in group["params"]]
        if any(id(value) not in names for value in listed):
            raise ValueError(
                "a parameter of param_groups is not among named_parameters: "
                f"{', '.join(self.named_parameters)}"
            )
        return [names[id(value)] for value in listed]

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state by parameter."""
        return self._optimizer.state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A step of the wrapped optimizer."""
        return self._optimizer.step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients."""
        self._optimizer.zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters of ``named_parameters``."""
        group = _with_list(param_group)
        names = self._names_of([group])
        self._optimizer.add_param_group(group)
        self.ordered_param_keys += names
        self.param_groups = self._optimizer.param_groups

    def init_state(self) -> None:
        """Makes the state by a step with zero gradients, so that it can be loaded."""
        for value in self.named_parameters.values():
            if value.requires_grad:
                value.grad = torch.zeros_like(value)
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """The state, with names for numbers; groups list them in order."""
        found, names = self._optimizer.state_dict(), self.ordered_param_keys
        state = {names[k]: value for k, value in found["state"].items()}
        groups = [
            {
                **{key: deepcopy(value) for key, value in group.items()},
                "params": sorted(names[k] for k in group["params"]),
            }
            for group in found["param_groups"]
        ]
        made = {"state": state, "param_groups": groups}
        if isinstance(self.module, FullyShardedDataParallel):
            return dict(
                FullyShardedDataParallel.optim_state_dict(
                    self.module, self._optimizer, made
                )
            )
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Copies into the state, which must exist (``init_state``). Parameters and
        groups that ``state_dict`` does not have keep theirs.
        """
        own = self._optimizer.state_dict()
        if isinstance(self.module, FullyShardedDataParallel):
            state_dict = FullyShardedDataParallel.optim_state_dict_to_load(
                self.module, self._optimizer, state_dict, is_named_optimizer=True
            )
        if not own["state"]:
            raise ValueError(
                "there is no state to load into: call init_state() or step() first"
            )
        for number, name in enumerate(self.ordered_param_keys):
            if name in state_dict["state"]:
                _copy_state(name, own["state"][number], state_dict["state"][name])
        given = {_key(g["params"]): g for g in state_dict["param_groups"]}
        for group in own["param_groups"]:
            names = [self.ordered_param_keys[k] for k in group["params"]]
            if _key(names) in given:
                _copy_group(_key(names), group, given[_key(names)])
        self._optimizer.load_state_dict(own)
        self.param_groups = self._optimizer.param_groups


def _with_list(group: Any) -> dict[str, Any]:
    if not isinstance(group, dict) or "params" not in group:
        raise TypeError(f"param group must be a dict with the key params, not {group}")
    given = group["params"]
    params = [given] if isinstance(given, torch.Tensor) else list(given)
    for value in params:
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"parameters are tensors, not {type(value).__name__}")
    return {**group, "params": params}


def _key(names: list[str]) -> str:
    return "/".join(sorted(names))


def _copy_state(name: str, own: dict[str, Any], given: dict[str, Any]) -> None:
    if own.keys() != given.keys():
        raise ValueError(
            f"the state of {name} has {', '.join(map(str, given))}; expected "
            f"{', '.join(map(str, own))}"
        )
    for key, value in own.items():
        if isinstance(value, torch.Tensor):
            value.detach().copy_(given[key])
        else:
            own[key] = deepcopy(given[key])


def _copy_group(names: str, own: dict[str, Any], given: dict[str, Any]) -> None:
    if own.keys() != given.keys():
        raise ValueError(
            f"the group of {names} has {', '.join(given)}; expected {', '.join(own)}"
        )
    own.update({k: deepcopy(v) for k, v in given.items() if k != "params"})
