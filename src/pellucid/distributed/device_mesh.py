"""``DeviceMesh``: an array of ranks, with a process group along each dimension."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import pellucid as torch
import pellucid.distributed as dist

__all__ = ["DeviceMesh", "init_device_mesh"]

_current = threading.local()


class DeviceMesh:
    """An array of ranks. Every process constructs it with the same ranks."""

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[Any] | None = None,
        _root: DeviceMesh | None = None,
    ) -> None:
        self.device_type, self._root = device_type, _root or self
        is_tensor = isinstance(mesh, torch.Tensor)
        self.mesh = mesh.to(torch.int64) if is_tensor else torch.tensor(mesh)
        self.mesh_dim_names = mesh_dim_names
        if mesh_dim_names is not None and len(mesh_dim_names) != self.mesh.dim():
            raise RuntimeError(
                f"mesh_dim_names {mesh_dim_names} must name each of the "
                f"{self.mesh.dim()} dimensions"
            )
        rank = dist.get_rank() if dist.is_initialized() else -1
        places = (self.mesh == rank).nonzero().tolist()
        self._place = places[0] if places else None
        self._groups = self._make_groups() if _groups is None else _groups

    def _make_groups(self) -> list[Any]:
        made = []
        for dim in range(self.mesh.dim()):
            size = self.mesh.shape[dim]
            own = None
            rows = self.mesh.transpose(dim, -1).reshape(-1, size).tolist()
            for ranks in rows:
                is_world = len(ranks) == dist.get_world_size()
                group = dist.group.WORLD if is_world else dist.new_group(ranks)
                own = group if dist.get_rank() in ranks else own
            made.append(own)
        return made

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return tuple(self.mesh.shape)

    @cached_property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.mesh.dim())

    def size(self, mesh_dim: int | None = None) -> int:
        """The size of a dimension, or of the whole mesh."""
        return int(self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim])

    def _dim(self, name: int | str | None) -> int:
        if isinstance(name, str):
            if name not in (self.mesh_dim_names or ()):
                raise KeyError(
                    f"there is no mesh dim {name!r}; there are {self.mesh_dim_names}"
                )
            return (self.mesh_dim_names or ()).index(name)
        if name is None and self.ndim != 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg "
                "`mesh_dim` needs to be specified when device_mesh.ndim > 1."
            )
        return name or 0

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of the ranks along one dimension."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """The groups of all dimensions."""
        return list(self._groups)

    def get_rank(self) -> int:
        """This process's global rank."""
        return dist.get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's index along a dimension."""
        assert self._place is not None
        return int(self._place[self._dim(mesh_dim)])

    def get_coordinate(self) -> list[int] | None:
        """This process's indices; None outside of the mesh."""
        return self._place

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        chosen = (names,) if isinstance(names, str) else tuple(names)
        dims = [self._dim(name) for name in chosen]
        assert self._place is not None
        index = tuple(
            slice(None) if dim in dims else self._place[dim] for dim in range(self.ndim)
        )
        kept = sorted(dims)
        part = self.mesh[index].permute([kept.index(dim) for dim in dims])
        groups = [self._groups[dim] for dim in dims]
        return DeviceMesh(
            *(self.device_type, part),
            mesh_dim_names=chosen,
            _groups=groups,
            _root=self._root,
        )

    def _joined_with(self, inner: DeviceMesh) -> DeviceMesh:
        """The dims of this mesh and of another submesh of the same mesh."""
        if self._root is not inner._root or self._root is self:
            raise ValueError(
                f"{self} and {inner} must be parts of one mesh: take both by name from "
                'one, as in mesh["dp"] and mesh["tp"]'
            )
        return self._root[(*(self.mesh_dim_names or ()), *(inner.mesh_dim_names or ()))]

    @staticmethod
    def from_group(group: Any, device_type: str, **options: Any) -> DeviceMesh:
        """A 1-d mesh of the ranks of a group."""
        ranks = dist.get_process_group_ranks(group)
        names = options.get("mesh_dim_names")
        return DeviceMesh(device_type, ranks, mesh_dim_names=names, _groups=[group])

    def __deepcopy__(self, memo: Any) -> DeviceMesh:
        return self

    def __reduce__(self) -> Any:
        """For a process outside of the groups: the mesh without them."""
        names = self.mesh_dim_names
        return _without_groups, (self.device_type, self.mesh, names, self._place)

    def __enter__(self) -> DeviceMesh:
        meshes = getattr(_current, "meshes", [])
        _current.meshes = [*meshes, self]
        return self

    def __exit__(self, *_: object) -> None:
        _current.meshes = _current.meshes[:-1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> Any:
        return self.shape, tuple(self.mesh.flatten().tolist()), self.mesh_dim_names

    def __repr__(self) -> str:
        names = self.mesh_dim_names or range(self.ndim)
        pairs = zip(names, self.shape, strict=True)
        shown = ", ".join(f"{name}={size}" for name, size in pairs)
        return f"DeviceMesh(({shown}), {self.device_type!r})"


def _without_groups(
    device_type: str, mesh: Any, names: tuple[str, ...] | None, place: Any
) -> DeviceMesh:
    """A mesh that only says which part of a tensor a process has."""
    groups = [None] * mesh.dim()
    made = DeviceMesh(device_type, mesh, mesh_dim_names=names, _groups=groups)
    made._place = place
    return made


def current_mesh() -> DeviceMesh:
    """The innermost active mesh."""
    meshes = getattr(_current, "meshes", [])
    if not meshes:
        raise RuntimeError("No device mesh is currently active!")
    return meshes[-1]  # type: ignore[no-any-return]


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """A mesh of all ranks in order. Makes the default group if there is none.

    Example: ``init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))``.
    """
    if not dist.is_initialized():
        dist.init_process_group()
    count = 1
    for size in mesh_shape:
        count *= size
    if count > dist.get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size "
            f"{dist.get_world_size()}, but found {count} ranks!"
        )
    ranks = torch.arange(count).view(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
