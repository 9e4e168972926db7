"""``PackedSequence``, which recurrent layers take and ``utils/rnn.py`` makes."""

from __future__ import annotations

from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """The rows of all time steps, concatenated: ``batch_sizes[t]`` rows of step t.

    The sequences are sorted by length, longest first; ``sorted_indices`` maps them to
    the original order. Made by ``pack_padded_sequence`` and ``pack_sequence``.
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("PackedSequence needs data and batch_sizes")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with ``data`` converted."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data)

    def _with(self, data: Tensor) -> PackedSequence:
        return PackedSequence(
            data, self.batch_sizes, self.sorted_indices, self.unsorted_indices
        )

    def pin_memory(self) -> PackedSequence:
        """The sequence itself: without a device no memory is pinned."""
        return self

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence itself: the data is on the CPU."""
        return self

    def double(self) -> PackedSequence:
        """The same with ``data`` as float64."""
        return self.to(dtype=pellucid.float64)

    def float(self) -> PackedSequence:
        """The same with ``data`` as float32."""
        return self.to(dtype=pellucid.float32)

    def half(self) -> PackedSequence:
        """The same with ``data`` as float16."""
        return self.to(dtype=pellucid.float16)

    @property
    def is_cuda(self) -> bool:
        """False."""
        return False

    def is_pinned(self) -> bool:
        """Whether ``data`` is pinned."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes ``permutation``."""
    if permutation is None:
        return None
    places = pellucid.arange(permutation.numel(), dtype=permutation.dtype)
    return pellucid.empty_like(permutation).scatter_(0, permutation, places)


for _public in (PackedSequence, invert_permutation):
    _public.__module__ = "pellucid.nn.utils.rnn"  # the module name in PyTorch's pickles
