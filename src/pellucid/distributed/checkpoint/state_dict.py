"""States of models and optimizers by parameter names, full or sharded."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
from pellucid.distributed.checkpoint._flat_optimizer_state import flat, nested
from pellucid.distributed.fsdp import FullyShardedDataParallel, StateDictType
from pellucid.distributed.tensor import DTensor, distribute_tensor
from pellucid.optim import Optimizer

__all__ = [
    "FQNS_T",
    "DictValueType",
    "ListDictValueType",
    "OptimizerStateType",
    "PrimitiveType",
    "StateDictOptions",
    "ValueType",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

FQNS_T = set[str]
PrimitiveType = DTensor | torch.Tensor | int | float | str
ValueType = Any
DictValueType = dict[str, ValueType]
ListDictValueType = list[DictValueType]
OptimizerStateType = dict[str, DictValueType | ListDictValueType]

_Optimizers: TypeAlias = "Optimizer | Iterable[Optimizer]"
_WRAPPERS = ("_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module")


@dataclass
class StateDictOptions:
    """``full_state_dict``: full tensors instead of DTensors.

    ``cpu_offload``: tensors on the CPU; if they are full, on rank 0 only.
    ``ignore_frozen_params``: without parameters that need no gradient. ``strict``: an
    error if names are missing. ``broadcast_from_rank0``: only rank 0 has the full state
    to load. ``flatten_optimizer_state_dict``: an optimizer's state is one flat dict.
    ``dsd_fqn_modifiers``: a method of modules whose names lack a level.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError(
            "full_state_dict must be True when broadcast_from_rank0 is True."
        )
    return options


def _name(model: nn.Module, name: str, options: StateDictOptions) -> str:
    """A name without the prefixes of wrappers."""
    found = []
    here: Any = model
    for part in name.split("."):
        is_hidden = part in _WRAPPERS or (
            part == "module" and isinstance(here, nn.parallel.DistributedDataParallel)
        )
        if not is_hidden:
            found.append(part)
        if hasattr(here, options.dsd_fqn_modifiers):
            level = getattr(here, options.dsd_fqn_modifiers)().get(part)
            here = getattr(here, level) if level and hasattr(here, level) else here
        here = getattr(here, part, None)
    return ".".join(found)


def _own_state(model: nn.Module) -> dict[str, Any]:
    """The model's state, also of ``FullyShardedDataParallel`` with DTensors."""
    kind = StateDictType.SHARDED_STATE_DICT
    with FullyShardedDataParallel.state_dict_type(model, kind):
        state: dict[str, Any] = model.state_dict()
        return state


def _given(value: Any, options: StateDictOptions) -> Any:
    """A value as the options want it."""
    if isinstance(value, dict):
        return {key: _given(item, options) for key, item in value.items()}
    if options.full_state_dict and isinstance(value, DTensor):
        value = value.full_tensor()
    if options.cpu_offload and isinstance(value, torch.Tensor):
        value = value.cpu()
    return value


def _is_left_out(options: StateDictOptions) -> bool:
    """Whether this rank gets nothing, since rank 0 has the full state."""
    on_one = options.full_state_dict and options.cpu_offload and dist.is_initialized()
    return on_one and dist.get_rank() != 0


def _prefixes_of(model: nn.Module, submodules: Any, options: StateDictOptions) -> Any:
    if not submodules:
        return None
    warnings.warn(
        "states of submodules are deprecated: select them from the state by name",
        FutureWarning,
        stacklevel=3,
    )
    chosen = set(submodules)
    names = [name for name, module in model.named_modules() if module in chosen]
    return tuple(f"{_name(model, name, options)}." for name in names)


def get_model_state_dict(
    model: nn.Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, ValueType]:
    """A model's state."""
    options = _checked(options)
    prefixes = _prefixes_of(model, submodules, options)
    frozen = {
        _name(model, name, options) for name, parameter in model.named_parameters()
        if not parameter.requires_grad
    }  # fmt: skip
    found = {}
    for key, value in _own_state(model).items():
        name = _name(model, key, options)
        if options.ignore_frozen_params and name in frozen:
            continue
        if prefixes is not None:
            prefix = next((p for p in prefixes if name.startswith(p)), None)
            if prefix is None:
                continue
            if not options.keep_submodule_prefixes:
                name = name.removeprefix(prefix)
        found[name] = _given(value, options)
    return {} if _is_left_out(options) else found


def set_model_state_dict(
    model: nn.Module,
    model_state_dict: dict[str, ValueType],
    *,
    options: StateDictOptions | None = None,
) -> Any:
    """Loads a model's state: DTensors, or whole tensors. Parameters on the meta device
    are replaced.
    """
    options = _checked(options)
    given = model_state_dict
    if options.broadcast_from_rank0:
        given = _broadcast(given)
    if not given and options.strict and not options.ignore_frozen_params:
        raise RuntimeError(
            "the model's state to load is empty; give strict=False if that is meant"
        )
    own = _own_state(model)
    names = {_name(model, key, options): key for key in own}
    placed = {}
    for name, value in given.items():
        key = names.get(name, name)
        placed[key] = _placed(value, own.get(key))
    is_meta = any(isinstance(v, torch.Tensor) and v.is_meta for v in own.values())
    return model.load_state_dict(placed, strict=options.strict, assign=is_meta)


def _placed(value: Any, like: Any) -> Any:
    """A whole tensor as the DTensor that it is loaded into."""
    if not isinstance(like, DTensor) or isinstance(value, DTensor):
        return value
    if not isinstance(value, torch.Tensor) or value.ndim == 0:
        return value
    placed = like.device_mesh, like.placements
    return distribute_tensor(value.detach(), *placed, src_data_rank=None)


