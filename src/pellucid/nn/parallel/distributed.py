"""``DistributedDataParallel``: a module whose gradients are averaged over processes."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed.algorithms.join import Join, Joinable, JoinHook
from pellucid.distributed.utils import BROADCAST_BYTES, _sync_params_and_buffers
from pellucid.nn.modules.module import Module
from pellucid.nn.parallel._logging_data import logging_data
from pellucid.nn.parallel._reducer import Hook, Reducer
from pellucid.nn.parallel._virtual import VirtualRanks
from pellucid.utils import _pytree as pytree

__all__ = ["DistributedDataParallel"]


class _DDPJoinHook(JoinHook):
    """What a rank without inputs does in each iteration of the others."""

    def __init__(self, ddp: DistributedDataParallel, divides_by_all: bool) -> None:
        self._ddp = ddp
        self._divides_by_all = divides_by_all
        ddp._divides_by_all = divides_by_all

    def main_hook(self) -> None:
        """Takes part in the collectives of one iteration."""
        ddp = self._ddp
        does_sync = ddp._check_sync_with_joined(False)
        if ddp._will_sync_buffers():
            ddp._sync_buffers()
        if does_sync:
            ddp._set_divisor(0)
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Broadcasts the parameters of the rank that joined last."""
        ddp = self._ddp
        last = ddp._rank if is_last_joiner else -1
        rank = torch.tensor([last], device=ddp.process_group.object_device)
        dist.all_reduce(rank, dist.ReduceOp.MAX, ddp.process_group)
        ddp._broadcast_states(ddp._all_states(), int(rank))


