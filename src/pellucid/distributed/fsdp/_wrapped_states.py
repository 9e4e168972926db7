"""Hooks that keep the names of a module's state free of ``FullyShardedDataParallel``,
and make full tensors of its shards where the settings ask for them.
"""

from __future__ import annotations

from typing import Any

import pellucid.distributed as dist
from pellucid import nn
from pellucid.distributed.fsdp._optimizer_state import unwrapped_name, whole
from pellucid.distributed.tensor import DTensor, distribute_tensor

PREFIX = "_fsdp_wrapped_module."


def register_state_hooks(module: nn.Module) -> None:
    """Registers them with the wrapper of a module."""
    module._register_state_dict_hook(_finish_state)
    module._register_load_state_dict_pre_hook(_prepare_state, with_module=True)


def _finish_state(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Renames the state's values; gathers them, or drops them on other processes."""
    settings = module._state_settings
    is_full = settings.state_dict_type.name == "FULL_STATE_DICT"
    only_first = getattr(settings.state_dict_config, "rank0_only", False)
    is_dropped = is_full and only_first and dist.get_rank() != 0
    old = prefix + PREFIX
    for key in [key for key in state if key.startswith(old)]:
        value = state.pop(key)
        value = whole(value) if is_full else value
        if not is_dropped:
            state[prefix + key.removeprefix(old)] = value


def _prepare_state(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Makes DTensors of the full tensors for parameters that are, and renames."""
    own = {
        unwrapped_name(name): value
        for name, value in module.named_parameters(remove_duplicate=False)
    }
    for key in [key for key in state if key.startswith(prefix)]:
        name, value = key.removeprefix(prefix), state.pop(key)
        state[prefix + PREFIX + name] = _as_placed(value, own.get(name))


def _as_placed(value: Any, like: Any) -> Any:
    if not isinstance(like, DTensor) or isinstance(value, DTensor):
        return value
    placed = like.device_mesh, like.placements
    return distribute_tensor(value, *placed, src_data_rank=None)
