"""``Tensor``: what the runtime's TensorBase leaves to Python.

Everything hot is C++ (``runtime/python``) and every op comes from the op table; here is
what is cold: iteration, printing, pickling, copying, NumPy, conversions named after
dtypes. Used by ``pellucid/__init__.py``; ``_bind.py`` adds the ops to the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodWrapperType
from weakref import WeakValueDictionary

from pellucid import _C
from pellucid._C import TensorBase, _TensorMeta
from pellucid._deprecation import deprecated

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from pellucid.storage import TypedStorage, UntypedStorage

    _Method = TypeVar("_Method", bound=Callable[..., Any])
    _attribute = property
else:

    class _attribute(property):
        """A property that knows its name: ``__torch_function__`` is asked by it."""

        @property
        def __name__(self) -> str:
            return self.fget.__name__


def _overridable(method: _Method) -> _Method:
    """A special method that ``__torch_function__`` sees.

    Python calls it without looking it up on the object, where a subclass would notice.
    """

    def asking(self: Any, *args: Any, **options: Any) -> Any:
        if not _C._has_torch_function(self):
            return method(self, *args, **options)
        return _C._call_torch_function(asking, (self, *args), options)

    asking.__name__, asking.__doc__ = method.__name__, method.__doc__
    asking.__qualname__, asking.__module__ = method.__qualname__, method.__module__
    asking.__wrapped__ = method  # type: ignore[attr-defined]
    return asking  # type: ignore[return-value]


class Tensor(TensorBase, metaclass=_TensorMeta):
    """A multi-dimensional array of one dtype that can record gradients."""

    __module__ = "pellucid"
    __array_priority__ = 1000  # NumPy's operators give way to ours

    @_overridable
    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        from pellucid._tensor_str import _str

        return _str(self, tensor_contents=tensor_contents)

    @_overridable
    def __format__(self, format_spec: str) -> str:
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return format(self.item(), format_spec)
        return object.__format__(self, format_spec)

    def __iter__(self) -> Iterator[Tensor]:
        if self.dim() == 0:
            raise TypeError("a 0-dimensional tensor has nothing to iterate over")
        return iter(self.unbind(0))

    @_overridable
    def __reversed__(self) -> Tensor:
        return self if self.dim() == 0 else self.flip(0)

    @_overridable
    def __contains__(self, element: Any) -> bool:
        if isinstance(element, Tensor | int | float | complex):
            return bool((self == element).any().item())
        raise RuntimeError(
            f"a tensor contains numbers: expected a Tensor or number, "
            f"not {type(element).__name__}"
        )

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self.__dict__})

    # Shapes that other tensors give

    @_attribute
    def T(self) -> Tensor:
        """The dimensions in reverse order; meant for matrices."""
        if self.dim() != 2:
            instead = "permute(*range(ndim)[::-1]), or mT for batches of matrices"
            deprecated(f"T of a tensor of {self.dim()} dimensions", instead)
        return self.permute(tuple(range(self.dim() - 1, -1, -1)))

    @_attribute
    def mT(self) -> Tensor:
        """The last two dimensions exchanged."""
        if self.dim() == 0:
            deprecated("mT of a number", "the number itself")
            return self
        if self.dim() < 2:
            raise RuntimeError(
                f"mT needs a matrix or a batch of them, not {self.dim()} dimensions"
            )
        return self.transpose(-2, -1)

    @_attribute
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
        if self.dim() not in (0, 2):
            raise RuntimeError(f"H needs a matrix, not {self.dim()} dimensions")
        if self.dim() == 0:
            deprecated("H of a number", "conj()")
        transposed = self if self.dim() == 0 else self.transpose(0, 1)
        return transposed.conj() if self.is_complex() else transposed

    @_attribute
    def mH(self) -> Tensor:
        """The conjugate transpose of a matrix or a batch of them."""
        if self.dim() == 0:
            deprecated("mH of a number", "conj()")
        transposed = self if self.dim() == 0 else self.mT
        return transposed.conj() if self.is_complex() else transposed

    def adjoint(self) -> Tensor:
        """The conjugate transpose of a matrix or a batch of them."""
        return self.mH

    def new_tensor(self, data: Any, **options: Any) -> Tensor:
        """A tensor of `data` with this tensor's dtype and device by default."""
        defaults = {"dtype": self.dtype, "device": self.device}
        if isinstance(data, Tensor):
            deprecated("new_tensor() of a tensor", "its clone().detach()")
            asks_for_gradients = options.pop("requires_grad", False)
            made = data.detach().to(copy=True, **{**defaults, **options})
            return made.requires_grad_(asks_for_gradients)
        return _C.tensor(data, **{**defaults, **options})

    # Devices and dtypes

    def cpu(self, memory_format: Any = _C.preserve_format) -> Tensor:
        """This tensor in the CPU's memory."""
        return self.to("cpu", memory_format=memory_format)

    def cuda(self, device: Any = None, *_: Any, **__: Any) -> Tensor:
        """Raises: there is no CUDA device."""
        raise AssertionError(
            "Pellucid runs on the CPU: there is no CUDA device to move this tensor to\n"
            "leave out .cuda(), or ask torch.cuda.is_available() first"
        )

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the tensor's type, or the tensor as `dtype`."""
        if dtype is None:
            return f"torch.{TYPE_NAMES[self.dtype]}Tensor"
        if isinstance(dtype, str):
            dtype = dtype_of_type_name(dtype)
        elif not isinstance(dtype, _C.dtype):
            dtype = getattr(dtype, "dtype", dtype)  # a type such as LongTensor
        return self.to(dtype, non_blocking)

    def storage(self) -> TypedStorage:
        """The memory behind this tensor as elements; `untyped_storage` is newer."""
        from pellucid.storage import TypedStorage, warn_of_typed_storage

        warn_of_typed_storage()
        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)

    def storage_type(self) -> Any:
        """The type of this tensor's storage by name, such as `torch.FloatStorage`."""
        from pellucid import storage

        return getattr(storage, f"{TYPE_NAMES[self.dtype]}Storage")

    def set_(
        self,
        source: Tensor | UntypedStorage | TypedStorage | None = None,
        storage_offset: int = 0,
        size: Any = None,
        stride: Any = None,
    ) -> Tensor:
        """Makes this tensor another one: of `source`'s memory, sizes and strides.

        `source` is a tensor of the same dtype, or a storage, of which `size` elements
        are seen from `storage_offset` on; without a source the tensor becomes empty.
        Values that autograd saved of it are lost to backward, which then raises.

        Example::

            x = torch.zeros(3)
            x.set_(torch.ones(2))  # tensor([1., 1.])
        """
        if source is None:
            return super().set_()
        if not isinstance(source, Tensor):
            from pellucid.storage import elements_of

            source = elements_of(source, self.dtype)
            count = source.nbytes() // self.element_size() - storage_offset
            sizes = (count,) if size is None else tuple(size)
            strides = _row_major(sizes) if stride is None else tuple(stride)
            source = _C._tensor_over(source, self.dtype, storage_offset, sizes, strides)
        elif size is not None:
            strides = () if stride is None else stride
            return super().set_(source, storage_offset, size, strides)
        return super().set_(source)

    def share_memory_(self) -> Tensor:
        """Raises: memory shared between processes does not exist yet."""
        raise NotImplementedError(
            "tensors cannot be shared between processes yet: pass NumPy arrays "
            "or files to the other process"
        )

    def _parts(self) -> Tensor:
        import pellucid

        return pellucid.view_as_real(self)

    @_attribute
    def real(self) -> Tensor:
        """A view of the real parts; the tensor itself if it is real."""
        return self._parts().select(-1, 0) if self.is_complex() else self

    @real.setter
    def real(self, values: Tensor) -> None:
        self.real.copy_(values)

    @_attribute
    def imag(self) -> Tensor:
        """A view of the imaginary parts."""
        if not self.is_complex():
            raise RuntimeError(f"{self.dtype} numbers have no imaginary part")
        return self._parts().select(-1, 1)

    @imag.setter
    def imag(self, values: Tensor) -> None:
        self.imag.copy_(values)

    def conj(self) -> Tensor:
        """The complex conjugates; the tensor itself if it is real."""
        return self.conj_physical() if self.is_complex() else self

    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugation is never pending."""
        return self

    def resolve_neg(self) -> Tensor:
        """The tensor itself: negation is never pending."""
        return self

    def norm(
        self, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
    ) -> Tensor:
        """The p-norm of the elements over `dim`."""
        from pellucid._functions import norm

        return norm(self, p, dim, keepdim, dtype=dtype)

    @staticmethod
    def _make_wrapper_subclass(
        cls: Any,
        size: Any,
        strides: Any = None,
        storage_offset: int | None = None,
        memory_format: Any = None,
        dtype: Any = None,
        layout: Any = _C.strided,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        dispatch_sizes_strides_policy: str | None = None,
        dispatch_device: bool = False,
        dispatch_layout: bool = False,
    ) -> Any:
        """A tensor of class `cls` with a shape and a dtype but no memory.

        `cls` defines ``__torch_dispatch__``, which computes every op from tensors that
        the object holds.
        """
        import pellucid

        dtype = dtype or _C.get_default_dtype()
        if strides is None:
            like = pellucid.empty(
                size, dtype=dtype, device="meta", memory_format=memory_format
            )
        else:
            like = pellucid.empty_strided(size, strides, dtype=dtype, device="meta")
        made = _C._make_wrapper(cls, like, _C.device(device or "cpu"))
        made.requires_grad = requires_grad
        return made

    def as_subclass(self, cls: Any) -> Tensor:
        """An alias of this tensor as an object of `cls`."""
        made: Tensor = _C._as_subclass(self, cls)
        return made

    # NumPy

    def numpy(self, *, force: bool = False) -> Any:
        """A NumPy array over this tensor's memory; with `force` a copy if need be."""
        import numpy

        source = self.detach().cpu() if force else self
        if source.requires_grad and _C.is_grad_enabled():
            raise RuntimeError(
                "a tensor that requires gradients cannot become a NumPy array, which "
                "records none: use tensor.detach().numpy()"
            )
        return numpy.asarray(source._buffer(True))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("another dtype needs a copy, which copy=False forbids")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: bool = False
    ) -> Tensor:
        return _C.from_numpy(array)

    # Copying and pickling

    @_overridable
    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) in memo:
            return memo[id(self)]  # type: ignore[no-any-return]
        if not self.is_leaf:
            raise RuntimeError(
                "only tensors that the user made can be deep-copied, not results of "
                "ops with a gradient: use detach() or clone()"
            )
        result = _rebuild_tensor(*_facts(self, _copied_storage(self, memo)))
        if type(self) is not Tensor:
            result = Tensor._make_subclass(type(self), result)
        result.requires_grad = self.requires_grad
        memo[id(self)] = result
        if self.grad is not None:
            result.grad = self.grad.__deepcopy__(memo)
        if self.__dict__:
            from copy import deepcopy

            result.__dict__ = deepcopy(self.__dict__, memo)
        return result

    @_overridable
    def __reduce_ex__(self, protocol: Any) -> Any:
        facts = _facts(self, _shared_storage(self))
        state = self.__dict__ or None
        if type(self) is Tensor and state is None:
            return _rebuild_tensor, (*facts, self.requires_grad)
        return _rebuild_subclass, (type(self), facts, self.requires_grad, state)


