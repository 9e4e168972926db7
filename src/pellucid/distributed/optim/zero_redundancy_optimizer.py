"""``ZeroRedundancyOptimizer``: optimizer state sharded by parameters over ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.algorithms.join import Join, Joinable, JoinHook
from pellucid.distributed.optim.functional_optimizers import step_with
from pellucid.optim import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class _ZeROJoinHook(JoinHook):
    """What a rank without inputs does in each iteration of the others."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        """Updates this rank's share and takes part in the broadcasts."""
        self._optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """``optimizer_class`` with its state sharded over the ranks: a rank updates its
    share of the parameters and broadcasts the results.

    With ``overlap_with_ddp``, ``step`` does nothing: the hooks of
    ``ddp_comm_hooks.ddp_zero_hook`` update during backward.

    Example: ``ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=1e-3)``.
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        self.process_group = process_group or dist.group.WORLD
        self.rank = dist.get_rank(self.process_group)
        self.world_size = dist.get_world_size(self.process_group)
        self._optimizer_class, self._given = optimizer_class, defaults
        self._overlaps = overlap_with_ddp
        self._all_state_dicts: list[Any] = []
        self._is_built = False
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self._is_built = True
        self._build()

    def _build(self) -> None:
        sizes = [0] * self.world_size
        self._owner: dict[Any, int] = {}
        every = [p for group in self.param_groups for p in group["params"]]
        for parameter in sorted(every, key=lambda p: -p.numel()):
            rank = sizes.index(min(sizes))
            self._owner[parameter] = rank
            sizes[rank] += parameter.numel()
        groups = [self._own_part(group) for group in self.param_groups]
        self.optim = self._optimizer_class(groups, **self._given)

    def _own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        own = [p for p in group["params"] if self._owner[p] == self.rank]
        return {**group, "params": own}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters; existing state stays on its rank."""
        super().add_param_group(param_group)
        if not self._is_built:
            return
        group = self.param_groups[-1]
        for parameter in group["params"]:
            load = [0] * self.world_size
            for known, rank in self._owner.items():
                load[rank] += known.numel()
            self._owner[parameter] = load.index(min(load))
        self.optim.add_param_group(self._own_part(group))

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Updates this rank's parameters, then broadcasts all of them."""
        if self._overlaps:
            return None if closure is None else closure()
        Join.notify_join_context(self)
        self._copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(closure) if closure else self.optim.step()
        self._copy_options(self.optim.param_groups, self.param_groups)
        self.share(self._every())
        return loss

    @staticmethod
    def _copy_options(sources: list[Any], targets: list[Any]) -> None:
        for source, target in zip(sources, targets, strict=True):
            target.update({k: v for k, v in source.items() if k != "params"})

    def step_some(self, gradients: dict[Any, Any]) -> None:
        """Updates some parameters with these gradients on the ranks that own them;
        ``share`` must follow.
        """
        self._copy_options(self.param_groups, self.optim.param_groups)
        own = [
            {p: gradients[p] for p in group["params"] if p in gradients}
            for group in self.optim.param_groups
        ]
        if any(own):
            step_with(self.optim, own)

    def share(self, parameters: list[Any]) -> None:
        """Broadcasts the parameters from the ranks that own them."""
        parts: dict[tuple[int, Any], list[Any]] = {}
        for parameter in parameters:
            key = self._owner[parameter], parameter.dtype
            parts.setdefault(key, []).append(parameter.detach())
        works = []
        for (rank, _), tensors in sorted(parts.items(), key=lambda item: item[0][0]):
            flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
            group = self.process_group
            work = dist.broadcast(flat, group=group, async_op=True, group_src=rank)
            works.append((work, rank, flat, tensors))
        for work, rank, flat, tensors in works:
            assert work is not None
            work.wait()
            if rank != self.rank:
                pieces = flat.split([tensor.numel() for tensor in tensors])
                for tensor, piece in zip(tensors, pieces, strict=True):
                    tensor.copy_(piece.view(tensor.shape))

    # Uneven inputs

    def join_hook(self, **options: Any) -> JoinHook:
        """The hook for ``Join``."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The parameters' device, for ``Join``."""
        return self._every()[0].device

    @property
    def join_process_group(self) -> Any:
        """The group whose ranks share the state."""
        return self.process_group

    # State

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collects the state of all ranks on rank ``to``, before ``state_dict``."""
        every: list[Any] | None = [None] * self.world_size if self.rank == to else None
        own = self.optim.state_dict()
        dist.gather_object(own, every, group=self.process_group, group_dst=to)
        self._all_state_dicts = every or []

    def state_dict(self) -> dict[str, Any]:
        """The state dict of ``optimizer_class`` in one process."""
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand"
            )
        whole = super().state_dict()
        number = {p: n for n, p in enumerate(self._every())}
        for rank, part in enumerate(self._all_state_dicts):
            own = [p for p in self._every() if self._owner[p] == rank]
            for index, parameter in enumerate(own):
                if index in part["state"]:
                    whole["state"][number[parameter]] = part["state"][index]
        return whole

    def _every(self) -> list[Any]:
        return [p for group in self.param_groups for p in group["params"]]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a full state dict, of which each rank keeps its share."""
        every = self._every()
        own = [n for n, p in enumerate(every) if self._owner[p] == self.rank]
        part = self.optim.state_dict()
        states = state_dict["state"]
        part["state"] = {i: states[n] for i, n in enumerate(own) if n in states}
        for mine, given in zip(
            part["param_groups"], state_dict["param_groups"], strict=True
        ):
            mine.update({k: v for k, v in given.items() if k != "params"})
        self.optim.load_state_dict(part)
        for group, given in zip(
            self.param_groups, state_dict["param_groups"], strict=True
        ):
            group.update({k: v for k, v in given.items() if k != "params"})
