"""Functions of a tensor that are more than one op: norm, asarray.

Read next: products.py.
"""

from __future__ import annotations

import pellucid
from pellucid import _C
from pellucid._package.calls import offered
from pellucid._package.calls.namesakes import namesake
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any


@offered.function
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor: sharing memory unless `copy`, or never if it is False. It
    needs a gradient if `obj` does, unless `requires_grad` says otherwise.

    Example: ``torch.asarray(numpy.arange(3))`` shares the array's memory.
    """
    if isinstance(obj, _C.StorageBase):
        obj = _C._tensor_over(obj, _C.uint8, 0, (obj.nbytes(),), (1,))
    if copy:
        result = (
            obj.to(dtype=dtype or obj.dtype, device=device, copy=True)
            if isinstance(obj, Tensor)
            else _C.tensor(obj, dtype=dtype, device=device)
        )
    else:
        result = _C.as_tensor(obj, dtype=dtype, device=device)
        shares = isinstance(obj, Tensor) and result.data_ptr() == obj.data_ptr()
        if copy is False and not shares and not hasattr(obj, "__array_interface__"):
            raise ValueError(
                "asarray() cannot share the memory of this object, and copy=False "
                "forbids a copy"
            )
    if requires_grad is None or result.requires_grad == requires_grad:
        return result
    return result.requires_grad_() if requires_grad else result.detach()


@offered.function
@namesake("modes see linalg.vector_norm, as of PyTorch's; the op of this name is seen")
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of the elements over `dim`; ``"fro"`` is the 2-norm."""
    linalg = pellucid.linalg
    options = {} if out is None else {"out": out}
    if p == "nuc":
        dims = (-2, -1) if dim is None else dim
        result: Tensor = linalg.matrix_norm(
            input, "nuc", dims, keepdim, dtype=dtype, **options
        )
        return result
    order = 2 if p in (None, "fro") else p
    result = linalg.vector_norm(input, order, dim, keepdim, dtype=dtype, **options)
    return result
