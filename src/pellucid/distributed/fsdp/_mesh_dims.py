"""``DataParallelMeshDims``: which dims of a mesh of everything are data-parallel, when
``fully_shard`` gets parameters that are DTensors on that mesh already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pellucid import nn
from pellucid.distributed.device_mesh import DeviceMesh
from pellucid.distributed.tensor import DTensor
from pellucid.distributed.tensor._spec import spec_of

Names = str | tuple[str, ...] | None


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


def data_parallel_mesh(mesh: Any, dims: DataParallelMeshDims) -> DeviceMesh:
    """The mesh (replicate, shard) or (shard) of a mesh's data-parallel dims."""
    if mesh is None or mesh.mesh_dim_names is None:
        raise ValueError("dp_mesh_dims needs a mesh whose dims have names")
    chosen = dims.replicate_names, dims.shard_names
    for name in (*chosen[0], *chosen[1]):
        if name not in mesh.mesh_dim_names:
            raise ValueError(
                f"the mesh has the dims {mesh.mesh_dim_names}, and none named {name!r}"
            )
    if not dims.shard_names:
        raise ValueError(
            "dp_mesh_dims without shard replicates alone: use "
            "torch.distributed._composable.replicate"
        )
    parts = [
        mesh[names[0]] if len(names) == 1 else mesh[names]._flatten("_".join(names))
        for names in chosen
        if names
    ]
    return parts[0] if len(parts) == 1 else DeviceMesh._concatenate(parts)


def without_dims(parameter: Any, mesh: Any, dims: DataParallelMeshDims) -> Any:
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
