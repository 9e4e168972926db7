"""The parameters of one ``fully_shard``: sharded between uses, gathered in use.

Gathered parameters are results of ``_Unshard``, whose backward reduce-scatters their
gradients when autograd runs it. Ops that save a gathered parameter for backward save
its name, and backward gathers it again. A checkpoint that runs a part of the module
again finds gathered parameters in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
from pellucid.autograd.graph import saved_tensors_hooks
from pellucid.distributed.fsdp._first_reads import FirstReads
from pellucid.distributed.fsdp._mesh_dims import Layout
from pellucid.distributed.fsdp._policies import MixedPrecisionPolicy
from pellucid.distributed.tensor import DTensor
from pellucid.distributed.tensor._spec import Spec, spec_of
from pellucid.utils._recompute import add_scope, remove_scope


class Place(NamedTuple):
    """A module attribute that holds a parameter."""

    module: nn.Module
    name: str


class Entry:
    """A parameter: its owners, its shard, and its gathered form."""

    def __init__(
        self, places: list[Place], whole: Any, layout: Layout, dim: int = 0
    ) -> None:
        self.places, self.dim = places, dim
        self.spec: Spec | None = getattr(whole, "_spec", None)  # of tensor parallelism
        local = self.rows(getattr(whole, "_local_tensor", whole).detach())
        self.shape, self.dtype = tuple(local.shape), local.dtype  # split along dim 0
        size, rank = layout.num_shards, layout.place
        rows = self.shape[0] if self.shape else 1
        self.row = local.numel() // rows if rows else 0
        self.step = -(-rows // size)
        part = local.reshape(rows, -1)[rank * self.step : (rank + 1) * self.step]
        shaped = self.shaped(part, part.shape[0])
        own = shaped.clone(memory_format=torch.contiguous_format)
        made = DTensor(own, self._sharded_spec(own, layout))
        self.sharded = nn.Parameter(made, whole.requires_grad)
        self.put(self.sharded)

    def _sharded_spec(self, part: Any, layout: Layout) -> Spec:
        own, mesh = layout.placements(self.dim), layout.mesh
        if self.spec is None:
            whole = torch.empty(self.shape, device="meta").movedim(0, self.dim).shape
            return spec_of(part, mesh, own, tuple(whole) if self.shape else (1,))
        joint = self.spec.mesh._joined_with(mesh)
        placements = (*self.spec.placements, *own)
        return spec_of(part, joint, placements, self.spec.shape)

    def rows(self, tensor: Any) -> Any:
        """The tensor with the split dim first."""
        return tensor.movedim(self.dim, 0) if self.dim else tensor

    def shaped(self, part: Any, rows: int) -> Any:
        """Elements by rows, in the parameter's order of dims."""
        whole = part.reshape(rows, *self.shape[1:])
        return whole.movedim(0, self.dim) if self.dim else whole

    def zeros(self, dtype: Any) -> Any:
        """The gradient of a parameter that no op has used."""
        zeros = torch.zeros(self.shape, dtype=dtype or self.dtype)
        return zeros.movedim(0, self.dim) if self.dim else zeros

    def refresh(self) -> None:
        """Takes the parameter that the module has now: ``to_empty`` and
        ``load_state_dict(assign=True)`` replace it.
        """
        current = self.current()
        if current is not self.sharded:
            if not isinstance(current, DTensor):
                module, name = self.places[0]
                raise TypeError(
                    f"{name} of {type(module).__name__} was replaced by a "
                    f"{type(current).__name__}: fully_shard needs a DTensor, as "
                    "distribute_tensor makes it"
                )
            self.sharded = current
            self.dtype = current.dtype
            self.put(current)

    @property
    def local(self) -> Any:
        """This process's shard, a leaf."""
        return self.sharded._local_tensor

    @property
    def count(self) -> int:
        """The number of elements of a shard, including padding."""
        return int(self.step * self.row)

    def current(self) -> Any:
        """The parameter that the modules have now."""
        module, name = self.places[0]
        return module._parameters[name]

    def put(self, value: Any) -> None:
        """Sets the parameter in its modules."""
        for module, name in self.places:
            module._parameters[name] = value

    def whole_of(self, rows: Any) -> Any:
        """The parameter gathered from all shards, (processes, count)."""
        flat = rows.reshape(-1)[: math.prod(self.shape)]
        if not self.shape:
            return flat.reshape(()).contiguous()
        return self.shaped(flat, self.shape[0]).contiguous()

    def keep_part_of(self, whole: Any, rank: int) -> None:
        """Copies this process's part of a gathered parameter to its shard."""
        rows = self.rows(getattr(whole, "_local_tensor", whole))
        if not self.shape:
            rows = rows.reshape(1)
        part = rows[rank * self.step : (rank + 1) * self.step]
        self.local.copy_(self.shaped(part, part.shape[0]).reshape(self.local.shape))

    def as_used(self, whole: Any) -> Any:
        """The form for modules: a Parameter with the gathered tensor's history, or a
        DTensor under tensor parallelism.
        """
        if self.spec is None:
            return whole.as_subclass(nn.Parameter)
        return DTensor(whole, self.spec)


