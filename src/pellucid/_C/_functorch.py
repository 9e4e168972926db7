"""``torch._C._functorch``: queries about tensors of function transforms.

Called by libraries while a transform runs. Read ``func/_levels.py``.
"""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.func._levels import examples, from_examples, unwrap


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor wraps the examples of a running vmap."""
    found = unwrap(tensor)
    return found is not None and found.tangent is None


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: there is one kind of batched tensors."""
    return False


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether a tensor has a tangent of a running transform."""
    found = unwrap(tensor)
    return found is not None and found.tangent is not None


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether a tensor belongs to a running transform."""
    return unwrap(tensor) is not None


def maybe_get_level(tensor: Any) -> int:
    """The innermost level that a tensor belongs to, -1 of a plain one."""
    found = unwrap(tensor)
    return -1 if found is None else found.level


def maybe_get_bdim(tensor: Any) -> int:
    """Where the examples are: in dim 0 of ``get_unwrapped``; -1 of a plain tensor."""
    return 0 if is_batchedtensor(tensor) else -1


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor inside the outermost wrapper; RuntimeError for a plain tensor."""
    found = unwrap(tensor)
    if found is None:
        raise RuntimeError("get_unwrapped: the tensor belongs to no transform")
    return found.value


def _add_batch_dim(tensor: Tensor, in_dim: int, level: int) -> Tensor:
    """The tensor whose examples at ``level`` are those along ``in_dim``."""
    return from_examples(tensor.movedim(in_dim, 0), level, False)


def _remove_batch_dim(
    tensor: Tensor, level: int, batch_size: int, out_dim: int
) -> Tensor:
    """The examples at ``level`` along ``out_dim``."""
    return examples(tensor, level, batch_size).movedim(0, out_dim)
