"""``FakeTensor``: shape, dtype, strides and device of a tensor, without its data.

Ops on fake tensors run on meta tensors, whose shapes the declarations give. Inside a
FakeTensorMode new tensors are fake too. ``symbolic_shape`` makes a fake tensor answer
for its sizes with SymInts.
"""

from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, cast

import pellucid
from pellucid import _C, Tensor
from pellucid._decomp.registry import unseen
from pellucid._library.fake_impl import use_context
from pellucid._subclasses.sized_by_values import has_masks, open_sizes
from pellucid.utils import _pytree as pytree
from pellucid.utils._python_dispatch import TorchDispatchMode, _without_modes
from pellucid.utils._symbolic.environment import INFINITY, where
from pellucid.utils._symbolic.numbers import is_program
from pellucid.utils._symbolic.reads import Reads

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "is_fake",
    "unset_fake_temporarily",
]


class UnsupportedFakeTensorException(RuntimeError):
    """Raised for a kind of tensor that has no fake form."""


class DynamicOutputShapeException(RuntimeError):
    """Raised if the shape of an op's result depends on values."""

    def __init__(self, func: Any) -> None:
        super().__init__(
            f"{func} has a shape that depends on values, which fake tensors lack"
        )
        self.func = func


class DataDependentOutputException(RuntimeError):
    """Raised if an op returns a number that depends on values."""

    def __init__(self, func: Any) -> None:
        super().__init__(
            f"{func} reads values, which fake tensors lack, at\n    {where()[0]}\n"
            "A program that is traced may not decide by them: torch.where computes both"
        )
        self.func = func


class FakeTensor(Tensor):
    """A tensor without data, of a FakeTensorMode."""

    _observes = True  # composites may be seen whole (``_decomp/registry.py``)
    __torch_function__: Any = (
        _C._disabled_torch_function_impl
    )  # results are as they are
    fake_mode: FakeTensorMode
    _meta: Tensor
    symbolic_shape: tuple[Any, ...] | None
    _is_param: bool  # of a Parameter: it counts as one

    @staticmethod
    def __new__(
        cls, fake_mode: FakeTensorMode, elem: Tensor, device: Any = "cpu"
    ) -> FakeTensor:
        made: FakeTensor = _C._make_wrapper(
            cls, elem, pellucid.device(device), elem.storage_offset()
        )
        made.requires_grad = elem.requires_grad
        made.fake_mode, made._meta = fake_mode, elem.detach()
        made.symbolic_shape = None
        return made

    @property
    def fake_device(self) -> Any:
        """The device of the real tensor."""
        return self.device

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        """Its sizes, as SymInts where they are symbolic."""
        known = self.symbolic_shape
        return super().shape if known is None else known

    def size(self, dim: int | None = None) -> Any:
        """Its sizes, or one of them."""
        if self.symbolic_shape is None:
            return super().size() if dim is None else super().size(dim)
        return self.symbolic_shape if dim is None else self.symbolic_shape[dim]

    def numel(self) -> Any:
        """The product of its sizes."""
        if self.symbolic_shape is None:
            return super().numel()
        product: Any = 1
        for size in self.symbolic_shape:
            product = size * product
        return product

    def __len__(self) -> int:
        return int(self.shape[0])

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        sizes = ", ".join(map(str, self.shape))
        dtype = f", dtype={self.dtype}" if self.dtype != pellucid.float32 else ""
        return f"FakeTensor(..., size=({sizes}{',' if self.dim() == 1 else ''}){dtype})"

    def item(self) -> Any:
        """A symbol for the element, in a mode with a ShapeEnv; refused elsewhere."""
        reads = self.fake_mode.reads
        if reads is None or Tensor.numel(self) != 1:
            raise DataDependentOutputException("item()")
        return reads.number(self)

    def tolist(self) -> Any:
        """Symbols for the elements, as nested lists."""
        if not self.dim():
            return self.item()
        return [part.tolist() for part in self.unbind(0)]

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._plain(sys._getframe(1)))

    def __float__(self) -> float:
        return float(self._plain(sys._getframe(1)))

    def _plain(self, asking: FrameType) -> Any:
        """Its element, for this package alone: a program may not decide by it."""
        if is_program(asking):
            what = f"its value, {self.item()}, as a plain number"
            self.fake_mode.shape_env.refuse(what)
        return self._example()

    def _example(self) -> Any:
        """Its element, if other runs tell what depends on it."""
        reads = self.fake_mode.reads
        if reads is None or not reads.are_repeated:
            raise DataDependentOutputException("a plain number of a tensor")
        return self.item()

    def __index__(self) -> int:
        return operator.index(self._example())

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: there are no values."""
        raise DataDependentOutputException("numpy()")

    def __deepcopy__(self, memo: dict[int, Any]) -> FakeTensor:
        made = FakeTensor(self.fake_mode, self._meta, self.device)
        made.symbolic_shape = self.symbolic_shape
        memo[id(self)] = made
        return made.requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        facts = (tuple(map(int, self.shape)), self.stride(), self.dtype)
        return _from_facts, (*facts, str(self.device), self.requires_grad)

    @classmethod
    def __torch_dispatch__(
        cls,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        mode = next(x.fake_mode for x in leaves if isinstance(x, FakeTensor))
        return mode.dispatch(func, types, tuple(args), kwargs)


def _from_facts(
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    dtype: Any,
    device: str,
    requires_grad: bool,
) -> FakeTensor:
    meta = pellucid.empty_strided(shape, stride, dtype=dtype, device="meta")
    made = FakeTensor(FakeTensorMode(), meta, device)
    return made.requires_grad_(requires_grad)


def is_fake(x: Any) -> bool:
    """Whether it is a FakeTensor."""
    return isinstance(x, FakeTensor)


class _Context:
    """What ``get_ctx`` gives functions of ``register_fake``."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that only the data tells, within the given range."""
        limit = INFINITY if max is None else max
        return self.reads.integer(lambda: None, min, limit)

    new_size = create_unbacked_symint = new_dynamic_size


