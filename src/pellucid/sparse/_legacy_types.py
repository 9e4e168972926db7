"""Legacy types of COO tensors: ``torch.sparse.FloatTensor(indices, values, size)``.

See ``_tensor/legacy_types.py`` for those of dense tensors.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._package.calls.deprecation import deprecated
from pellucid._tensor.dtype_names import STORAGE_NAMES
from pellucid._tensor.legacy_types import tensortype
from pellucid.sparse._ops.construct import sparse_coo_tensor


class _SparseType(tensortype):
    """The metaclass of ``torch.sparse.FloatTensor`` and the other types."""

    is_sparse = True
    layout = _C.sparse_coo

    def __call__(cls, *args: Any) -> Tensor:
        """A tensor of the given indices, values and perhaps size, or one of the given
        size without elements."""
        name = f"torch.sparse.{cls.__name__}"
        deprecated(name, "sparse_coo_tensor")
        if len(args) in (2, 3) and all(isinstance(x, Tensor) for x in args[:2]):
            return sparse_coo_tensor(*args)
        size = args[0] if len(args) == 1 and isinstance(args[0], _C.Size) else args
        if not all(isinstance(length, int) for length in size):
            raise TypeError(
                f"{name} takes sizes, or the tensors of indices and values and then "
                f"perhaps a size, not {', '.join(type(x).__name__ for x in args)}"
            )
        return pellucid.zeros(size or (0,), dtype=cls.dtype, layout=cls.layout)


TYPES = {
    f"{word}Tensor": _SparseType(
        f"{word}Tensor",
        (),
        {
            "dtype": dtype,
            "__module__": "torch.sparse",
            "__doc__": f"COO tensors of {dtype}.",
        },
    )
    for dtype, word in STORAGE_NAMES.items()
    if not dtype.is_complex and dtype != _C.bool
}
