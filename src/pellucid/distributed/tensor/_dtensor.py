"""``DTensor``: a tensor distributed over the processes of a mesh.

It has the full tensor's shape and dtype, and no memory: ops reach
``__torch_dispatch__`` (``_dispatch.py``). Autograd runs on the local shard:
``requires_grad``, ``grad`` and hooks are the shard's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pellucid as torch
from pellucid import _C
from pellucid.distributed.device_mesh import DeviceMesh, current_mesh
from pellucid.distributed.tensor._dispatch import dispatch
from pellucid.distributed.tensor._redistribute import (
    DtypesOfMove,
    local_size,
    of_gradient,
    redistribute_in_dtypes,
    redistribute_local,
)
from pellucid.distributed.tensor._spec import (
    Spec,
    checked_placements,
    known_spec,
    spec_of,
)
from pellucid.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
)


def whole_shape(
    local: Any, mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """The full shape, if all shards have equal shapes."""
    shape = list(local.shape)
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            shape[placement.dim] *= mesh.size(mesh_dim)
    return tuple(shape)


class DTensor(torch.Tensor):
    """A tensor of which this process holds a shard, ``to_local()``.

    Made from a full tensor by ``distribute_tensor``, from shards by
    ``DTensor.from_local``.

    Example::

        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.randn(4, 8), mesh, [Shard(0)])
        (x @ x.t()).sum().backward()
    """

    __slots__ = ("_local_tensor", "_spec")  # read by C++ (python/part_calls.h)
    _observes = True  # ops arrive undecomposed
    _local_tensor: torch.Tensor
    _spec: Spec

    @staticmethod
    def __new__(
        cls, local_tensor: torch.Tensor, spec: Spec, *, requires_grad: bool = False
    ) -> DTensor:
        geometry = torch.empty_strided(
            spec.shape, spec.stride, dtype=local_tensor.dtype, device="meta"
        )
        made: DTensor = _C._make_wrapper(cls, geometry, local_tensor.device, 0)
        made._local_tensor, made._spec = local_tensor, spec
        if requires_grad:
            made.requires_grad = True
        return made

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return dispatch(func, args, kwargs, DTensor)

    # Construction and access

    @staticmethod
    def from_local(
        local_tensor: torch.Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """A DTensor from this process's shard; gradients pass to it.

        ``shape`` is the full shape, needed if shards differ in size. With ``run_check``
        replicated values are broadcast from the first process. ``grad_placements`` are
        the placements in which the shard gets its gradient: by default the DTensor's,
        and replicated for a partial sum.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError("from_local takes a process's shard, not a DTensor")
        if stride is not None and shape is None:
            raise RuntimeError("the stride of the full tensor needs its shape, too")
        mesh = current_mesh() if device_mesh is None else device_mesh
        placed = checked_placements(mesh, placements, local_tensor.ndim)
        _check_reductions(placed)
        if run_check:
            _broadcast(local_tensor, mesh, placed)
        whole = whole_shape(local_tensor, mesh, placed) if shape is None else shape
        spec = spec_of(local_tensor, mesh, placed, whole)
        if stride is not None:
            spec = known_spec(mesh, placed, spec.shape, tuple(stride))
        if grad_placements is None:
            return DTensor(local_tensor.view_as(local_tensor), spec)
        wanted = checked_placements(mesh, grad_placements, local_tensor.ndim)
        moves = of_gradient(placed), wanted
        return DTensor(_GradientMoved.apply(spec, *moves, local_tensor), spec)

    def to_local(self, *, grad_placements: Any = None) -> torch.Tensor:
        """This process's shard; its gradient passes to the DTensor.

        ``grad_placements`` are the placements of the gradient if they differ from the
        tensor's: ``Partial()`` for a partial sum.
        """
        local = self._local_tensor
        if grad_placements is None:
            return local.view_as(local) if local.requires_grad else local
        mesh, own, _, _ = self._spec
        given = checked_placements(mesh, grad_placements, self.ndim)
        moves = given, of_gradient(own)
        placed: torch.Tensor = _GradientMoved.apply(self._spec, *moves, local)
        return placed

    def full_tensor(self, *, grad_placements: Any = None) -> torch.Tensor:
        """The full tensor, on every process."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: torch.dtype | None = None,
        backward_dtype: torch.dtype | None = None,
    ) -> DTensor:
        """The same tensor under other placements; gradients are redistributed back.

        The result has ``forward_dtype``, in which its values are communicated;
        gradients are communicated in ``backward_dtype``. Both are the tensor's own by
        default, which a gradient has in any case.
        """
        mesh, _, shape, _ = self._spec
        if device_mesh is not None and device_mesh != mesh:
            raise NotImplementedError("a DTensor cannot change its mesh")
        if placements is None:
            raise RuntimeError("redistribute needs the placements of the result")
        target = checked_placements(mesh, placements, self.ndim)
        current = self._spec.placements
        for have, want in zip(current, target, strict=True):
            if isinstance(want, Partial) and have != want:
                raise RuntimeError(
                    f"a DTensor that is {have} cannot be redistributed to {want}"
                )
        local, facts = self._local_tensor, (mesh, shape, current, target)
        dtypes = DtypesOfMove(
            local.dtype, forward_dtype or local.dtype, backward_dtype or local.dtype
        )
        if dtypes.are_equal:
            local = redistribute_local(local, *facts)
        else:
            local = redistribute_in_dtypes(local, *facts, dtypes)
        return DTensor(local, spec_of(local, mesh, target, shape))

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh of processes."""
        return self._spec.mesh  # type: ignore[no-any-return]

    @property
    def placements(self) -> tuple[Placement, ...]:
        """One placement per mesh dim."""
        return self._spec.placements

    # Autograd, which runs on the shard

    def _alike(self, local: Any) -> Any:
        return None if local is None else DTensor(local, self._spec)

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for it."""
        return self._local_tensor.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._local_tensor.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> DTensor:
        """Sets ``requires_grad``; returns itself."""
        self._local_tensor.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> Any:
        """The gradient, with the tensor's placements; replicated for a partial sum."""
        local = self._local_tensor.grad
        known = self.__dict__.get("_known_grad")
        if known is None or known._local_tensor is not local:
            known = None if local is None else self._with_gradient(local)
            self.__dict__["_known_grad"] = known
        return known

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None and not isinstance(value, DTensor):
            raise RuntimeError("the gradient of a DTensor is a DTensor")
        self._local_tensor.grad = None if value is None else value._local_tensor

    def _with_gradient(self, local: Any) -> DTensor:
        """The gradient with the shard ``local``."""
        mesh, placements, shape, _ = self._spec
        return DTensor(local, spec_of(local, mesh, of_gradient(placements), shape))

    def _root_part(self, gradient: Any) -> tuple[Any, Any]:
        """The shard as a root of backward, and its gradient."""
        if gradient is None and self.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        local = self._local_tensor
        mesh, placements, shape, _ = self._spec
        if gradient is None:
            return local, torch.ones_like(local)
        given, target = gradient._spec.placements, of_gradient(placements)
        part = gradient._local_tensor
        return local, redistribute_local(part, mesh, shape, given, target)

    @property  # type: ignore[misc]
    def grad_fn(self) -> Any:
        """The shard's node."""
        return self._local_tensor.grad_fn

    @property  # type: ignore[misc]
    def is_leaf(self) -> bool:
        """Whether it is a leaf of the graph."""
        return self._local_tensor.is_leaf

    @property
    def data(self) -> Any:
        """A detached DTensor of the same values."""
        return self._alike(self._local_tensor.data)

    @data.setter
    def data(self, value: Any) -> None:
        self._local_tensor.data = value._local_tensor
        self._spec = value._spec

    def retain_grad(self) -> None:
        """Retains the gradient of a result."""
        self._local_tensor.retain_grad()

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Computes gradients, on all processes together."""
        local, own = self._root_part(gradient)
        leaves = None if inputs is None else [x._local_tensor for x in inputs]
        local.backward(own, retain_graph, create_graph, leaves)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Calls ``hook(grad)`` with the gradient as a DTensor."""

        def run(local: Any) -> Any:
            changed = hook(self._alike(local))
            return None if changed is None else changed._local_tensor

        return self._local_tensor.register_hook(run)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> Any:
        """Calls ``hook(self)`` after the gradient was accumulated."""
        return self._local_tensor.register_post_accumulate_grad_hook(
            lambda _: hook(self)
        )

    # Values

    def item(self) -> Any:
        """The value of a tensor with one element."""
        return self.full_tensor().item()

    def tolist(self) -> Any:
        """The elements of the full tensor."""
        return self.full_tensor().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """The full tensor as an array."""
        return self.full_tensor().numpy(force=force)

    def __bool__(self) -> bool:
        return bool(self.full_tensor())

    def __int__(self) -> int:
        return int(self.full_tensor())

    def __float__(self) -> float:
        return float(self.full_tensor())

    def __index__(self) -> int:
        return self.full_tensor().__index__()

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        made = DTensor(copy.deepcopy(self._local_tensor, memo), self._spec)
        if getattr(self, "_is_param", False):
            made.__dict__["_is_param"] = True
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        is_param = bool(getattr(self, "_is_param", False))
        return _rebuilt, (self._local_tensor, tuple(self._spec), is_param)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return (
            f"DTensor(local_tensor={self._local_tensor}, "
            f"device_mesh={self.device_mesh}, placements={self.placements})"
        )