class FakeTensorMode(TorchDispatchMode):
    """Within it ops run without data, and new tensors are fake.

    ``from_tensor`` gives the fake form of a tensor. Ops on fake and real tensors
    together raise unless ``allow_non_fake_inputs``. With a ``shape_env``, numbers that
    are read from tensors, and sizes that depend on values, are symbols of it.

    Example::

        with FakeTensorMode():
            y = model(torch.empty(8, 3, 224, 224))  # a shape, no work
    """

    _observes = True

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env, self.export = shape_env, export
        self.static_shapes = (
            shape_env is None if static_shapes is None else static_shapes
        )
        self.reads = None if shape_env is None else Reads(shape_env)
        self.sizes_seen: list[tuple[int, ...]] = []  # of the results, in order
        self.known_sizes: list[tuple[Any, ...]] | None = None  # the same as SymInts
        self._known: dict[int, tuple[weakref.ref[Tensor], FakeTensor]] = {}

    def from_tensor(self, tensor: Tensor, **settings: Any) -> FakeTensor:
        """The fake form of a tensor; the same one each time."""
        if isinstance(tensor, FakeTensor):
            return tensor
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        if tensor.layout is not pellucid.strided:
            raise UnsupportedFakeTensorException(f"no fake form of {tensor.layout}")
        with unseen():
            meta = pellucid.empty_strided(
                tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta"
            )
            offset = tensor.storage_offset()
            if offset:
                count = offset + meta.untyped_storage().nbytes() // meta.itemsize
                memory = pellucid.empty(count, dtype=tensor.dtype, device="meta")
                meta.set_(memory, offset, tensor.size(), tensor.stride())
            meta = meta.conj() if tensor.is_conj() else meta
            meta = pellucid._neg_view(meta) if tensor.is_neg() else meta
        made = FakeTensor(self, meta, tensor.device)
        if tensor.requires_grad:
            made.requires_grad_()
        if isinstance(tensor, pellucid.nn.Parameter):
            made._is_param = True
        self._known[id(tensor)] = weakref.ref(tensor), made
        return made

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return self.dispatch(func, types, args, kwargs)

    def dispatch(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Runs an op on the meta tensors of its arguments."""
        kwargs = dict(kwargs or {})
        found: dict[int, FakeTensor] = {}
        devices: list[Any] = []

        def unwrap(tensor: Tensor) -> Tensor:
            if not isinstance(tensor, FakeTensor):
                tensor = self._of_real(func, tensor, args, kwargs)
            assert isinstance(tensor, FakeTensor)
            found[id(tensor._meta)] = tensor
            devices.append(tensor.device)
            return tensor._meta

        kind, _ = _C._op_facts(func.name())
        is_open = pellucid.Tag.dynamic_output_shape in func.tags and kind != "loop"
        is_open = is_open or has_masks(func, args)  # a loop's bounds are known
        if is_open and self.reads is None:
            raise DynamicOutputShapeException(func)
        meta_args = pytree.tree_map_only(Tensor, unwrap, args)
        meta_kwargs = pytree.tree_map_only(Tensor, unwrap, kwargs)
        if is_open:
            return self._sized_by_values(func, (args, kwargs), (meta_args, meta_kwargs))
        device = meta_kwargs.get("device")
        if device is not None or (not devices and _makes_tensors(func)):
            meta_kwargs["device"] = "meta"
        device = device or (devices[0] if devices else "cpu")
        sizes = nullcontext() if self.reads is None else use_context(self._context)
        with unseen(), sizes:
            result = func(*meta_args, **meta_kwargs)

        def wrap(tensor: Tensor) -> Tensor:
            known = found.get(id(tensor))
            if known is None:
                return self._result(tensor, device)
            if Tensor.size(known) != tensor.size() or known.stride() != tensor.stride():
                with unseen():  # t_, squeeze_ and the like: its own form changes, too
                    func(*args, **kwargs)
                known.symbolic_shape = None
            return known

        return pytree.tree_map_only(Tensor, wrap, result)

    def _context(self, qualname: str) -> _Context:
        assert self.reads is not None
        return _Context(self.reads)

    def _sized_by_values(self, func: Any, given: Any, meta: Any) -> Any:
        """Results in which sizes that depend on values are symbols."""
        assert self.reads is not None
        device = next(x.device for x in pytree.tree_leaves(given) if is_fake(x))
        with unseen():
            examples, sizes = open_sizes(func, *meta)
        known = self.reads.example_of(lambda *a, **k: [func(*a, **k)], *given)
        shapes: list[list[Any]] = [list(example.shape) for example in examples]
        for places, limit in sizes.values():
            index, dim = places[0]
            found = known and pytree.tree_leaves(known)[index].shape[dim]
            size = self.reads.integer(lambda found=found: found, 0, limit)
            for index, dim in places:
                shapes[index][dim] = size
        made = []
        for example, shape in zip(examples, shapes, strict=True):
            with unseen():
                empty = pellucid.empty(shape, dtype=example.dtype, device="meta")
            made.append(self._result(empty, device))
            made[-1].symbolic_shape = tuple(shape)
        return made[0] if len(made) == 1 else tuple(made)

    def _result(self, meta: Tensor, device: Any) -> FakeTensor:
        made = FakeTensor(self, meta, device)
        index = len(self.sizes_seen)
        self.sizes_seen.append(tuple(meta.shape))
        if self.known_sizes is not None and index < len(self.known_sizes):
            made.symbolic_shape = self.known_sizes[index]
        return made

    def _of_real(self, func: Any, tensor: Tensor, args: Any, kwargs: Any) -> Tensor:
        if self.allow_non_fake_inputs or tensor.dim() == 0:
            return self.from_tensor(tensor)
        raise AssertionError(
            "Please convert all Tensors to FakeTensors first or instantiate "
            f"FakeTensorMode with 'allow_non_fake_inputs'. Found in {func}"
        )


def _makes_tensors(func: Any) -> bool:
    return any(a.name == "device" for a in func._schema.arguments)


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """A scope in which ops run with data; its value is the mode outside, if any."""
    with _without_modes(FakeTensorMode) as modes:
        yield cast("FakeTensorMode", modes[-1]) if modes else None