class ParameterGroup:
    """The parameters that are gathered in one collective."""

    def __init__(
        self, entries: list[Entry], layout: Layout, policy: MixedPrecisionPolicy
    ) -> None:
        self.entries, self.layout, self.policy = entries, layout, policy
        self.size = layout.num_shards
        self.reshards = True
        self.syncs = self.joins_replicas = True
        self.divides_by: float | None = None
        self.sums_only = self.includes_unused = False
        self.all_gather: Any = dist.all_gather_into_tensor
        self.reduce_scatter: Any = dist.reduce_scatter_tensor
        self.after_reduction: Any = None  # a function of the reduced gradients
        self.comm_hook: tuple[Any, Any] | None = None  # instead of reduce_scatter
        self.depth = 0  # of calls of the modules under way
        self.is_summoned = False  # inside summon_full_params
        self.held: list[Any] | None = None  # gradients that are not reduced yet
        self.use: _Use | None = None
        self.first_reads = FirstReads()

    def gather(self, locals: Any) -> list[Any]:
        """Gathers shards into full tensors."""
        dtype = self.policy.param_dtype
        padded = []
        for entry, local in zip(self.entries, locals, strict=True):
            flat = entry.rows(local.detach()).reshape(-1).to(dtype or entry.dtype)
            missing = entry.count - flat.numel()
            padded.append(
                torch.cat([flat, flat.new_zeros(missing)]) if missing else flat
            )
        found: list[Any] = [None] * len(padded)
        for kind in dict.fromkeys(x.dtype for x in padded):
            chosen = [k for k, x in enumerate(padded) if x.dtype == kind]
            joined = torch.cat([padded[k] for k in chosen])
            everything = self._from_all(joined)
            counts = [self.entries[k].count for k in chosen]
            for k, rows in zip(chosen, everything.split(counts, 1), strict=True):
                found[k] = self.entries[k].whole_of(rows)
        return found

    def _from_all(self, own: Any) -> Any:
        """The flat shards of all processes, a row each."""
        if not self.layout.shards:
            return own.view(1, -1)
        everything = own.new_empty((self.size, own.numel()))
        self.all_gather(everything, own, self.layout.shard_group)
        return everything

    def reduce(self, gradients: list[Any]) -> list[Any]:
        """Reduce-scatters gradients to shards of their mean."""
        found: list[Any] = [None] * len(gradients)
        if self.includes_unused:
            gradients = [
                entry.zeros(self.policy.param_dtype) if gradient is None else gradient
                for entry, gradient in zip(self.entries, gradients, strict=True)
            ]
        wide: list[Any] = [
            g.to(self.policy.reduce_dtype or g.dtype) if g is not None else None
            for g in gradients
        ]
        for kind in dict.fromkeys(g.dtype for g in wide if g is not None):
            chosen = [
                k for k, g in enumerate(wide) if g is not None and g.dtype == kind
            ]
            counts = [self.entries[k].count for k in chosen]
            rows = torch.zeros(self.size, sum(counts), dtype=kind)
            for k, target in zip(chosen, rows.split(counts, 1), strict=True):
                gradient = self.entries[k].rows(wide[k]).reshape(-1)
                missing = target.numel() - gradient.numel()
                if missing:
                    gradient = torch.cat([gradient, gradient.new_zeros(missing)])
                target.copy_(gradient.view(self.size, -1))
            own = self._reduced(rows)
            for k, part in zip(chosen, own.split(counts), strict=True):
                entry, local = self.entries[k], self.entries[k].local
                rows_here = local.shape[entry.dim] if entry.shape else 1
                part = entry.shaped(part[: local.numel()], rows_here)
                found[k] = part.reshape(local.shape).to(local.dtype)
        return found

    def _reduced(self, rows: Any) -> Any:
        if self.comm_hook is None:
            own = self._average(rows)
        elif self.divides_by is not None or self.sums_only:
            raise ValueError(
                "a communication hook reduces gradients itself: it cannot be combined "
                "with set_gradient_divide_factor or set_force_sum_reduction_for_comms"
            )
        else:
            state, hook = self.comm_hook
            own = rows.new_empty(rows.shape[1])
            if self.size == 1:  # nothing is sharded: the hook reduces in place
                own = rows.view(-1)
                hook(state, own)
            else:
                hook(state, rows.view(-1), own)
        if self.after_reduction is not None:
            self.after_reduction(own)
        return own

    def _average(self, rows: Any) -> Any:
        divisor, layout = self.divides_by, self.layout
        replicas = layout.replica_group if self.joins_replicas else None
        if divisor is None and self.sums_only:
            divisor = self.size * (1 if replicas is None else layout.num_replicas)
        op = dist.ReduceOp.AVG if divisor is None else dist.ReduceOp.SUM
        own = rows.view(-1)
        if layout.shards:
            own = rows.new_empty(rows.shape[1])
            self.reduce_scatter(own, rows, op, layout.shard_group)
        if replicas is not None:
            dist.all_reduce(own, op, replicas)
        if divisor is not None:
            own.div_(divisor)
        return own

    def write_back(self) -> None:
        """Keeps what was changed in the gathered parameters."""
        rank = self.layout.place
        for entry in self.entries:
            entry.keep_part_of(entry.current(), rank)

    def enter(self) -> None:
        """A call of one of the modules begins."""
        self.depth += 1
        self.unshard()

    def leave(self) -> None:
        """It has ended."""
        self.depth -= 1
        if self.depth <= 0:
            self.depth = 0
            self.reshard()

    def unshard(self) -> None:
        """Sets gathered parameters in the modules."""
        if self.use is None:
            use = _Use(self)
            use.begin()
            self.use = use

    def reshard(self) -> None:
        """Sets the shards in the modules."""
        if self.use is not None:
            self.use.end()
            self.use = None


