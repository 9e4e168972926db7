"""Optimizer states of sharded models, with parameters by name or by number.

Called by ``FullyShardedDataParallel.optim_state_dict`` and
``optim_state_dict_to_load``.
"""

from __future__ import annotations

from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
from pellucid.distributed.tensor import DTensor, distribute_tensor

# Parts that wrappers add to names.
_WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")


def whole(value: Any) -> Any:
    """The full tensor of a DTensor; other values unchanged."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def unwrapped_name(name: str) -> str:
    """A parameter's name in the model before wrappers."""
    for part in _WRAPPERS:
        name = name.replace(part, "")
    return name


def _names(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[str]:
    """The names of the optimizer's parameters, in its order."""
    names = {}
    for name, parameter in model.named_parameters():
        names[id(parameter)] = unwrapped_name(name)
    parameters = _parameters(optimizer)
    if any(id(parameter) not in names for parameter in parameters):
        raise ValueError("the optimizer has parameters that are not the model's")
    return [names[id(parameter)] for parameter in parameters]


def _parameters(optimizer: torch.optim.Optimizer) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def rekeyed_state(
    model: nn.Module, optimizer: Any, state: dict[str, Any], is_by_name: bool
) -> dict[str, Any]:
    """A state with other keys of the same values. Without an optimizer, it has all
    parameters of the model, in order.
    """
    names: list[Any] = [name for name, _ in model.named_parameters()]
    if optimizer is not None:
        names = _names(model, optimizer)
    keys = names if is_by_name else list(range(len(names)))
    known = {**dict(enumerate(keys)), **dict(zip(names, keys, strict=True))}
    groups = [
        {**group, "params": [known[key] for key in group["params"]]}
        for group in state["param_groups"]
    ]
    values = {known[key]: value for key, value in state["state"].items()}
    return {"state": values, "param_groups": groups}


def named_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, state: Any, is_whole: bool
) -> dict[str, Any]:
    """``optimizer.state_dict()``, or a ``state`` like it, with names instead of numbers
    and, if ``is_whole``, full tensors instead of shards.
    """
    names = _names(model, optimizer)
    numbered = optimizer.state_dict() if state is None else state
    named = {}
    for number, values in sorted(numbered["state"].items()):
        named[names[number]] = {
            key: whole(value) if is_whole else value for key, value in values.items()
        }
    groups = [
        {**group, "params": [names[number] for number in group["params"]]}
        for group in numbered["param_groups"]
    ]
    return {"state": named, "param_groups": groups}


def numbered_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, named: Any, keeps_names: bool
) -> dict[str, Any]:
    """The argument of ``optimizer.load_state_dict`` for a result of ``named_state``:
    tensors get the placements of their parameters.
    """
    names = _names(model, optimizer)
    keys: dict[str, Any] = {name: k for k, name in enumerate(names)}
    if keeps_names:
        keys = {name: name for name in names}
    state = {}
    for name, parameter in zip(names, _parameters(optimizer), strict=True):
        if name in named["state"]:
            values = named["state"][name].items()
            state[keys[name]] = {key: _placed(v, parameter) for key, v in values}
    stored = {name: g for g in named["param_groups"] for name in g["params"]}
    groups, first = [], 0
    for group in optimizer.param_groups:
        own = names[first : first + len(group["params"])]
        first += len(own)
        missing = [name for name in own if name not in stored]
        if missing:
            raise KeyError(f"the state has no parameter group of {missing[0]}")
        rest = stored[own[0]] if own else group
        groups.append({**rest, "params": [keys[name] for name in own]})
    return {"state": state, "param_groups": groups}


def _placed(value: Any, parameter: Any) -> Any:
    is_part = isinstance(parameter, DTensor) and not isinstance(value, DTensor)
    if not is_part or not isinstance(value, torch.Tensor) or value.ndim == 0:
        return value
    mesh, placements = parameter.device_mesh, parameter.placements
    return distribute_tensor(value.detach(), mesh, placements, src_data_rank=None)


def from_first(state: Any, group: Any) -> Any:
    """The first process's state, on every process."""
    listed = [state]
    dist.broadcast_object_list(listed, group=group, group_src=0)
    return listed[0]