_CONVERSIONS = {
    "float": _C.float32,
    "double": _C.float64,
    "half": _C.float16,
    "bfloat16": _C.bfloat16,
    "cfloat": _C.complex64,
    "cdouble": _C.complex128,
    "bool": _C.bool,
    "byte": _C.uint8,
    "char": _C.int8,
    "short": _C.int16,
    "int": _C.int32,
    "long": _C.int64,
}

TYPE_NAMES: dict[_C.dtype, str] = {
    _C.float32: "Float",
    _C.float64: "Double",
    _C.float16: "Half",
    _C.bfloat16: "BFloat16",
    _C.complex64: "ComplexFloat",
    _C.complex128: "ComplexDouble",
    _C.bool: "Bool",
    _C.uint8: "Byte",
    _C.int8: "Char",
    _C.int16: "Short",
    _C.int32: "Int",
    _C.int64: "Long",
}


def _make_conversion(name: str, dtype: Any) -> Any:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is None:
            return self.to(dtype)
        return self.to(dtype, memory_format=memory_format)

    convert.__name__ = name
    convert.__qualname__ = f"Tensor.{name}"
    convert.__doc__ = f"This tensor as {dtype}."
    return convert


for _name, _dtype in _CONVERSIONS.items():
    setattr(Tensor, _name, _make_conversion(_name, _dtype))