class _Use:
    """The gathered parameters from ``unshard`` until backward is done."""

    def __init__(self, group: ParameterGroup) -> None:
        self._group = group
        self._again: list[Any] | None = None
        self._hooks: saved_tensors_hooks | None = None
        self._places: dict[int, int] = {}
        self._are_varying: list[bool] = []

    def begin(self) -> None:
        """Gathers the parameters, and hooks their saving for backward."""
        group = self._group
        for entry in group.entries:
            entry.refresh()
        wholes = _Unshard.apply(self, *[entry.local for entry in group.entries])
        for k, (entry, whole) in enumerate(zip(group.entries, wholes, strict=True)):
            entry.put(entry.as_used(whole))
            self._places[whole.untyped_storage()._cdata] = k
        self._are_varying = [whole.requires_grad for whole in wholes]
        add_scope(self.seen_again)
        if group.reshards:
            self._hooks = saved_tensors_hooks(self._pack, self._unpack)
            self._hooks.__enter__()
        else:
            self._again = [whole.detach() for whole in wholes]

    def end(self) -> None:
        """Frees the gathered parameters; backward gathers saved ones again."""
        if self._hooks is not None:
            self._hooks.__exit__()
        remove_scope(self.seen_again)
        self._places = {}
        for entry in self._group.entries:
            entry.put(entry.sharded)

    def _pack(self, tensor: Any) -> Any:
        place = self._places.get(tensor.untyped_storage()._cdata)
        if place is None:
            return tensor
        return place, tensor.size(), tensor.stride(), tensor.storage_offset()

    def _unpack(self, packed: Any) -> Any:
        if isinstance(packed, torch.Tensor):
            return packed
        place, *geometry = packed
        return self._gathered()[place].as_strided(*geometry)

    def _gathered(self) -> list[Any]:
        """The parameters in backward."""
        if self._again is None:
            locals = [entry.local for entry in self._group.entries]
            self._again = self._group.gather(locals)
        return self._again

    @contextmanager
    def seen_again(self, differentiates: bool) -> Iterator[None]:
        """A scope in which the modules have the gathered parameters. The first read of
        one gathers them: a function that uses none may run on some processes only.
        """
        group = self._group
        before = [entry.current() for entry in group.entries]

        def gather() -> None:
            wholes = self._seen(differentiates)
            for entry, whole in zip(group.entries, wholes, strict=True):
                entry.put(entry.as_used(whole))

        places = [place for entry in group.entries for place in entry.places]
        group.first_reads.precede(places, gather)
        try:
            yield
        finally:
            group.first_reads.end()
            for entry, value in zip(group.entries, before, strict=True):
                entry.put(value)

    def _seen(self, differentiates: bool) -> Any:
        """The parameters in a recomputation; without history if only its values
        matter.
        """
        if differentiates:
            locals = [entry.local for entry in self._group.entries]
            return _Unshard.apply(self, *locals)
        pairs = zip(self._gathered(), self._are_varying, strict=True)
        return [whole.detach().requires_grad_(varies) for whole, varies in pairs]

    def backward(self, gradients: Any) -> list[Any]:
        """The gradients of the shards."""
        group, self._again = self._group, None
        given = list(gradients)
        if group.held is not None:
            given = [_sum(a, b) for a, b in zip(group.held, given, strict=True)]
        if not group.syncs:
            group.held = given
            return [None] * len(given)
        group.held = None
        return group.reduce(given)


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


class _Unshard(torch.autograd.Function):
    """Autograd function from shards to gathered parameters."""

    @staticmethod
    def forward(ctx: Any, use: _Use, *locals: Any) -> Any:
        ctx.use = use
        ctx.set_materialize_grads(False)
        return tuple(use._group.gather(locals))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, *ctx.use.backward(gradients)
