"""``Tensor``: the Python part of the tensor class, over the runtime's TensorBase.

Everything hot is C++ (``runtime/python``), and every op comes from the op table; this
class has the cold methods: iteration, printing, pickling, copying, NumPy, conversions
named after dtypes. Used by ``pellucid/__init__.py``; ``_package/bind.py`` adds the ops
to the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from pellucid import _C
from pellucid._C import TensorBase, _TensorMeta
from pellucid._package.calls.captured import captured_as
from pellucid._package.calls.deprecation import advise, deprecated
from pellucid._package.calls.namesakes import namesake
from pellucid._tensor.dtype_names import TYPE_NAMES, dtype_of_type_name

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Method = TypeVar("_Method", bound=Callable[..., Any])
    _attribute = property
else:

    class _attribute(property):
        """A property with a name, which ``__torch_function__`` overrides."""

        @property
        def __name__(self) -> str:
            return self.fget.__name__


def _overridable(method: _Method) -> _Method:
    """A special method that ``__torch_function__`` can override.

    Python calls special methods without attribute lookup on the object.
    """

    def asking(self: Any, *args: Any, **options: Any) -> Any:
        if not _C._has_torch_function(self):
            return method(self, *args, **options)
        return _C._call_torch_function(asking, (self, *args), options)

    asking.__name__, asking.__doc__ = method.__name__, method.__doc__
    asking.__qualname__, asking.__module__ = method.__qualname__, method.__module__
    asking.__wrapped__ = method  # type: ignore[attr-defined]
    return asking  # type: ignore[return-value]


def _numpy_T(self: Any) -> Any:
    if self.dim() != 2:
        _advise_against_T(self)
    return _C._op_named("numpy_T")(self)


def _advise_against_T(tensor: Tensor) -> None:
    instead = "permute(*range(ndim)[::-1]), or mT for batches of matrices"
    deprecated(f"T of a tensor of {tensor.dim()} dimensions", instead, stacklevel=3)


def _mT(self: Any) -> Any:
    return _C._op_named("mT")(self)


def _real(self: Any) -> Any:
    return _op("real")(self)


_op: Any = cache(_C._op_named)


class Tensor(TensorBase, metaclass=_TensorMeta):
    """A multi-dimensional array of one dtype that can record gradients."""

    __module__ = "pellucid"
    __array_priority__ = 1000  # NumPy's operators defer to ours

    @_overridable
    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        from pellucid._tensor.printing import _str

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

    # Transposed shapes

    @_attribute
    @captured_as(_numpy_T)
    def T(self) -> Tensor:
        """The dimensions in reverse order; meant for matrices."""
        if self.dim() != 2:
            _advise_against_T(self)
        return self.permute(tuple(range(self.dim() - 1, -1, -1)))

    @_attribute
    @captured_as(_mT)
    def mT(self) -> Tensor:
        """The last two dimensions transposed."""
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
        if self.dim() == 0:
            deprecated("H of a number", "conj()")
        made: Tensor = _op("matrix_H")(self)
        return made

    @_attribute
    def mH(self) -> Tensor:
        """The conjugate transpose of a matrix or a batch of them."""
        if self.dim() == 0:
            deprecated("mH of a number", "conj()")
        found: Tensor = _op("mH")(self)
        return found

    def new_tensor(self, data: Any, **options: Any) -> Tensor:
        """A tensor of `data` with this tensor's dtype and device by default."""
        defaults = {"dtype": self.dtype, "device": self.device}
        if isinstance(data, Tensor):
            advise(
                "To copy construct from a tensor, clone() and detach() it: "
                "new_tensor() takes values"
            )
            asks_for_gradients = options.pop("requires_grad", False)
            made = data.detach().to(copy=True, **{**defaults, **options})
            return made.requires_grad_(asks_for_gradients)
        return _C.tensor(data, **{**defaults, **options})

    # Devices and dtypes

    @namesake("it is `to`, and so seen as PyTorch's; the op of this name calls it")
    def cpu(self, memory_format: Any = _C.preserve_format) -> Tensor:
        """This tensor on the CPU."""
        return self.to("cpu", memory_format=memory_format)

    def cuda(self, device: Any = None, *_: Any, **__: Any) -> Tensor:
        """Raises: there is no CUDA device."""
        return self.to("cuda")

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the tensor's type, or the tensor as `dtype`."""
        if dtype is None:
            module = "torch.sparse" if self.layout is _C.sparse_coo else "torch"
            return f"{module}.{TYPE_NAMES[self.dtype]}Tensor"
        if isinstance(dtype, str):
            dtype = dtype_of_type_name(dtype)
        elif not isinstance(dtype, _C.dtype):
            dtype = getattr(dtype, "dtype", dtype)  # a type such as LongTensor
        return self.to(dtype, non_blocking)

    @_attribute
    @captured_as(_real)
    def real(self) -> Tensor:
        """A view of the real parts; the tensor itself if it is real."""
        return _op("real")(self) if self.is_complex() else self

    @real.setter
    def real(self, values: Tensor) -> None:
        self.real.copy_(values)

    @_attribute
    def imag(self) -> Tensor:
        """A view of the imaginary parts."""
        found: Tensor = _op("imag")(self)
        return found

    @imag.setter
    def imag(self, values: Tensor) -> None:
        self.imag.copy_(values)

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
        """A wrapper tensor of class `cls`: shape and dtype without memory.

        `cls` defines ``__torch_dispatch__``, which computes every op from the tensors
        that the object wraps.
        """
        import pellucid

        dtype = dtype or _C.get_default_dtype()
        if strides is None:
            like = pellucid.empty(
                size, dtype=dtype, device="meta", memory_format=memory_format
            )
        else:
            like = pellucid.empty_strided(size, strides, dtype=dtype, device="meta")
        offset = storage_offset or 0
        made = _C._make_wrapper(cls, like, _C.device(device or "cpu"), offset)
        made.requires_grad = requires_grad
        return made

    def as_subclass(self, cls: Any) -> Tensor:
        """An alias of this tensor as an object of `cls`."""
        made: Tensor = _C._as_subclass(self, cls)
        return made

    # NumPy

    def numpy(self, *, force: bool = False) -> Any:
        """A NumPy array over this tensor's memory; with `force`, a copy if
        necessary.
        """
        import numpy

        source = self.detach().cpu().resolve_conj().resolve_neg() if force else self
        if source.requires_grad and _C.is_grad_enabled():
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad, which an array does "
                "not record: use tensor.detach().numpy()"
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
        from pellucid._tensor.copying import deep_copy

        return deep_copy(self, memo)

    @_overridable
    def __reduce_ex__(self, protocol: Any) -> Any:
        from pellucid._tensor.copying import reduced

        return reduced(self, type(self) is Tensor)


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


_C._set_tensor_class(Tensor)
