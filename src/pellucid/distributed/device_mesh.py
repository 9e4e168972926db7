"""``DeviceMesh``: an array of ranks, with a process group along each dimension."""

from __future__ import annotations

import math
import threading
from functools import cached_property
from typing import Any

import pellucid as torch
import pellucid.distributed as dist

__all__ = ["DeviceMesh", "init_device_mesh"]

_current = threading.local()


Axes = tuple[int, ...]
"""Dims of the root mesh: one, or several that are flattened."""


class DeviceMesh:
    """An array of ranks. Every process constructs it with the same ranks.

    A part of a mesh, ``mesh["dp"]``, has some of its dims, at this process's place in
    the others. The groups are the whole mesh's, the *root*'s.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[Any] | None = None,
        _root: DeviceMesh | None = None,
        _axes: tuple[Axes, ...] | None = None,
    ) -> None:
        self.device_type, self._root = device_type, _root or self
        is_tensor = isinstance(mesh, torch.Tensor)
        ranks = mesh.detach() if is_tensor else torch.tensor(mesh)
        self.mesh = ranks.to(torch.int32)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if mesh_dim_names is not None and len(mesh_dim_names) != self.mesh.dim():
            raise RuntimeError(
                f"mesh_dim_names {mesh_dim_names} must name each of the "
                f"{self.mesh.dim()} dimensions"
            )
        rank = dist.get_rank() if dist.is_initialized() else -1
        places = (self.mesh == rank).nonzero().tolist()
        self._place = tuple(places[0]) if places else None
        self._axes = _axes or tuple((dim,) for dim in range(self.mesh.dim()))
        if _root is None:
            # By axes; and the flattened dims by name.
            self._known_groups: dict[Axes, Any] = {}
            self._flattened: dict[str, Axes] = {}
            for dim, axes in enumerate(self._axes):
                made = self._make_group(axes) if _groups is None else _groups[dim]
                self._known_groups[axes] = made

    def _make_group(self, axes: Axes) -> Any:
        """Makes the groups of the ranks along some axes; this process's."""
        own, rest = None, [d for d in range(self.mesh.dim()) if d not in axes]
        rows = self.mesh.permute([*rest, *axes]).flatten(len(rest))
        for ranks in rows.reshape(-1, rows.shape[-1]).tolist():
            is_world = ranks == list(range(dist.get_world_size()))
            make = dist.new_group
            group = dist.group.WORLD if is_world else make(ranks, sort_ranks=False)
            own = group if dist.get_rank() in ranks else own
        return own

    @property
    def _groups(self) -> list[Any]:
        return [self._root._known_groups[axes] for axes in self._axes]

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

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This process's indices; None outside of the mesh."""
        return self._place

    def _named_axes(self) -> dict[str, Axes]:
        """The axes of each name, also of flattened dims within this mesh."""
        named = dict(zip(self.mesh_dim_names or (), self._axes, strict=False))
        own = {axis for axes in self._axes for axis in axes}
        inside = self._root._flattened.items()
        return named | {n: axes for n, axes in inside if own.issuperset(axes)}

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        chosen = (names,) if isinstance(names, str) else tuple(names)
        named = self._named_axes()
        if any(name not in named for name in chosen):
            raise KeyError(
                f"Invalid mesh_dim_names {chosen} specified. Valid mesh_dim_names are "
                f"{list(named)}."
            )
        axes = tuple(named[name] for name in chosen)
        flat = [axis for each in axes for axis in each]
        if flat != sorted(set(flat)):
            raise KeyError(
                f"Invalid mesh_dim_names {chosen} specified. Mesh dim indices should "
                "be in ascending order."
            )
        return self._part(chosen, axes)

    @cached_property
    def _inner(self) -> DeviceMesh:
        """The dims but the first, at this process's place in that."""
        names = self.mesh_dim_names
        return self._part(None if names is None else names[1:], self._axes[1:])

    def _part(
        self, names: tuple[str, ...] | None, axes: tuple[Axes, ...]
    ) -> DeviceMesh:
        """The dims of the root that the axes say, at this process's place."""
        flat = [axis for each in axes for axis in each]
        root, order = self._root, sorted(flat)
        assert root._place is not None
        place = [slice(None) if d in flat else at for d, at in enumerate(root._place)]
        sizes = [math.prod(root.shape[axis] for axis in each) for each in axes]
        ranks = root.mesh[tuple(place)].permute([order.index(axis) for axis in flat])
        return DeviceMesh(
            *(self.device_type, ranks.reshape(sizes)),
            mesh_dim_names=names,
            _root=root,
            _axes=axes,
        )

    def _flatten(
        self, mesh_dim_name: str | None = None, backend_override: Any = None
    ) -> DeviceMesh:
        """This mesh as one dim, by default named after its dims, "dp_tp". The whole
        mesh then has it by that name. All processes call it.
        """
        root, axes = self._root, tuple(axis for each in self._axes for axis in each)
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        if not name:
            raise RuntimeError("a mesh without names is flattened by a name")
        if name in (root.mesh_dim_names or ()) and len(axes) > 1:
            raise ValueError(f"{name} already exists for submesh of the {root}")
        if root._flattened.get(name, axes) != axes:
            raise ValueError(
                f"{name} is the name of the flattened dims {root._flattened[name]}"
            )
        root._flattened[name] = axes
        if axes not in root._known_groups:
            root._known_groups[axes] = root._make_group(axes)
        return self._part((name,), (axes,))

    def _unflatten(
        self,
        dim: int | str,
        mesh_sizes: tuple[int, ...],
        mesh_dim_names: tuple[str, ...],
        backend_override: Any = None,
    ) -> DeviceMesh:
        """This mesh with one dim as several. All processes call it."""
        at, names = self._dim(dim), list(self.mesh_dim_names or ())
        if math.prod(mesh_sizes) != self.shape[at]:
            raise ValueError(
                f"mesh_sizes={mesh_sizes} and the size {self.shape[at]} of dim {dim} "
                "differ"
            )
        root, own = self._root, [axis for each in self._axes for axis in each]
        rest = [axis for axis in range(root.ndim) if axis not in own]
        sizes = [*self.shape[:at], *mesh_sizes, *self.shape[at + 1 :]]
        ranks = root.mesh.permute([*rest, *own])
        ranks = ranks.reshape([*ranks.shape[: len(rest)], *sizes])
        names[at : at + 1] = mesh_dim_names
        outer = tuple(f"_outer{axis}" for axis in rest)
        whole = DeviceMesh(self.device_type, ranks, mesh_dim_names=(*outer, *names))
        return whole[tuple(names)] if rest else whole

    @staticmethod
    def _concatenate(device_mesh_list: list[DeviceMesh]) -> DeviceMesh:
        """The dims of several parts of one mesh."""
        joined = device_mesh_list[0]
        for mesh in device_mesh_list[1:]:
            joined = joined._joined_with(mesh)
        return joined

    def _get_root_mesh(self) -> DeviceMesh:
        """The mesh of which this is a part, or itself."""
        return self._root

    def _joined_with(self, inner: DeviceMesh) -> DeviceMesh:
        """The dims of this mesh and of another submesh of the same mesh."""
        if self._root is not inner._root or self._root is self:
            raise ValueError(
                f"{self} and {inner} must be parts of one mesh: take both by name from "
                'one, as in mesh["dp"] and mesh["tp"]'
            )
        names = *(self.mesh_dim_names or ()), *(inner.mesh_dim_names or ())
        return self._part(names, (*self._axes, *inner._axes))

    @staticmethod
    def from_group(
        group: Any,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
    ) -> DeviceMesh:
        """A 1-d mesh of the ranks of a group; or a mesh of ranks whose dims have the
        groups of a list.
        """
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        if mesh is None and len(groups) > 1:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        ranks = dist.get_process_group_ranks(groups[0]) if mesh is None else mesh
        return DeviceMesh(
            device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=groups
        )

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
        names = self.mesh_dim_names
        sizes = map(str, self.shape)
        if names:
            pairs = zip(names, self.shape, strict=True)
            shown = f"({', '.join(f'{name}={size}' for name, size in pairs)})"
        else:
            shown = f"({', '.join(sizes)}{',' if self.ndim == 1 else ''})"
        strides = self.mesh.reshape(self.shape).stride()
        if self._place is not None:
            strides = tuple(map(self._step, range(self.ndim)))
        return f"DeviceMesh({shown}, {self.device_type!r}, stride={strides})"

    def _step(self, dim: int) -> int:
        """From a rank to the next along a dim."""
        if self.shape[dim] == 1:
            return 1
        first = self.mesh.select(dim, 1).flatten()[0] - self.mesh.flatten()[0]
        return int(first)


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