class DistributedDataParallel(Module, Joinable):
    """Wraps ``module``; ``backward`` averages its gradients over the ranks.

    Every rank wraps an equal module and calls it with its own part of the data.
    Buckets of gradients are reduced while backward runs. With ``virtual_ranks=8`` the
    batch is computed in 8 shards for any number of ranks, and the result has the same
    bits for each.

    Example::

        model = DistributedDataParallel(model)
        loss(model(x), y).backward()
        optimizer.step()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        virtual_ranks: int | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        device = next((p.device for p in module.parameters()), torch.device("cpu"))
        _check_device_ids(device_ids, device)
        if process_group is None and device_mesh is not None:
            process_group = device_mesh.get_group()
        self.module, self.dim, self.device = module, dim, device
        self.device_ids, self.output_device = device_ids or None, output_device
        self.process_group = (
            dist.group.WORLD if process_group is None else process_group
        )
        if self.process_group is None:
            dist.get_rank()  # raises: there is no group
        ignored = getattr(module, "_ddp_params_and_buffers_to_ignore", ())
        self.parameters_to_ignore = set(ignored)
        self._rank = self.process_group.rank()
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._divides_by_all = True
        named = [
            (name, parameter)
            for name, parameter in module.named_parameters()
            if parameter.requires_grad and name not in self.parameters_to_ignore
        ]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any "
                "parameters that require a gradient."
            )
        if init_sync:
            self._check_same_model()
            self._broadcast_states(self._all_states(), 0)
        limit = None if bucket_cap_mb is None else int(float(bucket_cap_mb) * (1 << 20))
        self.reducer = Reducer(
            [parameter for _, parameter in named],
            [name for name, _ in named],
            self.process_group,
            limit,
            find_unused_parameters,
            gradient_as_bucket_view,
        )
        self.reducer.is_static = static_graph
        size = self.process_group.size()
        self._virtual = (
            None if not virtual_ranks else VirtualRanks(virtual_ranks, self._rank, size)
        )

    # State that ranks share

    def _named_states(self) -> list[tuple[str, Any]]:
        module, ignored = self.module, self.parameters_to_ignore
        named = [*module.named_parameters(), *module.named_buffers()]
        return [pair for pair in named if pair[0] not in ignored]

    def _all_states(self) -> list[Any]:
        return [tensor for _, tensor in self._named_states()]

    def _check_same_model(self) -> None:
        own = [
            (f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)}", f" {name}")
            for name, tensor in self._named_states()
        ]
        every: list[Any] = [None] * self.process_group.size()
        dist.all_gather_object(every, own, self.process_group)
        for rank, other in enumerate(every):
            pairs = itertools.zip_longest(other, every[0], fillvalue=("none", ""))
            for (given, name), (expected, _) in pairs:
                if given == expected:
                    continue
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but rank {rank} has "
                    f"{len(other)} params, while rank 0 has {len(every[0])}. The first "
                    f"that differs is {given}{name} on rank {rank}, {expected} on "
                    "rank 0"
                )

    def _broadcast_states(self, tensors: list[Any], root: int) -> None:
        _sync_params_and_buffers(self.process_group, tensors, BROADCAST_BYTES, root)

    def _will_sync_buffers(self) -> bool:
        has_buffers = next(iter(self.module.buffers()), None) is not None
        return self.broadcast_buffers and has_buffers

    def _sync_buffers(self) -> None:
        ignored = self.parameters_to_ignore
        named = self.module.named_buffers()
        buffers = [buffer for name, buffer in named if name not in ignored]
        self._broadcast_states(buffers, self._root_of_buffers())

    def _root_of_buffers(self) -> int:
        if not self._join_config.enable:
            return 0
        own = -1 if self._has_joined else self._rank
        rank = torch.tensor([own], device=self.process_group.object_device)
        dist.all_reduce(rank, dist.ReduceOp.MAX, self.process_group)
        return int(rank)

    # Calls

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Calls ``module``; ``backward`` from the result averages gradients."""
        self._prepare_pass()
        if self.device_ids is not None:
            inputs, options = _moved((inputs, options), self.device)
        if self._virtual is not None and torch.is_grad_enabled():
            return self._virtual.run(self.module, inputs, options)
        return self.module(*inputs, **options)

    def _prepare_pass(self) -> None:
        """Prepares the reduction of gradients, before the module is called."""
        syncs = self.require_backward_grad_sync and torch.is_grad_enabled()
        if self._join_config.enable:
            Join.notify_join_context(self)
            self._check_sync_with_joined(syncs)
            self._set_divisor(1)
        if syncs:
            self.reducer.arm()
        if self._will_sync_buffers() and self.require_forward_param_sync:
            self._sync_buffers()
        self.require_forward_param_sync = syncs or not torch.is_grad_enabled()

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients accumulate locally; the first backward whose
        forward ran outside reduces them.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """``hook(state, bucket)`` replaces the all_reduce of a bucket; it returns a
        Future of the averaged flat tensor.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called "
                "once."
            )
        self.reducer.hook = state, hook

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        self.register_comm_hook(self.process_group, comm_hook_type.hook)

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: list[str]
    ) -> None:
        """Names what a wrapper made later leaves alone."""
        module.__dict__["_ddp_params_and_buffers_to_ignore"] = list(
            params_and_buffers_to_ignore
        )

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What is true of the wrapper, its group and its buckets, by name."""
        return logging_data(self)

    def _set_static_graph(self) -> None:
        self.static_graph = self.reducer.is_static = True

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward broadcasts rank 0's buffers."""
        return self.require_forward_param_sync and self._will_sync_buffers()

    # Uneven inputs

    _has_joined = False

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A context for training on uneven inputs: ranks that have run out take part
        with zeros.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **options: Any) -> JoinHook:
        """The hook for ``Join``."""
        return _DDPJoinHook(self, options.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The parameters' device, for ``Join``."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group whose ranks average."""
        return self.process_group

    def _check_sync_with_joined(self, syncs: bool) -> bool:
        """Whether the ranks with inputs reduce in this iteration."""
        self._has_joined = not self._has_inputs()
        place = self.process_group.object_device
        flag = torch.tensor([int(syncs)], device=place)
        dist.all_reduce(flag, dist.ReduceOp.MAX, self.process_group)
        return bool(flag)

    def _has_inputs(self) -> bool:
        return not self._join_config.is_joined

    def _set_divisor(self, counts: int) -> None:
        if self._divides_by_all:
            return
        number = torch.tensor([counts], device=self.process_group.object_device)
        dist.all_reduce(number, group=self.process_group)
        self.reducer.divisor = float(number)

    def __getstate__(self) -> Any:
        raise RuntimeError(
            "DistributedDataParallel cannot be pickled; save model.module.state_dict()"
        )


def _check_device_ids(device_ids: Any, device: Any) -> None:
    if not device_ids:
        return
    if device.type == "cpu":
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only "
            f"work with GPU modules; the CPU's takes device_ids=None, not {device_ids}"
        )
    only = torch.device(device.type, *device_ids) if len(device_ids) == 1 else None
    if only is None or (only.index or 0) != (device.index or 0):
        raise ValueError(
            f"device_ids names the one device of the module, {device}; given "
            f"{device_ids}"
        )


def _moved(values: Any, device: Any) -> Any:
    """The values with all tensors on the device."""
    return pytree.tree_map_only(torch.Tensor, lambda x: x.to(device), values)
