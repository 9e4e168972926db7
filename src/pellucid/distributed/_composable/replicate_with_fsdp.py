"""``replicate`` by the mechanism of ``fully_shard``: parameters are whole DTensors, and
gradients are averaged over the mesh when backward has computed a module's.
"""

from __future__ import annotations

from typing import Any

from pellucid.distributed._composable.contract import contract
from pellucid.distributed.device_mesh import DeviceMesh
from pellucid.distributed.fsdp._fully_shard import FSDPModule, lay_out
from pellucid.distributed.fsdp._mesh_dims import DataParallelMeshDims, layout_on
from pellucid.distributed.fsdp._policies import MixedPrecisionPolicy, OffloadPolicy

__all__: list[str] = []


class ReplicateModule(FSDPModule):
    """Mixed into the class of a module by ``replicate``."""


@contract()
def replicate(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: Any = None,
    dp_mesh_dims: DataParallelMeshDims | None = None,
) -> Any:
    """Averages the gradients of a module, or of several, over a 1-d mesh.

    With ``dp_mesh_dims`` the parameters are DTensors on ``mesh``, and gradients are
    averaged over the dims that ``dp_mesh_dims.replicate`` names. Memory is the host's:
    ``offload_policy`` changes nothing.

    Example::

        for block in model.blocks:
            replicate(block)
        replicate(model)
    """
    if dp_mesh_dims is not None and dp_mesh_dims.shard_names:
        raise ValueError(
            "replicate shards nothing, but dp_mesh_dims shards along "
            f"{dp_mesh_dims.shard_names}: use fully_shard"
        )
    if not is_composable_with_replicate(module):
        raise RuntimeError(
            "fully_shard shards this module: it cannot be replicated, too"
        )
    layout, own = layout_on(mesh, dp_mesh_dims, shards=False)
    return lay_out(
        module,
        layout,
        mp_policy,
        ignored_params=ignored_params,
        own=own,
        mixed_in=("Replicate", ReplicateModule),
    )


def is_composable_with_replicate(module: Any) -> bool:
    """Whether ``fully_shard`` was called on none of the modules."""
    modules = module if isinstance(module, (list, tuple)) else [module]
    return not any(
        isinstance(each, FSDPModule) and not isinstance(each, ReplicateModule)
        for each in modules
    )