class _Sent(NamedTuple):
    """Represents a tensor that is broadcast."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def _broadcast(state: Any) -> Any:
    """Rank 0's state, on all ranks: its tensors are broadcast one by one."""
    is_first = dist.get_rank() == 0
    described = [_described(state) if is_first else None]
    dist.broadcast_object_list(described, src=0)
    return _received(described[0], state if is_first else None)


def _described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _Sent(tuple(value.shape), value.dtype)
    if isinstance(value, dict):
        return {key: _described(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_described, value))
    return value


def _received(described: Any, own: Any) -> Any:
    if isinstance(described, _Sent):
        if own is not None:
            whole = own.detach().contiguous()
        else:
            whole = torch.empty(described.shape, dtype=described.dtype)
        dist.broadcast(whole, 0)
        return whole
    if isinstance(described, dict):
        return {
            key: _received(item, None if own is None else own[key])
            for key, item in described.items()
        }
    if type(described) in (list, tuple):
        return type(described)(
            _received(item, None if own is None else own[k])
            for k, item in enumerate(described)
        )
    return described


def _init_optim_state(optim: Optimizer) -> None:
    """Makes the optimizer create its state, by a step that changes nothing."""
    parameters = [p for group in optim.param_groups for p in group["params"]]
    if optim.state or any(p.grad is not None for p in parameters):
        return
    names = "lr", "weight_decay"
    before = [{k: g[k] for k in names if k in g} for g in optim.param_groups]
    for p in parameters:
        if p.requires_grad:
            p.grad = torch.zeros_like(p)
    for group, rates in zip(optim.param_groups, before, strict=True):
        for key, rate in rates.items():
            group[key] = torch.zeros(()) if isinstance(rate, torch.Tensor) else 0.0
    optim.step()
    optim.zero_grad(set_to_none=True)
    for group, rates in zip(optim.param_groups, before, strict=True):
        group.update(rates)


def _listed(optimizers: _Optimizers) -> list[Optimizer]:
    found = [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)
    if not found:
        raise RuntimeError(
            "Optimizers are not passed in but optim_only is set to True."
        )
    return found


def _parameter_names(model: nn.Module, options: StateDictOptions) -> dict[int, str]:
    named = model.named_parameters()
    return {id(p): _name(model, key, options) for key, p in named}


def get_optimizer_state_dict(
    model: nn.Module,
    optimizers: _Optimizers,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> OptimizerStateType:
    """The state of a model's optimizers, by the names of parameters."""
    options = _checked(options)
    prefixes = _prefixes_of(model, submodules, options)
    names = _parameter_names(model, options)
    state: dict[str, Any] = {}
    groups = []
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            listed = [names[id(p)] for p in group["params"]]
            for p, name in zip(group["params"], listed, strict=True):
                is_wanted = prefixes is None or name.startswith(prefixes)
                if p in optimizer.state and is_wanted:
                    state[name] = _given(dict(optimizer.state[p]), options)
            rest = {key: _given(v, options) for key, v in group.items()}
            groups.append({**rest, "params": listed})
    if _is_left_out(options):
        return {}
    found: OptimizerStateType = {"state": state, "param_groups": groups}
    return flat(found) if options.flatten_optimizer_state_dict else found


def set_optimizer_state_dict(
    model: nn.Module,
    optimizers: _Optimizers,
    optim_state_dict: OptimizerStateType,
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Loads a result of ``get_optimizer_state_dict``."""
    options = _checked(options)
    names = _parameter_names(model, options)
    given: Any = optim_state_dict
    if options.broadcast_from_rank0:
        given = _broadcast(given)
    if not given:
        raise RuntimeError("the optimizer's state to load is empty")
    if "state" not in given:
        given = nested(given, names.values())
    groups: dict[Any, Any] = {
        name: g for g in given["param_groups"] for name in g["params"] or [None]
    }
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            for p in group["params"]:
                _load_state(optimizer, p, names[id(p)], given["state"], options)
            first = names[id(group["params"][0])] if group["params"] else None
            stored = groups.get(first, {})
            group.update({key: v for key, v in stored.items() if key != "params"})


def _load_state(
    optimizer: Optimizer,
    parameter: Any,
    name: str,
    states: dict[str, Any],
    options: StateDictOptions,
) -> None:
    """Loads the state of a parameter."""
    own = optimizer.state.get(parameter, {})
    if own and name not in states and parameter.requires_grad and options.strict:
        raise RuntimeError(
            f"Missing optimizer state for parameter '{name}' in checkpoint. To load "
            "without it, use StateDictOptions(strict=False)."
        )
    for key, value in states.get(name, {}).items():
        own[key] = _placed(value, own.get(key))


def get_state_dict(
    model: nn.Module,
    optimizers: _Optimizers,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, ValueType], OptimizerStateType]:
    """The states of a model and its optimizers."""
    chosen = {"submodules": submodules, "options": options}
    state = get_model_state_dict(model, **chosen)
    if not isinstance(optimizers, Optimizer) and not (optimizers := list(optimizers)):
        return state, {}
    return state, get_optimizer_state_dict(model, optimizers, **chosen)


def set_state_dict(
    model: nn.Module,
    optimizers: _Optimizers,
    *,
    model_state_dict: dict[str, ValueType],
    optim_state_dict: OptimizerStateType,
    options: StateDictOptions | None = None,
) -> Any:
    """Loads the states of a model and its optimizers."""
    if isinstance(optimizers, Optimizer) or (optimizers := list(optimizers)):
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
