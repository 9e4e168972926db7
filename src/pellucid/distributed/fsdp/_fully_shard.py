"""``fully_shard``: shards a module's parameters, gradients and optimizer state over
processes that compute different samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid as torch
from pellucid import nn
from pellucid.distributed.device_mesh import DeviceMesh
from pellucid.distributed.fsdp._mesh_dims import (
    DataParallelMeshDims as DataParallelMeshDims,
)
from pellucid.distributed.fsdp._mesh_dims import Layout, layout_on
from pellucid.distributed.fsdp._parameters import Entry, ParameterGroup, Place
from pellucid.distributed.fsdp._policies import MixedPrecisionPolicy, OffloadPolicy
from pellucid.distributed.tensor import Shard
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
        self._fsdp.divides_by = factor

    def set_reduce_scatter_divide_factor(self, factor: float) -> None:
        """The former name of ``set_gradient_divide_factor``."""
        self.set_gradient_divide_factor(factor)

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Sets whether gradients are summed and then divided, instead of averaged."""
        self._fsdp.sums_only = enable

    def set_reduce_scatter_unused_params(
        self, reduce_scatter_unused_params: bool, *, recurse: bool = True
    ) -> None:
        """Sets whether parameters without a gradient are reduced as zeros: processes
        may use different parameters.
        """
        for group in self._groups(recurse):
            group.includes_unused = reduce_scatter_unused_params

    def set_all_reduce_hook(
        self, hook: Callable[[Any], None], *, stream: Any = None
    ) -> None:
        """``hook(gradients)`` is called with each flat tensor of reduced gradients,
        which it may change. Host memory has no streams.
        """
        self._fsdp.after_reduction = hook

    def set_custom_all_gather(self, comm: Callable[..., Any]) -> None:
        """``comm(output_tensor=, input_tensor=, group=, async_op=)`` gathers
        parameters.
        """
        self._fsdp.all_gather = lambda output, given, group: comm(
            output_tensor=output, input_tensor=given, group=group, async_op=False
        )

    def set_custom_reduce_scatter(self, comm: Callable[..., Any]) -> None:
        """``comm(output_tensor=, input_tensor=, group=, op=, async_op=)`` reduces
        gradients.
        """
        self._fsdp.reduce_scatter = lambda output, given, op, group: comm(
            output_tensor=output,
            input_tensor=given.view(-1),
            group=group,
            op=op,
            async_op=False,
        )

    def reset_iter_state(self) -> None:
        """Makes the module usable after an error in forward or backward: frees gathered
        parameters, and drops gradients that were not reduced.
        """
        for group in self._groups(True):
            group.depth, group.held = 0, None
            group.reshard()

    # Of communication that overlaps computation on other streams, which host memory
    # does not have: no effect.

    def set_post_optim_event(self, event: Any) -> None:
        """Has no effect: there is one stream."""

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Has no effect: buffers are ordinary memory."""

    def set_separate_reduce_scatter_group(
        self, enable: bool = True, *, recurse: bool = True
    ) -> None:
        """Has no effect: gathers and reductions do not run at the same time."""

    def set_reduce_scatter_max_input_buffers(
        self, max_input_buffers: int, *, recurse: bool = True
    ) -> None:
        """Has no effect: a reduction ends before the next one begins."""


def share_comm_ctx(modules: list[FSDPModule]) -> None:
    """Has no effect: there are no streams to share."""
    _check_sharded(modules)


def _own_parameters(
    modules: list[nn.Module], ignored: Any
) -> list[tuple[list[Place], Any]]:
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

    for module in modules:
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
    dp_mesh_dims: DataParallelMeshDims | None = None,
) -> Any:
    """Shards a module's parameters over a mesh, along their first dim.

    They are gathered for its forward, and again for backward unless
    ``reshard_after_forward`` is False; gradients are reduce-scattered and averaged.
    Call it on submodules first and on the root last. A 2-d mesh replicates along its
    first dim. ``shard_placement_fn(parameter)`` returns ``Shard(dim)`` for another dim
    than the first. The parameters of a list of modules are gathered together. With
    ``dp_mesh_dims`` the parameters are DTensors on ``mesh``, replicated along the dims
    that it names, which shard them. If it names only dims that replicate, parameters
    are whole and gradients are averaged.

    Example::

        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
    """
    layout, own = layout_on(mesh, dp_mesh_dims)
    return lay_out(
        module,
        layout,
        mp_policy,
        ignored_params=ignored_params,
        reshards=reshard_after_forward is None or bool(reshard_after_forward),
        own=own,
        split_dim=lambda parameter: _split_dim(parameter, shard_placement_fn),
    )


def _first_dim(parameter: Any) -> int:
    return 0


def _itself(parameter: Any) -> Any:
    return parameter


def lay_out(
    module: Any,
    layout: Layout,
    mp_policy: MixedPrecisionPolicy | None = None,
    *,
    ignored_params: Any = None,
    reshards: bool = True,
    own: Callable[[Any], Any] = _itself,
    split_dim: Callable[[Any], int] = _first_dim,
    mixed_in: tuple[str, type[FSDPModule]] = ("FSDP", FSDPModule),
) -> Any:
    """Replaces the parameters of a module, or of several, by those of a layout, and
    mixes a class into the modules', whose names get its prefix.

    ``own(parameter)`` is what the layout takes of a parameter, ``split_dim(parameter)``
    the dim along which it is split.
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    _check_modules(modules)
    entries = []
    for places, parameter in _own_parameters(modules, _Ignored(ignored_params)):
        taken = own(parameter)
        entries.append(Entry(places, taken, layout, split_dim(taken)))
    group = ParameterGroup(entries, layout, mp_policy or MixedPrecisionPolicy())
    group.reshards = reshards and layout.shards
    prefix, mixin = mixed_in
    for each in modules:
        kind = type(each)
        name = f"{prefix}{kind.__name__}"
        each.__class__ = type(name, (mixin, kind), {"__module__": kind.__module__})
        each._fsdp = group
        each.register_forward_pre_hook(_prepare, prepend=True, with_kwargs=True)
        each.register_forward_hook(_finish, always_call=True)
        each.register_state_dict_pre_hook(_reshard_for_state)
        each._register_load_state_dict_pre_hook(_reshard_for_state, with_module=True)
    return module


