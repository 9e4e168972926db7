"""PyTorch's type promotion of a pointwise call, as runtime/kernels/pointwise.cpp does
it.

Needed where a derivative is traced: the runtime asks with the arguments as they were
given.
"""

from __future__ import annotations

from collections.abc import Iterable

from pellucid_compiler.declare.key import (
    ArgumentKey,
    Key,
    ListKey,
    NumberKey,
    StaticKey,
    TensorKey,
)
from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.schema import Argument
from pellucid_compiler.ir.dtypes import is_complex, is_float, is_integer, promote


def is_promoted(op: Op, argument: Argument) -> bool:
    """Whether the argument is promoted: tensors and numbers given for one.

    Other numbers are coefficients (``alpha``, ``beta``).
    """
    if argument.type == "Scalar":
        return argument.name in op.options.numbers
    if argument.is_list and argument.name in op.options.numbers:
        return False
    return argument.is_tensor and argument.name not in op.options.unpromoted


def promoted_mask(op: Op) -> int:
    """One bit per promoted argument."""
    arguments = enumerate(op.schema.arguments)
    return sum(1 << k for k, argument in arguments if is_promoted(op, argument))


def common_dtype(
    key: Key, promoted: int, int_to_float: bool, default: str = "float32"
) -> str:
    """The dtype that the promoted arguments are computed in.

    Tensors with dimensions decide; 0-dim tensors and numbers only raise the category.
    """
    items = [item for k, item in enumerate(key) if promoted >> k & 1]
    with_dims = _promote_all(_tensor_dtypes(items, False))
    scalars = _promote_all(_tensor_dtypes(items, True))
    numbers = _promote_all(n.dtype for n in items if isinstance(n, NumberKey))
    result: str | None = None
    for weaker in (with_dims, scalars, numbers):
        if weaker is None:
            continue
        if result is None or _category(weaker) > _category(result):
            result = weaker if result is None else _raised(result, weaker)
    result = _strong(result or default, default)
    if int_to_float and not is_float(result):
        return default
    return result


def _raised(lower: str, higher: str) -> str:
    if higher == "weakcomplex" and is_float(lower):
        return promote(lower, higher)
    return higher


def _tensor_dtypes(items: Iterable[ArgumentKey], scalars: bool) -> list[str]:
    tensors = [item for item in items if isinstance(item, TensorKey)]
    return [t.dtype for t in tensors if (t.rank == 0) == scalars]


def _promote_all(found: Iterable[str]) -> str | None:
    result: str | None = None
    for dtype in found:
        result = dtype if result is None else promote(result, dtype)
    return result


def _category(dtype: str) -> int:
    if is_complex(dtype):
        return 3
    if is_float(dtype):
        return 2
    return 1 if is_integer(dtype) else 0


def _strong(dtype: str, default: str) -> str:
    weak = {"weakint": "int64", "weakfloat": default, "weakcomplex": "complex64"}
    return weak.get(dtype, dtype)


def compute_items(key: Key, promoted: int, common: str) -> Key:
    """``key`` after promotion: promoted tensors have the common dtype."""
    return tuple(
        TensorKey(common if promoted >> k & 1 else item.dtype, 0)
        if isinstance(item, TensorKey)
        else item
        for k, item in enumerate(key)
    )


def element_key(op: Op, key: Key) -> Key:
    """The key of one element of a foreach call: lists by their first item.

    An empty list is an argument that is not given; a list in ``numbers`` is a number.
    """

    def element(argument: Argument, item: ArgumentKey) -> ArgumentKey:
        if not isinstance(item, ListKey):
            return item
        if not item.items:
            return StaticKey(None)
        is_number = argument.name in op.options.numbers
        return NumberKey("weakfloat") if is_number else item.items[0]

    return tuple(
        element(argument, item)
        for argument, item in zip(op.schema.arguments, key, strict=True)
    )