def _rebuilt(local: torch.Tensor, facts: tuple[Any, ...], is_param: bool) -> DTensor:
    """A DTensor from a pickle; its mesh has no groups."""
    made = DTensor(local, known_spec(*facts))
    if is_param:
        made.__dict__["_is_param"] = True
    return made


_C._set_part_class(DTensor, "_local_tensor", "_spec")


def _check_reductions(placements: Sequence[Placement]) -> None:
    """A tensor has one kind of partial values."""
    kinds = {p.reduce_op for p in placements if isinstance(p, Partial)}
    if len(kinds) > 1:
        raise ValueError(f"{placements} combine partial values in different ways")


def _broadcast(local: Any, mesh: DeviceMesh, placements: Sequence[Placement]) -> None:
    import pellucid.distributed as dist

    for mesh_dim, placement in enumerate(placements):
        if placement.is_replicate():
            dist.broadcast(local, group=mesh.get_group(mesh_dim), group_src=0)


class _GradientMoved(torch.autograd.Function):
    """The same part, whose gradient moves from some placements to others."""

    @staticmethod
    def forward(ctx: Any, spec: Spec, have: Any, want: Any, local: Any) -> Any:
        ctx.facts = spec.mesh, spec.shape, have, want
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, None, redistribute_local(grad, *ctx.facts)


def part_sizes(
    mesh: DeviceMesh, placements: Sequence[Placement], shape: Sequence[int]
) -> list[int]:
    """The sizes of this process's shard."""
    return [
        local_size(mesh, placements, shape, dim, mesh.ndim) for dim in range(len(shape))
    ]
