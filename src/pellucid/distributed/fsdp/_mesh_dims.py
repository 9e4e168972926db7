"""How a mesh distributes parameters: ``Layout``. ``DataParallelMeshDims`` says which
dims of a mesh of everything are data-parallel, when ``fully_shard`` gets parameters
that are DTensors on that mesh already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from pellucid import nn
from pellucid.distributed.device_mesh import DeviceMesh, init_device_mesh
from pellucid.distributed.tensor import DTensor, Placement, Replicate, Shard
from pellucid.distributed.tensor._spec import spec_of

Names = str | tuple[str, ...] | None


class Layout(NamedTuple):
    """The last dim of the mesh shards parameters, unless ``shards`` is False; its other
    dim replicates them.
    """

    mesh: DeviceMesh
    shards: bool = True

    @property
    def num_shards(self) -> int:
        """The number of processes that share one copy of the parameters."""
        return int(self.mesh.size(self.mesh.ndim - 1)) if self.shards else 1

    @property
    def place(self) -> int:
        """The index of this process's shard."""
        return self.mesh.get_local_rank(self.mesh.ndim - 1) if self.shards else 0

    @property
    def shard_group(self) -> Any:
        """The processes that share one copy; None without shards."""
        return self.mesh.get_group(self.mesh.ndim - 1) if self.shards else None

    @property
    def num_replicas(self) -> int:
        """The number of copies."""
        has_replicas = self.mesh.ndim > 1 or not self.shards
        return int(self.mesh.size(0)) if has_replicas else 1

    @property
    def replica_group(self) -> Any:
        """The processes with the same shard; None with one copy."""
        has_replicas = self.mesh.ndim > 1 or not self.shards
        return self.mesh.get_group(0) if has_replicas else None

    def placements(self, dim: int) -> tuple[Placement, ...]:
        """Those of a parameter that is split along a dim."""
        replicated: tuple[Placement, ...] = (Replicate(),) * self.mesh.ndim
        return (*replicated[:-1], Shard(dim)) if self.shards else replicated


def _tuple_of(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


@dataclass
class DataParallelMeshDims:
    """The names of the dims over which parameters are sharded, and of those over which
    they are replicated. Several names are one dim, flattened.
    """

    shard: Names = None
    replicate: Names = None

    def __post_init__(self) -> None:
        if self.shard is None and self.replicate is None:
            raise ValueError("give shard, replicate, or both")
        if both := {*self.shard_names} & {*self.replicate_names}:
            raise ValueError(f"shard and replicate both name the dims {sorted(both)}")

    @property
    def shard_names(self) -> tuple[str, ...]:
        """The dims of ``shard``."""
        return _tuple_of(self.shard)

    @property
    def replicate_names(self) -> tuple[str, ...]:
        """The dims of ``replicate``."""
        return _tuple_of(self.replicate)


def layout_on(
    mesh: Any, dims: DataParallelMeshDims | None, *, shards: bool = True
) -> tuple[Layout, Callable[[Any], Any]]:
    """A layout, and a function from a module's parameter to the one that it lays out:
    over the whole mesh, or over the dims that ``dims`` names.
    """
    import pellucid.distributed as dist

    if dims is not None:
        return _named_layout(mesh, dims), partial(_without_dims, mesh=mesh, dims=dims)
    own = init_device_mesh("cpu", (dist.get_world_size(),)) if mesh is None else mesh
    most = 2 if shards else 1
    if own.ndim > most:
        raise ValueError(f"needs a mesh of at most {most} dims; {own} has {own.ndim}")
    return Layout(own, shards), lambda parameter: parameter


def _named_layout(mesh: Any, dims: DataParallelMeshDims) -> Layout:
    """The layout (replicate, shard), (shard) or (replicate) of a mesh's data-parallel
    dims.
    """
    if mesh is None or mesh.mesh_dim_names is None:
        raise ValueError("dp_mesh_dims needs a mesh whose dims have names")
    chosen = dims.replicate_names, dims.shard_names
    for name in (*chosen[0], *chosen[1]):
        if name not in mesh.mesh_dim_names:
            raise ValueError(
                f"the mesh has the dims {mesh.mesh_dim_names}, and none named {name!r}"
            )
    parts = [
        mesh[names[0]] if len(names) == 1 else mesh[names]._flatten("_".join(names))
        for names in chosen
        if names
    ]
    whole = parts[0] if len(parts) == 1 else DeviceMesh._concatenate(parts)
    return Layout(whole, shards=bool(dims.shard_names))


def _without_dims(parameter: Any, mesh: Any, dims: DataParallelMeshDims) -> Any:
    """A parameter on the mesh as one on its other dims, or as a plain one."""
    spec = getattr(parameter, "_spec", None)
    if spec is None or spec.mesh != mesh:
        raise ValueError(
            "with dp_mesh_dims, parameters are DTensors on the mesh "
            f"{mesh}; one is {type(parameter).__name__} of shape "
            f"{tuple(parameter.shape)}"
        )
    own = {*dims.shard_names, *dims.replicate_names}
    placed = dict(zip(mesh.mesh_dim_names, spec.placements, strict=True))
    split = [name for name in own if not placed[name].is_replicate()]
    if split:
        raise ValueError(
            f"a parameter of shape {tuple(parameter.shape)} is {placed[split[0]]} on "
            f"the data-parallel mesh dim {split[0]!r}, where it must be Replicate()"
        )
    rest = tuple(name for name in mesh.mesh_dim_names if name not in own)
    local = parameter._local_tensor.detach()
    if rest:
        placements = [placed[name] for name in rest]
        local = DTensor(local, spec_of(local, mesh[rest], placements, spec.shape))
    return nn.Parameter(local, parameter.requires_grad)
