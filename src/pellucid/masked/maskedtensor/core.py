"""The class MaskedTensor: data and a mask of the same size.

An op on a masked tensor is an op on its data (``_rules.py``). Two autograd functions
connect the two: ``DataOf`` returns the data, with a masked gradient; ``WithMask`` makes
a masked tensor whose gradient is read without its mask. Ops between them are recorded
as ordinary ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import pellucid
from pellucid import Tensor
from pellucid.autograd import Function
from pellucid.masked._sparse import of_one_pattern
from pellucid.overrides import DisableTorchFunctionSubclass
from pellucid.sparse._ops.parts import is_sparse

__all__ = ["MaskedTensor", "is_masked_tensor"]

_DTYPES = (
    *(pellucid.float16, pellucid.float32, pellucid.float64, pellucid.bool),
    *(pellucid.int8, pellucid.int16, pellucid.int32, pellucid.int64),
)
_LAYOUTS = (pellucid.strided, pellucid.sparse_coo, pellucid.sparse_csr)

# How an op is computed, registered by ``_rules.py``, which imports this module.
op_rules: dict[str, Callable[[Any, Any, Any], Any]] = {}


def is_masked_tensor(obj: Any, /) -> TypeGuard[MaskedTensor]:
    """Whether ``obj`` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


class MaskedTensor(Tensor):
    """``data`` with elements absent where ``mask`` is false.

    Pointwise ops compute on the data, and two masked operands need the same mask;
    views, concatenation and indexing apply to data and mask; reductions skip absent
    elements, and are absent if all elements are. Data and mask may be COO or CSR: they
    store the same positions, and others are absent. Made by ``masked_tensor`` and
    ``as_masked_tensor``.
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(
        cls, data: Tensor, mask: Tensor, requires_grad: bool = False
    ) -> MaskedTensor:
        for name, given in (("data", data), ("mask", mask)):
            if is_masked_tensor(given) or not isinstance(given, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        _check(data, mask)
        made: MaskedTensor = Tensor._make_wrapper_subclass(
            cls,
            data.size(),
            strides=None if is_sparse(data) else data.stride(),
            dtype=data.dtype,
            device=data.device,
            requires_grad=requires_grad,
        )
        return made

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        data, mask = data.detach(), mask.detach()
        if is_sparse(data):
            data, mask = of_one_pattern(data, mask)
        self._masked_data, self._masked_mask = data.clone(), mask.clone()

    @property  # type: ignore[misc]
    def layout(self) -> Any:
        """That of the data and the mask."""
        return self._masked_data.layout

    @property  # type: ignore[misc]
    def is_sparse(self) -> bool:
        """Whether the data is COO or CSR."""
        return is_sparse(self._masked_data)

    def get_data(self) -> Tensor:
        """All elements of the data, also those that are absent."""
        with DisableTorchFunctionSubclass():
            found: Tensor = DataOf.apply(self)
        return found

    def get_mask(self) -> Tensor:
        """True where an element is."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """A plain tensor with ``value`` for absent elements."""
        data, mask = self.get_data(), self.get_mask()
        if is_sparse(data):
            data, mask = data.to_dense(), mask.to_dense()
        return data.masked_fill(~mask, value)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        data, mask = self._masked_data, self._masked_mask
        if is_sparse(data):
            data, mask = data.to_dense(), mask.to_dense()
        if not self.dim():
            return f"MaskedTensor({_element(data, mask)}, {mask.item()})"
        lines = _rows(data, mask).split("\n")
        return "MaskedTensor(\n" + "\n".join("  " + line for line in lines) + "\n)"

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if not all(issubclass(cls, each) or each is Tensor for each in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            found = op_rules["computed"](func, args, kwargs or {})
            if found is NotImplemented:
                found = func(*args, **(kwargs or {}))
            return found

    @classmethod
    def __torch_dispatch__(
        cls,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        found = op_rules["computed"](func, args, kwargs or {})
        if found is NotImplemented:
            name = func._schema.name
            raise TypeError(
                f"{name} is not defined for masked tensors: say what it means of the "
                "data and of the mask, tensor.get_data() and tensor.get_mask(), or "
                "fill in what is absent, tensor.to_tensor(value)"
            )
        return found


def _check(data: Tensor, mask: Tensor) -> None:
    for name, given in (("data", data), ("mask", mask)):
        if given.layout not in _LAYOUTS:
            raise TypeError(f"{name} layout of {given.layout} is not supported.")
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if mask.dtype is not pellucid.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


def _element(data: Tensor, mask: Tensor) -> str:
    value = data.item()
    if not mask.item():
        return "--"
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _rows(data: Tensor, mask: Tensor) -> str:
    if data.dim() > 1:
        parts = [_rows(d, m) for d, m in zip(data, mask, strict=True)]
        inside = ["\n".join("  " + line for line in part.split("\n")) for part in parts]
        return "[\n" + ",\n".join(inside) + "\n]"
    texts = [_element(d, m) for d, m in zip(data, mask, strict=True)]
    width = max([8, *map(len, texts)])
    shown = [text.rjust(width) if text == "--" else text for text in texts]
    return "[" + ", ".join(shown) + "]"


class DataOf(Function):
    """The data of a masked tensor."""

    @staticmethod
    def forward(ctx: Any, tensor: MaskedTensor) -> Tensor:
        ctx.mask = tensor._masked_mask
        return tensor._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> MaskedTensor:
        made: MaskedTensor = WithMask.apply(data_of(grad), ctx.mask)
        return made


class WithMask(Function):
    """The masked tensor of data."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> MaskedTensor:
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return data_of(grad), None


def data_of(value: Any) -> Any:
    """The data of a masked tensor, anything else itself; derivatives pass."""
    return DataOf.apply(value) if is_masked_tensor(value) else value


def mask_of(value: Any) -> Any:
    """The mask of a masked tensor, anything else itself."""
    return value._masked_mask if is_masked_tensor(value) else value
