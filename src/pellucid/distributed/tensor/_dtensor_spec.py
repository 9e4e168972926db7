"""``DTensorSpec``: a DTensor without its values, as sharding functions read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pellucid import Size
from pellucid.distributed.tensor._spec import Spec, known_spec
from pellucid.distributed.tensor.placement_types import Partial, Placement, Shard

__all__ = ["DTensorSpec", "TensorMeta"]


class TensorMeta(NamedTuple):
    """The whole tensor's shape, strides and dtype."""

    shape: Size
    stride: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class DTensorSpec:
    """A mesh, a placement per mesh dim, and the whole tensor's facts."""

    mesh: Any
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta | None = None

    @staticmethod
    def of(spec: Spec, dtype: Any) -> DTensorSpec:
        """The same as one of these."""
        facts = TensorMeta(Size(spec.shape), spec.stride, dtype)
        return DTensorSpec(spec.mesh, spec.placements, facts)

    def known(self) -> Spec:
        """The same as DTensors hold it."""
        meta = self._meta()
        shape, stride = tuple(meta.shape), tuple(meta.stride)
        return known_spec(self.mesh, tuple(self.placements), shape, stride)

    def _meta(self) -> TensorMeta:
        if self.tensor_meta is None:
            raise ValueError("tensor_meta is not set")
        return self.tensor_meta

    @property
    def device_mesh(self) -> Any:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> Size:
        """The whole tensor's shape."""
        return self._meta().shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The whole tensor's strides."""
        return self._meta().stride

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.shape)

    @property
    def num_shards(self) -> int:
        """The number of parts."""
        count = 1
        for mesh_dim, placement in enumerate(self.placements):
            count *= self.mesh.size(mesh_dim) if placement.is_shard() else 1
        return count

    @property
    def dim_map(self) -> list[int]:
        """By dim, the mesh dim that splits it, or -1."""
        found = [-1] * self.ndim
        for mesh_dim, placement in enumerate(self.placements):
            if isinstance(placement, Shard):
                found[placement.dim] = mesh_dim
        return found

    @property
    def sums(self) -> list[int]:
        """The mesh dims over which it is a partial value."""
        each = enumerate(self.placements)
        return [k for k, placement in each if isinstance(placement, Partial)]

    def is_replicated(self) -> bool:
        """Whether every process has all of it."""
        return all(placement.is_replicate() for placement in self.placements)

    def is_sharded(self) -> bool:
        """Whether a dim is split."""
        return any(placement.is_shard() for placement in self.placements)
