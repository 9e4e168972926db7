"""Batches of sequences of different lengths: packed, padded, sorted by length."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid.nn._packed_sequence import PackedSequence, invert_permutation

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | list[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Packs a padded tensor (time, batch, ...) of sequences with ``lengths``.

    With ``enforce_sorted`` the longest must be first; otherwise they are sorted.
    """
    counts = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    if batch_first:
        input = input.transpose(0, 1)
    if len(counts) != input.size(1):
        raise RuntimeError(f"{len(counts)} lengths for a batch of {input.size(1)}")
    if not counts or min(counts) <= 0:
        raise RuntimeError("every sequence needs at least one element")
    sorted_indices = None
    if enforce_sorted:
        if any(a < b for a, b in pairwise(counts)):
            raise RuntimeError(
                "the lengths are not sorted, longest first: sort the batch or give "
                "enforce_sorted=False"
            )
    else:
        order = pellucid.tensor(counts).argsort(stable=True, descending=True)
        sorted_indices = order
        input = input.index_select(1, order)
        counts = [counts[k] for k in order.tolist()]
    if counts[0] > input.size(0):
        raise RuntimeError(
            f"a length of {counts[0]} for an input of {input.size(0)} time steps"
        )
    sizes = [sum(n > t for n in counts) for t in range(counts[0])]
    data = pellucid.cat([input[t, :size] for t, size in enumerate(sizes)])
    return PackedSequence(data, pellucid.tensor(sizes), sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """(padded sequences, their lengths), in the order before packing."""
    sizes = sequence.batch_sizes.tolist()
    length = len(sizes)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                f"total_length {total_length} is less than the longest, {length}"
            )
        length = total_length
    parts = []
    features = sequence.data.shape[1:]
    for rows in sequence.data.split(sizes):
        missing = sizes[0] - rows.size(0)
        if missing:
            fill = rows.new_full((missing, *features), padding_value)
            rows = pellucid.cat((rows, fill))
        parts.append(rows)
    if length > len(sizes):
        parts += [sequence.data.new_full((sizes[0], *features), padding_value)] * (
            length - len(sizes)
        )
    padded = pellucid.stack(parts)
    counts = pellucid.tensor([sum(n > k for n in sizes) for k in range(sizes[0])])
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        counts = counts[sequence.unsorted_indices]
    return (padded.transpose(0, 1) if batch_first else padded), counts


def pad_sequence(
    sequences: Tensor | list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """One tensor (time, batch, ...) of sequences (time, ...), padded to the longest."""
    if isinstance(sequences, Tensor):
        sequences = list(sequences.unbind(0))
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence takes a list of tensors, not {type(sequences).__name__}"
        )
    return _nn.pad_sequence(list(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded tensor, without their padding."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    pairs = zip(padded_sequences.unbind(0), lengths.tolist(), strict=True)
    return [sequence[: int(n)] for sequence, n in pairs]


def pack_sequence(
    sequences: list[Tensor], enforce_sorted: bool = True
) -> PackedSequence:
    """Packs sequences (time, ...) of different lengths."""
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(
        pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
