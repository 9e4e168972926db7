"""``FullyShardedDataParallel``: the class interface, over ``fully_shard``."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pellucid as torch
from pellucid import dtype as DType
from pellucid import nn
from pellucid.distributed.device_mesh import DeviceMesh, init_device_mesh
from pellucid.distributed.fsdp import wrap
from pellucid.distributed.fsdp._fully_shard import FSDPModule, lay_out
from pellucid.distributed.fsdp._mesh_dims import layout_on
from pellucid.distributed.fsdp._optimizer_state import (
    from_first,
    named_state,
    numbered_state,
    rekeyed_state,
)
from pellucid.distributed.fsdp._policies import MixedPrecisionPolicy
from pellucid.distributed.fsdp._wrapped_states import PREFIX, register_state_hooks
from pellucid.distributed.tensor import DTensor
from pellucid.distributed.utils import BROADCAST_BYTES, _sync_module_states

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(enum.Enum):
    """What is sharded, and whether backward gathers parameters again."""

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """When backward gathers the next parameters; here always on demand."""

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


class OptimStateKeyType(enum.Enum):
    """How an optimizer's state denotes parameters."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


class StateDictType(enum.Enum):
    """What ``state_dict`` returns: full tensors, or DTensors."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclass
class MixedPrecision:
    """The dtypes of parameters in use and of gradients that are combined."""

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    buffer_dtype: DType | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = True
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether parameters are offloaded to host memory, where they always are here."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """Options of state dicts."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whether only the first process gets the full tensors."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options of ``LOCAL_STATE_DICT``."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options of sharded state dicts."""


@dataclass
class OptimStateDictConfig:
    """Options of an optimizer's state."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whether the first process alone gets, and gives, the optimizer's state."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimizer's state under ``LOCAL_STATE_DICT``."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimizer's state by parts."""


@dataclass
class StateDictSettings:
    """What states of a module are, and their options."""

    state_dict_type: StateDictType
    state_dict_config: Any
    optim_state_dict_config: Any


def _settings(
    kind: StateDictType, config: Any = None, optimizer_config: Any = None
) -> StateDictSettings:
    is_full = kind is StateDictType.FULL_STATE_DICT
    own: tuple[type, type] = ShardedStateDictConfig, ShardedOptimStateDictConfig
    if is_full:
        own = FullStateDictConfig, FullOptimStateDictConfig
    return StateDictSettings(kind, config or own[0](), optimizer_config or own[1]())


_FULL = StateDictType.FULL_STATE_DICT
_REPLICATING = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_GATHERED_ONCE = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)