def dtype_of_type_name(name: str) -> Any:
    """The dtype that ``torch.LongTensor`` or ``torch.int64`` names."""
    for dtype, word in TYPE_NAMES.items():
        if name in (f"torch.{word}Tensor", str(dtype)):
            return dtype
    raise ValueError(f"{name!r} names no tensor type; expected for example a dtype")


# Storages by identity, so that tensors sharing one still share it after pickling.
def _row_major(sizes: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for size in sizes[:0:-1]:
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides[: len(sizes)]))


_storages: WeakValueDictionary[int, _SharedStorage] = WeakValueDictionary()


class _SharedStorage:
    """A storage that several tensors of one pickle refer to."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage

    def __reduce__(self) -> Any:
        return _SharedStorage, (self.storage,)


def _shared_storage(tensor: Tensor) -> _SharedStorage:
    storage = tensor.untyped_storage()
    return _storages.setdefault(storage._cdata, _SharedStorage(storage))


def _copied_storage(tensor: Tensor, memo: dict[int, Any]) -> Any:
    storage = tensor.untyped_storage()
    copies = memo.setdefault(id(_storages), {})
    if storage._cdata not in copies:
        copies[storage._cdata] = (storage.clone(), storage)  # the key stays taken
    return copies[storage._cdata][0]


def leaf_of(tensor: Tensor, requires_grad: bool = True) -> Tensor:
    """The same values outside of the graph, as a leaf."""
    leaf = tensor.detach()
    leaf.requires_grad = requires_grad
    return leaf


def _facts(tensor: Tensor, storage: Any) -> tuple[Any, ...]:
    place = tensor.storage_offset(), tuple(tensor.size()), tensor.stride()
    return storage, tensor.dtype, *place


def _rebuild_tensor(
    storage: Any,
    dtype: Any,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
) -> Tensor:
    """A tensor over `storage`; what pickles call."""
    if isinstance(storage, _SharedStorage):
        storage = storage.storage
    tensor: Tensor = _C._tensor_over(storage, dtype, offset, size, stride)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_subclass(
    cls: type[Tensor], facts: tuple[Any, ...], requires_grad: bool, state: Any
) -> Tensor:
    """An object of a Tensor subclass; what pickles call."""
    plain = _rebuild_tensor(*facts)
    tensor = plain if cls is Tensor else Tensor._make_subclass(cls, plain)
    if state:
        tensor.__dict__.update(state)
    tensor.requires_grad = requires_grad
    return tensor


def convert_result(result: Any, cls: type[Tensor], function: Any) -> Any:
    """What a Tensor subclass's call returned, as objects of that subclass."""
    if type(result) is Tensor and cls is not Tensor:
        if type(function) is MethodWrapperType and _stays_plain(function):
            return result
        return result.as_subclass(cls)
    if isinstance(result, tuple | list):
        return type(result)([convert_result(item, cls, function) for item in result])
    return result


def _stays_plain(getter: Any) -> bool:
    from pellucid.overrides import get_default_nowrap_functions

    return getter in get_default_nowrap_functions()


def legacy_constructor(*args: Any, device: Any = None) -> Tensor:
    """``torch.Tensor(...)``: sizes, data or another tensor, in the default dtype."""
    import pellucid

    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int | _C.Size):
        if args[0] is None or isinstance(args[0], float):
            raise TypeError(
                f"Tensor() takes sizes or a sequence, not {args[0]!r}; for a number "
                "use torch.tensor()"
            )
        return _C.tensor(args[0], dtype=_C.get_default_dtype(), device=device)
    size = args[0] if args and isinstance(args[0], _C.Size) else args
    return pellucid.empty(size or (0,), device=device)


_C._set_tensor_class(Tensor)
