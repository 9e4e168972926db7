"""``fully_shard``: shards a module's parameters, gradients and optimizer state over
processes that compute different samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid as torch
from pellucid import nn
from pellucid.distributed.device_mesh import DeviceMesh, init_device_mesh
from pellucid.distributed.fsdp._parameters import Entry, ParameterGroup, Place
from pellucid.distributed.fsdp._policies import MixedPrecisionPolicy, OffloadPolicy
from pellucid.utils import _pytree as pytree


class UnshardHandle:
    """What ``unshard(async_op=True)`` returns."""

    def wait(self) -> None:
        """Returns at once: the parameters have been gathered."""


def _check_sharded(modules: list[Any]) -> None:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"fully_shard was not called on {type(module).__name__}")


class FSDPModule:
    """Mixed into the class of a module by ``fully_shard``."""

    _fsdp: ParameterGroup

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gathers the parameters, until ``reshard`` or the end of the next forward."""
        self._fsdp.unshard()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Frees the gathered parameters, keeping this process's shards."""
        self._fsdp.reshard()

    def _groups(self, recurse: bool) -> list[ParameterGroup]:
        assert isinstance(self, nn.Module)
        modules = self.modules() if recurse else [self]
        return [module._fsdp for module in modules if isinstance(module, FSDPModule)]

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Sets whether backward reduces gradients, or accumulates them unreduced."""
        for group in self._groups(recurse):
            group.syncs = requires_gradient_sync

    def set_requires_all_reduce(
        self, requires_all_reduce: bool, *, recurse: bool = True
    ) -> None:
        """Sets whether gradients are reduced over the replicas of a 2-d mesh."""
        for group in self._groups(recurse):
            group.joins_replicas = requires_all_reduce

    def set_reshard_after_forward(
        self, reshard_after_forward: bool, recurse: bool = True
    ) -> None:
        """Sets whether parameters are freed after forward and gathered again in
        backward.
        """
        for group in self._groups(recurse):
            group.reshards = reshard_after_forward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Has no effect: parameters are gathered when they are used, by the thread that
        uses them.
        """
        _check_sharded(modules)

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Has no effect, like ``set_modules_to_forward_prefetch``."""
        _check_sharded(modules)

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Has no effect: each backward waits for what it has started."""

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Has no effect: what backward has gathered is freed with its graph."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Has no effect: backward gathers the parameters that it uses."""

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Sets the divisor of gradient sums, instead of the number of processes."""
        for group in self._groups(False):
            group.divides_by = factor


def _own_parameters(module: nn.Module, ignored: Any) -> list[tuple[list[Place], Any]]:
    """Parameters not owned by a submodule with ``fully_shard``, with their owners."""
    found: dict[int, tuple[list[Place], Any]] = {}

    def visit(part: nn.Module) -> None:
        for name, parameter in part._parameters.items():
            if parameter is not None and parameter not in ignored:
                places, _ = found.setdefault(id(parameter), ([], parameter))
                places.append(Place(part, name))
        for child in part.children():
            if not isinstance(child, FSDPModule):
                visit(child)

    visit(module)
    return list(found.values())


class _Ignored:
    def __init__(self, parameters: Any) -> None:
        self._ids = {id(parameter) for parameter in parameters or ()}

    def __contains__(self, parameter: Any) -> bool:
        return id(parameter) in self._ids


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[..., Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: Any = None,
) -> Any:
    """Shards a module's parameters over a mesh, along their first dim.

    They are gathered for its forward, and again for backward unless
    ``reshard_after_forward`` is False; gradients are reduce-scattered and averaged.
    Call it on submodules first and on the root last. A 2-d mesh replicates along its
    first dim.

    Example::

        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
    """
    if shard_placement_fn is not None:
        raise NotImplementedError("parameters are split along their first dim")
    if isinstance(module, (list, tuple)):
        raise NotImplementedError("fully_shard takes one module at a time")
    if isinstance(module, FSDPModule):
        raise ValueError(f"fully_shard has been called on this {type(module).__name__}")
    if isinstance(module, (nn.ModuleList, nn.ModuleDict)):
        raise ValueError(
            f"fully_shard does not support containers that do not implement forward: "
            f"{type(module).__name__}"
        )
    import pellucid.distributed as dist

    mesh = mesh or init_device_mesh("cpu", (dist.get_world_size(),))
    policy = mp_policy or MixedPrecisionPolicy()
    found = _own_parameters(module, _Ignored(ignored_params))
    entries = [Entry(places, parameter, mesh) for places, parameter in found]
    group = ParameterGroup(entries, mesh, policy)
    group.reshards = reshard_after_forward is None or bool(reshard_after_forward)
    kind = type(module)
    name = f"FSDP{kind.__name__}"
    module.__class__ = type(name, (FSDPModule, kind), {"__module__": kind.__module__})
    module._fsdp = group
    module.register_forward_pre_hook(_prepare, prepend=True, with_kwargs=True)
    module.register_forward_hook(_finish, always_call=True)
    return module


def _cast(values: Any, dtype: Any) -> Any:
    def cast(x: Any) -> Any:
        is_float = isinstance(x, torch.Tensor) and x.is_floating_point()
        return x.to(dtype) if is_float else x

    return pytree.tree_map(cast, values)


def _prepare(module: Any, inputs: Any, options: Any) -> Any:
    group = module._fsdp
    group.unshard()
    dtype = group.policy.param_dtype
    if dtype is None or not group.policy.cast_forward_inputs:
        return None
    return _cast(inputs, dtype), _cast(options, dtype)


def _finish(module: Any, inputs: Any, output: Any) -> Any:
    group = module._fsdp
    group.reshard()
    dtype = group.policy.output_dtype
    return None if dtype is None or output is None else _cast(output, dtype)


def register_fsdp_forward_method(module: nn.Module, method_name: str) -> None:
    """Makes a method gather the parameters like forward."""
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    def run(*args: Any, **kwargs: Any) -> Any:
        module._fsdp.unshard()
        try:
            return method(*args, **kwargs)
        finally:
            module._fsdp.reshard()

    setattr(module, method_name, run)