def _check_modules(modules: list[Any]) -> None:
    for module in modules:
        if isinstance(module, FSDPModule):
            raise ValueError(
                "fully_shard or replicate has been called on this "
                f"{type(module).__name__}"
            )
        if isinstance(module, (nn.ModuleList, nn.ModuleDict)):
            raise ValueError(
                f"a {type(module).__name__} has no forward of its own: call it on the "
                "modules that it contains"
            )


def _split_dim(parameter: Any, placement_of: Callable[..., Any] | None) -> int:
    """The dim along which a parameter is split."""
    placement = None if placement_of is None else placement_of(parameter)
    if placement is None:
        return 0
    if not isinstance(placement, Shard):
        raise ValueError(
            f"shard_placement_fn must return Shard(dim) or None, not {placement!r}"
        )
    dim, rank = placement.dim, parameter.dim()
    if not -rank <= dim < max(rank, 1):
        raise ValueError(f"{placement} needs a parameter of more dims than {rank}")
    return int(dim % rank) if rank else 0


def _cast(values: Any, dtype: Any) -> Any:
    def cast(x: Any) -> Any:
        is_float = isinstance(x, torch.Tensor) and x.is_floating_point()
        return x.to(dtype) if is_float else x

    return pytree.tree_map(cast, values)


def _prepare(module: Any, inputs: Any, options: Any) -> Any:
    group = module._fsdp
    group.enter()
    dtype = group.policy.param_dtype
    if dtype is None or not group.policy.cast_forward_inputs:
        return None
    return _cast(inputs, dtype), _cast(options, dtype)


def _finish(module: Any, inputs: Any, output: Any) -> Any:
    group = module._fsdp
    group.leave()
    dtype = group.policy.output_dtype
    return None if dtype is None or output is None else _cast(output, dtype)


def _reshard_for_state(module: Any, *_: Any) -> None:
    """Before a state is taken or loaded: it has shards, also after ``unshard``."""
    group = module._fsdp
    if group.depth == 0 and not group.is_summoned:
        group.reshard()


def register_fsdp_forward_method(module: nn.Module, method_name: str) -> None:
    """Makes a method gather the parameters like forward."""
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    def run(*args: Any, **kwargs: Any) -> Any:
        module._fsdp.enter()
        try:
            return method(*args, **kwargs)
        finally:
            module._fsdp.leave()

    setattr(module, method_name, run)
