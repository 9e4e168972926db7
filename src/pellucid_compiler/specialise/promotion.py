"""PyTorch's type promotion of a pointwise call, as in runtime/kernels/gather.h, with
the same tables (abi/dtypes.py); tests/abi/test_dtypes.py compares both.

Needed to trace a derivative: its request has the arguments as given.
"""

from __future__ import annotations

import functools

from pellucid_compiler.abi.dtypes import raise_category
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
from pellucid_compiler.ir.dtypes import complex_dtype, is_float, promote


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
    """The dtype in which the promoted arguments are computed.

    Tensors with dimensions decide; 0-dim tensors and numbers only raise the category.
    """
    items = [item for k, item in enumerate(key) if promoted >> k & 1]
    tensors = [item for item in items if isinstance(item, TensorKey)]
    numbers = [_strong(n.dtype, default) for n in items if isinstance(n, NumberKey)]
    classes = (
        [t.dtype for t in tensors if t.rank],
        [t.dtype for t in tensors if not t.rank],
        numbers,
    )
    deciding = [functools.reduce(promote, dtypes) for dtypes in classes if dtypes]
    result = default
    if deciding:
        # The runtime has already refused operands without a common dtype.
        result = functools.reduce(
            lambda a, b: raise_category(b, a),  # type: ignore[arg-type, return-value]
            deciding[::-1],
        )
    if int_to_float and not is_float(result):
        return default
    return result


def _strong(dtype: str, default: str) -> str:
    """The dtype of a tensor made from a Python number."""
    weak = {
        "weakint": "int64",
        "weakfloat": default,
        "weakcomplex": complex_dtype(default),
    }
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

    An empty list is an absent argument; a list in ``numbers`` is a number.
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
