"""Shared checks of arguments for functions in Python.

Under ``vmap`` a tensor has no single truth value; these checks cover all examples.
Called by random functions, ``linalg`` and ``distributions`` before they raise. Ops are
checked in ``catalogue/real_only.py``.
"""

from __future__ import annotations

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from pellucid._tensor import Tensor


def all_true(condition: Tensor) -> bool:
    """Whether every element is true, of every example."""
    return bool(unwrapped(condition).all())


def any_true(condition: Tensor) -> bool:
    """Whether some element is true, of some example."""
    return bool(unwrapped(condition).any())


def refuse_complex(name: str, *tensors: Tensor) -> None:
    """Raises NotImplementedError, as PyTorch does, where a tensor is complex."""
    for tensor in tensors:
        if tensor.is_complex():
            raise NotImplementedError(
                f'"{name}" not implemented for {tensor.dtype} tensors: take abs(), '
                "real or imag first"
            )


def refuse_bool(
    name: str, *tensors: Tensor, error: type[Exception] = NotImplementedError
) -> None:
    """Raises ``error``, PyTorch's of the function, where a tensor is of bools."""
    for tensor in tensors:
        if tensor.dtype == _C.bool:
            raise error(
                f"{name} does not take bools: convert with .to(torch.int64) or .float()"
            )


def require_tensors(name: str, *values: object) -> None:
    """Raises TypeError unless it is a tensor."""
    for value in values:
        if not isinstance(value, _C.TensorBase):
            raise TypeError(
                f"{name}() takes tensors, not {type(value).__name__}: make one by "
                "torch.tensor(...)"
            )


def unwrapped(tensor: Tensor) -> Tensor:
    """The tensor inside the wrappers of running transforms: all examples, or the
    primal.
    """
    while (found := _C._unwrap(tensor)) is not None:
        tensor = found[1]
    return tensor
