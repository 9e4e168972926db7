"""Checks of the arguments of collectives: memory, numbers of tensors, dtypes, sizes."""

from __future__ import annotations

from typing import Any


def is_pending(tensor: Any) -> bool:
    """Whether its memory holds the conjugates or negatives of its elements."""
    return bool(tensor.is_conj() or tensor.is_neg())


def resolved(tensor: Any) -> Any:
    """The elements of a tensor that is only read, in memory."""
    return tensor.resolve_conj().resolve_neg() if is_pending(tensor) else tensor


def check_memory(tensor: Any) -> None:
    """Refuses tensors whose memory is not that of their elements, in order."""
    if is_pending(tensor):
        raise RuntimeError(
            "a tensor with a pending conjugation or negation cannot be written by a "
            "collective; use its resolve_conj() or resolve_neg()"
        )
    if not tensor.is_contiguous():
        raise ValueError("Tensors must be contiguous: use tensor.contiguous()")


def check_outputs(listed: Any, one: Any, size: int) -> None:
    if len(listed) != size:
        raise RuntimeError(
            f"one tensor of each of the group's {size} ranks is needed; the list has "
            f"{len(listed)}"
        )
    for tensor in listed:
        if tensor.dtype != one.dtype:
            raise ValueError(f"dtypes differ: {tensor.dtype} and {one.dtype}")
        if tensor.numel() != one.numel():
            raise RuntimeError(
                f"sizes differ: {list(tensor.shape)} and {list(one.shape)}; use "
                "all_to_all or all_gather_object for tensors of different sizes"
            )


def check_sizes(name: str, whole: Any, part: Any, size: int) -> None:
    if whole.dtype != part.dtype:
        raise TypeError(f"{name}: dtypes differ: {whole.dtype} and {part.dtype}")
    if whole.numel() != part.numel() * size:
        raise RuntimeError(
            f"{name}: the larger tensor has {whole.numel()} elements; {size} ranks "
            f"with {part.numel()} elements each need {part.numel() * size}"
        )


def element_counts(name: str, tensor: Any, splits: Any, size: int) -> list[int]:
    rows = tensor.shape[0] if tensor.ndim else 1
    if not splits:
        if rows % size:
            raise ValueError(
                f"Tensor's dim 0 does not divide equally across group size: {name} has "
                f"{rows} rows for {size} ranks; give {name}_split_sizes"
            )
        splits = [rows // size] * size
    if len(splits) != size or sum(splits) != rows:
        raise ValueError(
            f"Split sizes doesn't match total dim 0 size: {list(splits)} for {rows} "
            f"rows and {size} ranks"
        )
    row = tensor.numel() // rows if rows else 0
    return [count * row for count in splits]
