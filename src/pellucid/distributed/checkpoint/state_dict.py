"""States of models and optimizers by parameter names, full or sharded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pellucid as torch
from pellucid import nn
from pellucid.distributed.tensor import DTensor, distribute_tensor

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """``full_state_dict``: full tensors instead of DTensors.

    ``broadcast_from_rank0``: only the first process has the full state to load.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


def _name(name: str) -> str:
    """A name without the prefixes of wrappers."""
    for part in ("_fsdp_wrapped_module.", "_orig_mod.", "_checkpoint_wrapped_module."):
        name = name.replace(part, "")
    return name.removeprefix("module.")


def _given(value: Any, options: StateDictOptions) -> Any:
    if isinstance(value, dict):
        return {key: _given(item, options) for key, item in value.items()}
    if options.full_state_dict and isinstance(value, DTensor):
        return value.full_tensor()
    return value


def get_model_state_dict(
    model: nn.Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """A model's state."""
    options = options or StateDictOptions()
    inner: Any = getattr(model, "_fsdp_wrapped_module", model)
    frozen = {
        name for name, parameter in inner.named_parameters()
        if not parameter.requires_grad
    }  # fmt: skip
    state = inner.state_dict()
    return {
        _name(name): _given(value, options)
        for name, value in state.items()
        if not (options.ignore_frozen_params and name in frozen)
    }


def set_model_state_dict(
    model: nn.Module,
    model_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> Any:
    """Loads a model's state: DTensors, or whole tensors."""
    options = options or StateDictOptions()
    inner: Any = getattr(model, "_fsdp_wrapped_module", model)
    own = inner.state_dict()
    names = {_name(name): name for name in own}
    given = model_state_dict
    if options.broadcast_from_rank0:
        given = _broadcast(given, {_name(k): v for k, v in own.items()})
    placed = {
        names.get(name, name): _placed(value, own.get(names.get(name, name)))
        for name, value in given.items()
    }
    return inner.load_state_dict(placed, strict=options.strict)


def _placed(value: Any, like: Any) -> Any:
    if not isinstance(like, DTensor) or isinstance(value, DTensor):
        return value
    if not isinstance(value, torch.Tensor) or value.ndim == 0:
        return value
    placed = like.device_mesh, like.placements
    return distribute_tensor(value.detach(), *placed, src_data_rank=None)


def _broadcast(given: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    import pellucid.distributed as dist

    found = {}
    for name, like in own.items():
        if dist.get_rank() == 0:
            whole = given[name].detach().contiguous()
        else:
            whole = torch.empty(like.shape, dtype=like.dtype)
        dist.broadcast(whole, 0)
        found[name] = whole
    return found


def _make_states(optimizer: torch.optim.Optimizer) -> None:
    """Makes the optimizer create its state, by a step that changes nothing."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in parameters):
        raise RuntimeError(
            "the optimizer has no state yet, and parameters have gradients: call "
            "zero_grad() before its state is requested"
        )
    rates = [group["lr"] for group in optimizer.param_groups]
    decays = [group.get("weight_decay") for group in optimizer.param_groups]
    for p in parameters:
        if p.requires_grad:
            p.grad = torch.zeros_like(p)
    for group in optimizer.param_groups:
        group["lr"] = torch.zeros(()) if isinstance(group["lr"], torch.Tensor) else 0.0
        if "weight_decay" in group:
            group["weight_decay"] = 0.0
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    for group, rate, decay in zip(optimizer.param_groups, rates, decays, strict=True):
        group["lr"] = rate
        if decay is not None:
            group["weight_decay"] = decay


def _optimizers(optimizers: Any) -> list[Any]:
    is_one = isinstance(optimizers, torch.optim.Optimizer)
    return [optimizers] if is_one else list(optimizers)


def _parameter_names(model: nn.Module) -> dict[int, str]:
    inner: Any = getattr(model, "_fsdp_wrapped_module", model)
    return {id(p): _name(name) for name, p in inner.named_parameters()}


def get_optimizer_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of a model's optimizers, by the names of parameters."""
    options = options or StateDictOptions()
    names = _parameter_names(model)
    state: dict[str, Any] = {}
    groups = []
    for optimizer in _optimizers(optimizers):
        _make_states(optimizer)
        for group in optimizer.param_groups:
            listed = [names[id(p)] for p in group["params"]]
            for p, name in zip(group["params"], listed, strict=True):
                if p in optimizer.state:
                    state[name] = _given(dict(optimizer.state[p]), options)
            rest = {key: v for key, v in group.items() if key != "params"}
            groups.append({**rest, "params": listed})
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(
    model: nn.Module,
    optimizers: Any,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Loads a result of ``get_optimizer_state_dict``."""
    names = _parameter_names(model)
    groups = {name: g for g in optim_state_dict["param_groups"] for name in g["params"]}
    for optimizer in _optimizers(optimizers):
        _make_states(optimizer)
        for group in optimizer.param_groups:
            for p in group["params"]:
                given = optim_state_dict["state"].get(names[id(p)], {})
                own = optimizer.state.get(p, {})
                for key, value in given.items():
                    own[key] = _placed(value, own.get(key))
            stored = groups.get(names[id(group["params"][0])], {})
            group.update({key: v for key, v in stored.items() if key != "params"})


def get_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and its optimizers."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Loads the states of a model and its optimizers."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
