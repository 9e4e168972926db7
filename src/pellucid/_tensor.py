"""``Tensor``: what the runtime's TensorBase leaves to Python.

Everything hot is C++ (``runtime/python``) and every op comes from the op table; here is
what is cold: iteration, printing, pickling, NumPy, conversions named after dtypes. Used by
``pellucid/__init__.py``, which binds the ops onto the class afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pellucid import _C
from pellucid._C import TensorBase, _TensorMeta


class Tensor(TensorBase, metaclass=_TensorMeta):
    """A multi-dimensional array of one dtype that can record gradients."""

    __module__ = "pellucid"
    __array_priority__ = 1000  # NumPy's operators give way to ours

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        from pellucid._tensor_str import _str

        return _str(self, tensor_contents=tensor_contents)

    def __format__(self, format_spec: str) -> str:
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return format(self.item(), format_spec)
        return object.__format__(self, format_spec)

    def __iter__(self) -> Iterator[Tensor]:
        if self.dim() == 0:
            raise TypeError("a 0-dimensional tensor has nothing to iterate over")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        return self if self.dim() == 0 else self.flip(0)

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Tensor, int, float, complex, bool)):
            return bool((element == self).any().item())
        raise RuntimeError(
            f"a tensor contains numbers: expected a Tensor or number, "
            f"not {type(element).__name__}"
        )

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self.__dict__})

    # NumPy

    def numpy(self, *, force: bool = False) -> Any:
        """A NumPy array over this tensor's memory; with `force` a copy if need be."""
        import numpy

        source = self.detach().cpu().resolve_conj().resolve_neg() if force else self
        if source.requires_grad:
            raise RuntimeError(
                "a tensor that requires gradients cannot become a NumPy array, which "
                "records none: use tensor.detach().numpy()"
            )
        return numpy.asarray(source._buffer())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("another dtype needs a copy, which copy=False forbids")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: bool = False
    ) -> Any:
        if array.dtype == bool:  # comparisons give uint8 where NumPy has bool
            return _C.from_numpy(array.astype("uint8")).to(_C.bool)
        return _C.from_numpy(array)


def convert_result(result: Any, cls: type[Tensor], function: Any) -> Any:
    """What a Tensor subclass's call returned, as objects of that subclass."""
    if type(result) is Tensor and cls is not Tensor:
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        items = [convert_result(item, cls, function) for item in result]
        return type(result)(items)
    return result


def legacy_constructor(*args: Any, device: Any = None) -> Tensor:
    """``torch.Tensor(...)``: sizes, data, or another tensor; float32 by default."""
    import pellucid

    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and isinstance(args[0], (list, tuple)) and not isinstance(
        args[0], _C.Size
    ):
        return _C.tensor(args[0], dtype=_C.get_default_dtype(), device=device)
    return pellucid.empty(*(args or (0,)), device=device)


_C._set_tensor_class(Tensor)