class FullyShardedDataParallel(nn.Module):
    """A module whose parameters are sharded, by submodules that a policy selects.

    Example::

        model = FullyShardedDataParallel(model, auto_wrap_policy=policy)
        optimizer = torch.optim.Adam(model.parameters())
    """

    def __init__(
        self,
        module: nn.Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = device_mesh or _mesh_of(process_group, strategy)
        if sync_module_states:
            for dim in range(mesh.ndim):
                _sync_module_states(module, mesh.get_group(dim), BROADCAST_BYTES, 0, ())
        options: dict[str, Any] = {
            "sharding_strategy": strategy,
            "mixed_precision": mixed_precision or MixedPrecision(),
        }
        ignored = [p for part in ignored_modules or () for p in part.parameters()]
        ignored += [p for p in ignored_states or () if isinstance(p, torch.Tensor)]
        if auto_wrap_policy is not None:
            facts = ignored_modules or (), options
            chosen = wrap.chosen_modules(module, auto_wrap_policy, *facts)
            same: Any = {"device_mesh": mesh, "ignored_states": ignored}
            for part, own in chosen.items():
                made = FullyShardedDataParallel(part, **{**same, **own})
                wrap.replace_module(module, part, made)
        _shard(module, mesh, ignored, **options)
        self._fsdp_wrapped_module = module
        self.sharding_strategy, self._is_summoned = strategy, False
        self._state_settings = _settings(_FULL)
        register_state_hooks(self)

    @property
    def module(self) -> nn.Module:
        """The wrapped module."""
        return self._fsdp_wrapped_module

    @property
    def process_group(self) -> Any:
        """The processes that share the parameters, or that have copies of them."""
        layout = self._fsdp_wrapped_module._fsdp.layout
        return layout.shard_group or layout.replica_group

    @property
    def rank(self) -> int:
        """This process's rank in ``process_group``."""
        return int(self.process_group.rank())

    @property
    def world_size(self) -> int:
        """The number of processes in ``process_group``."""
        return int(self.process_group.size())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def __getitem__(self, key: Any) -> Any:
        """The element of a wrapped container."""
        wrapped: Any = self._fsdp_wrapped_module
        return wrapped[key]

    def named_parameters(
        self, *args: Any, **kwargs: Any
    ) -> Iterator[tuple[str, nn.Parameter]]:
        """The parameters; ``summon_full_params`` gives them the module's own names."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(PREFIX, "") if self._is_summoned else name, parameter

    def named_buffers(
        self, *args: Any, **kwargs: Any
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """The buffers, named like parameters."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield name.replace(PREFIX, "") if self._is_summoned else name, buffer

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulates gradients, which the next backward outside reduces."""
        groups = {m._fsdp for m in self.modules() if isinstance(m, FSDPModule)}
        for group in groups:
            group.syncs = False
        try:
            yield
        finally:
            for group in groups:
                group.syncs = True

    def register_comm_hook(self, state: Any, hook: Callable[..., None]) -> None:
        """``hook(state, gradients, output)`` replaces the reduction of flat gradients
        to this process's part, which it writes to ``output``, averaged. Where nothing
        is sharded, ``hook(state, gradients)`` averages them in place.
        """
        groups = {m._fsdp for m in self.modules() if isinstance(m, FSDPModule)}
        if not callable(hook):
            raise ValueError(f"The communication hook must be callable but got {hook}")
        if any(group.layout.mesh.ndim > 1 for group in groups):
            raise AssertionError(
                "Communication hook is not supported for hybrid strategies"
            )
        if any(group.comm_hook is not None for group in groups):
            raise AssertionError("A communication hook is already registered")
        for group in groups:
            group.comm_hook = state, hook

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Clips the total norm of gradients; returns the norm before."""
        total = nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: nn.Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """A context with gathered parameters. With ``writeback``, what the context
        changes in them is kept: each process keeps its part of its own changes. With
        ``rank0_only`` the other processes see their shards. Parameters are always in
        host memory: ``offload_to_cpu`` changes nothing.
        """
        if with_grads:
            raise NotImplementedError(
                "summon_full_params(with_grads=True) is not supported: read whole "
                "gradients as parameter.grad.full_tensor(), outside of the context"
            )
        if writeback and rank0_only:
            raise NotImplementedError(
                "writeback=True and rank0_only=True is not supported yet"
            )
        modules = module.modules() if recurse else [module, *module.children()]
        groups = [m._fsdp for m in modules if isinstance(m, FSDPModule)]
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        with torch.no_grad():
            try:
                for group in groups:
                    group.unshard()
                    group.is_summoned = True
                    if rank0_only and torch.distributed.get_rank():
                        group.reshard()
                for wrapper in wrappers:
                    wrapper._is_summoned = True
                yield
            finally:
                for wrapper in wrappers:
                    wrapper._is_summoned = False
                for group in reversed(groups):
                    group.is_summoned = False
                    if writeback and group.use is not None:
                        group.write_back()
                    group.reshard()

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: nn.Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """What ``state_dict`` of a module gives in the block."""
        own = FullyShardedDataParallel.fsdp_modules(module)
        before = [m._state_settings for m in own]
        FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for m, settings in zip(own, before, strict=True):
                m._state_settings = settings

    @staticmethod
    def set_state_dict_type(
        module: nn.Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """What states of a module are from now on; what they were."""
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for m in FullyShardedDataParallel.fsdp_modules(module):
            m._state_settings = _settings(
                state_dict_type, state_dict_config, optim_state_dict_config
            )
        return before

    @staticmethod
    def get_state_dict_type(module: nn.Module) -> StateDictSettings:
        """What states of a module are."""
        own = FullyShardedDataParallel.fsdp_modules(module)
        return own[0]._state_settings if own else _settings(_FULL)

    @staticmethod
    def fsdp_modules(
        module: nn.Module, root_only: bool = False
    ) -> list[FullyShardedDataParallel]:
        """Those among a module and its submodules."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if not root_only:
            return found
        below = {id(m) for f in found for m in f.modules() if m is not f}
        return [m for m in found if id(m) not in below]

    @staticmethod
    def optim_state_dict(
        model: nn.Module,
        optim: torch.optim.Optimizer,
        optim_state_dict: dict[str, Any] | None = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """The optimizer's state by the names of parameters: whole tensors or DTensors,
        as ``state_dict_type`` says. All processes call it.
        """
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        is_whole = settings.state_dict_type is _FULL
        state = named_state(model, optim, optim_state_dict, is_whole)
        only_first = getattr(settings.optim_state_dict_config, "rank0_only", False)
        is_first = torch.distributed.get_rank(group) == 0
        return state if is_first or not only_first else {}

    @staticmethod
    def optim_state_dict_to_load(
        model: nn.Module,
        optim: torch.optim.Optimizer,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of what ``optim_state_dict`` gave.

        Example::

            state = FSDP.optim_state_dict(model, optim)
            optim.load_state_dict(FSDP.optim_state_dict_to_load(model, optim, state))
        """
        config = FullyShardedDataParallel.get_state_dict_type(model)
        if getattr(config.optim_state_dict_config, "rank0_only", False):
            optim_state_dict = from_first(optim_state_dict, group)
        found = numbered_state(model, optim, optim_state_dict, is_named_optimizer)
        if load_directly:
            optim.load_state_dict(found)
        return found

    # The same under former names.

    @staticmethod
    def full_optim_state_dict(
        model: nn.Module,
        optim: torch.optim.Optimizer,
        optim_input: Any = None,
        rank0_only: bool = True,
        group: Any = None,
    ) -> dict[str, Any]:
        """The optimizer's state with whole tensors, on the first process alone."""
        state = named_state(model, optim, None, True)
        return {} if rank0_only and torch.distributed.get_rank(group) else state

    @staticmethod
    def sharded_optim_state_dict(
        model: nn.Module, optim: torch.optim.Optimizer, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state with DTensors."""
        return named_state(model, optim, None, False)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any],
        model: nn.Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of whole tensors."""
        return numbered_state(model, optim, full_optim_state_dict, False)

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: nn.Module, optim: Any
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of DTensors."""
        return numbered_state(model, optim, sharded_optim_state_dict, False)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: nn.Module,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of whole tensors that the first process
        alone has.
        """
        state = from_first(full_optim_state_dict or {}, group)
        return numbered_state(model, optim, state, False)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: OptimStateKeyType,
        model: nn.Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """A state of an optimizer that is not sharded, with parameters by names or by
        numbers.
        """
        is_by_name = optim_state_key_type is OptimStateKeyType.PARAM_NAME
        return rekeyed_state(model, optim, optim_state_dict, is_by_name)


def _shard(
    module: nn.Module,
    mesh: DeviceMesh,
    ignored: list[Any],
    sharding_strategy: ShardingStrategy,
    mixed_precision: MixedPrecision,
) -> None:
    """Shards a module by the options that a policy may change."""
    shards = sharding_strategy is not ShardingStrategy.NO_SHARD
    layout, _ = layout_on(mesh, None, shards=shards)
    policy = MixedPrecisionPolicy(
        mixed_precision.param_dtype,
        mixed_precision.reduce_dtype,
        cast_forward_inputs=mixed_precision.cast_forward_inputs,
    )
    reshards = sharding_strategy not in _GATHERED_ONCE
    lay_out(module, layout, policy, ignored_params=ignored, reshards=reshards)


def _mesh_of(group: Any, strategy: ShardingStrategy) -> DeviceMesh:
    import pellucid.distributed as dist

    if isinstance(group, (tuple, list)) or strategy in _REPLICATING:
        raise ValueError(f"{strategy} needs a device_mesh of two dims")
    size = dist.get_world_size(group)
    if group is None:
        return init_device_mesh("cpu", (size,))
    return DeviceMesh.from_group(group, "cpu")
