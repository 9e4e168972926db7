"""Makes DTensors from full tensors, modules' parameters, and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid as torch
from pellucid.distributed.device_mesh import DeviceMesh, current_mesh
from pellucid.distributed.tensor._dtensor import DTensor, part_sizes
from pellucid.distributed.tensor._redistribute import redistribute_local
from pellucid.distributed.tensor._spec import checked_placements, spec_of
from pellucid.distributed.tensor.placement_types import Placement, Replicate


def distribute_tensor(
    tensor: torch.Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A DTensor from a full tensor, replicated by default: a leaf of the graph.

    The values are those of the first process along each mesh dim; with
    ``src_data_rank=None`` each process's own. Shards have the sizes of ``torch.chunk``.
    """
    import pellucid.distributed as dist

    mesh = current_mesh() if device_mesh is None else device_mesh
    placed = checked_placements(mesh, placements, tensor.ndim)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != placed:
            raise ValueError(
                f"the tensor is already distributed, over {tensor.device_mesh} as "
                f"{tensor.placements}; use redistribute"
            )
        return tensor
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found "
            "non-leaf tensor!"
        )
    whole = tensor.detach()
    if src_data_rank is not None:
        whole = whole.clone(memory_format=torch.contiguous_format)
        for mesh_dim in range(mesh.ndim):
            group = mesh.get_group(mesh_dim)
            dist.broadcast(whole, group=group, group_src=src_data_rank)
    replicated = [Replicate()] * mesh.ndim
    local = redistribute_local(whole, mesh, tensor.shape, replicated, placed)
    made = DTensor(local.detach(), spec_of(local, mesh, placed, tensor.shape))
    return made.requires_grad_(tensor.requires_grad)


def distribute_module(
    module: torch.nn.Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, torch.nn.Module, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> torch.nn.Module:
    """Makes a module's parameters and buffers DTensors: those that
    ``partition_fn(name, module, mesh)`` does not convert are replicated.

    ``input_fn(module, inputs, mesh)`` and ``output_fn(module, outputs, mesh)`` convert
    the module's inputs and outputs.
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        replicate_rest(part, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(
            lambda module, inputs: input_fn(module, inputs, mesh)
        )
    if output_fn is not None:
        module.register_forward_hook(
            lambda module, _, outputs: output_fn(module, outputs, mesh)
        )
    return module


def replicate_rest(module: torch.nn.Module, mesh: DeviceMesh) -> None:
    """Replicates the module's own parameters and buffers that are plain tensors."""
    for key, parameter in module._parameters.items():
        if parameter is not None and not isinstance(parameter, DTensor):
            made = distribute_tensor(parameter.data, mesh)
            new = torch.nn.Parameter(made, parameter.requires_grad)
            module.register_parameter(key, new)
    for key, buffer in module._buffers.items():
        if buffer is not None and not isinstance(buffer, DTensor):
            module._buffers[key] = distribute_tensor(buffer, mesh)


def _made(
    factory: Callable[..., Any], size: Any, mesh: Any, placements: Any, options: Any
) -> DTensor:
    mesh = current_mesh() if mesh is None else mesh
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    placed = checked_placements(mesh, placements, len(shape))
    requires_grad = options.pop("requires_grad", False)
    local = factory(part_sizes(mesh, placed, shape), **options)
    made = DTensor(local, spec_of(local, mesh, placed, shape))
    return made.requires_grad_(requires_grad)


def zeros(
    *size: Any, device_mesh: Any = None, placements: Any = None, **options: Any
) -> DTensor:
    """A DTensor of zeros."""
    return _made(torch.zeros, size, device_mesh, placements, options)


def ones(
    *size: Any, device_mesh: Any = None, placements: Any = None, **options: Any
) -> DTensor:
    """A DTensor of ones."""
    return _made(torch.ones, size, device_mesh, placements, options)


def empty(
    *size: Any, device_mesh: Any = None, placements: Any = None, **options: Any
) -> DTensor:
    """A DTensor without values."""
    return _made(torch.empty, size, device_mesh, placements, options)


def full(
    size: Any,
    fill_value: Any,
    *,
    device_mesh: Any = None,
    placements: Any = None,
    **options: Any,
) -> DTensor:
    """A DTensor of one value."""

    def filled(sizes: Any, **settings: Any) -> Any:
        return torch.full(sizes, fill_value, **settings)

    return _made(filled, (size,), device_mesh, placements, options)


def _drawn(draw: Any, size: Any, mesh: Any, placements: Any, options: Any) -> DTensor:
    """All processes draw the full tensor, so that its values do not depend on the
    mesh.
    """
    mesh = current_mesh() if mesh is None else mesh
    return distribute_tensor(
        draw(*size, **options), mesh, placements, src_data_rank=None
    )


def rand(
    *size: Any, device_mesh: Any = None, placements: Any = None, **options: Any
) -> DTensor:
    """A DTensor of uniform numbers: those that ``torch.rand`` gives on one process."""
    return _drawn(torch.rand, size, device_mesh, placements, options)


def randn(
    *size: Any, device_mesh: Any = None, placements: Any = None, **options: Any
) -> DTensor:
    """A DTensor of normal numbers: those that ``torch.randn`` gives on one process."""
    return _drawn(torch.randn, size, device_mesh, placements, options)
