"""Embedding tables as bytes: the integers of a row, then its scale and least number.

``embedding_bag_byte_prepack`` and its kin, the format of fbgemm: eight bits with
float32 numbers, or several integers of four or two bits per byte, the first in the low
bits, with float16 numbers. Only the rows that are read are decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.registry import op


class _Format(NamedTuple):
    bits: int
    numbers: Any  # the dtype of a row's scale and least number

    @property
    def most(self) -> int:
        """The greatest integer."""
        return (1 << self.bits) - 1

    @property
    def shifts(self) -> range:
        """Where the integers of a byte begin."""
        return range(0, 8, self.bits)

    @property
    def tail(self) -> int:
        """The bytes of a row after its integers."""
        return 2 * int(self.numbers.itemsize)


_FORMATS = {
    "byte": _Format(8, pellucid.float32),
    "4bit": _Format(4, pellucid.float16),
    "2bit": _Format(2, pellucid.float16),
}


def _encode(form: _Format, floats: Tensor, least: Tensor, most: Tensor) -> Tensor:
    """The rows as bytes, with integers between ``least`` and ``most`` of each row."""
    least = least.to(form.numbers).float()
    if form.bits == 8:
        scale = (most - least) / form.most
        inverse = form.most / ((most - least) + 1e-8)
    else:
        scale = ((most - least) / form.most).to(form.numbers).float()
        inverse = 1 / scale
        scale = scale.where(inverse.isfinite(), scale.new_ones(()))
        inverse = 1 / scale
    places = ((floats - least) * inverse).round().clamp(0, form.most)
    integers = places.to(pellucid.uint8)
    per_byte = len(form.shifts)
    packed = integers[..., ::per_byte].clone()
    for k, shift in enumerate(form.shifts[1:], 1):
        packed |= integers[..., k::per_byte] << shift
    numbers = pellucid.cat([scale, least], -1).to(form.numbers)
    return pellucid.cat([packed, numbers.view(pellucid.uint8)], -1)


def _decode(form: _Format, rows: Tensor) -> Tensor:
    """The numbers of rows of bytes, float32."""
    if rows.dtype != pellucid.uint8:
        raise RuntimeError(f"expected a table of uint8, not {rows.dtype}")
    packed, tail = rows[..., : -form.tail], rows[..., -form.tail :]
    scale, least = tail.contiguous().view(form.numbers).float().split(1, -1)
    parts = [(packed >> shift) & form.most for shift in form.shifts]
    integers = pellucid.stack(parts, -1).flatten(-2)
    return integers.float() * scale + least


def _rows_at(table: Tensor, places: Tensor) -> Tensor:
    try:
        return table.index_select(0, places)
    except IndexError as error:
        raise RuntimeError(
            f"an index is out of bounds of the table: {error}"
        ) from error


def _require_table(name: str, weight: Tensor, form: _Format) -> None:
    if weight.dtype not in (pellucid.float32, pellucid.float16):
        raise RuntimeError(
            f"'{name}' only supports float32 or float16, not {weight.dtype}"
        )
    if form.bits < 8 and weight.dim() != 2:
        raise RuntimeError(
            f"{name}: expected a table of 2 dims, rows of numbers; it has "
            f"{weight.dim()}"
        )
    if weight.dim() == 0:
        raise RuntimeError(f"{name}: expected rows of numbers, not one number")
    if weight.shape[-1] % len(form.shifts):
        raise RuntimeError(
            f"{name} only works for the number of columns a multiple of "
            f"{len(form.shifts)}, not {weight.shape[-1]}"
        )


def _by_error(
    form: _Format, floats: Tensor, nbins: int, ratio: float
) -> tuple[Tensor, Tensor]:
    """The range of each row that loses least when rounded."""
    found = [
        pellucid.choose_qparams_optimized(row, row.numel(), nbins, ratio, form.bits)
        for row in floats
    ]
    most, least = (
        pellucid.stack(each).reshape(-1, 1) for each in zip(*found, strict=True)
    )
    return least, most


def bags(
    rows: Callable[[Tensor], Tensor],
    indices: Tensor,
    offsets: Tensor | None,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
) -> Tensor:
    """Sums of ``rows(indices)`` per bag, float, weighted by ``per_sample_weights``."""
    if indices.dim() == 2:
        count, length = indices.shape
        offsets = pellucid.arange(0, count * length, max(length, 1))[:count]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif offsets is None:
        raise RuntimeError("expected offsets to be set for indices of 1 dim")
    flat = indices.reshape(-1)
    made: Tensor = pellucid.embedding_bag(
        rows(flat),
        pellucid.arange(flat.numel()),
        offsets,
        mode=0,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
    )[0]
    return made


def _register(kind: str, form: _Format) -> None:
    """The ops of a format."""
    name = f"embedding_bag_{kind}"

    def floats_of(weight: Tensor) -> Tensor:
        _require_table(f"q{name.replace('_', '', 1)}_prepack", weight, form)
        return weight.detach().float()

    def prepack(weight: Tensor) -> Tensor:
        """The table as bytes."""
        floats = floats_of(weight)
        return _encode(form, floats, floats.amin(-1, True), floats.amax(-1, True))

    def prepack_narrow(
        weight: Tensor,
        optimized_qparams: bool = False,
        nbins: int = 200,
        ratio: float = 0.16,
    ) -> Tensor:
        """The table as bytes; with ``optimized_qparams`` the ranges of rows are those
        that lose least.
        """
        if not optimized_qparams:
            return prepack(weight)
        floats = floats_of(weight)
        return _encode(form, floats, *_by_error(form, floats, nbins, ratio))

    def unpack(weight: Tensor) -> Tensor:
        """The numbers of a table of bytes, float32."""
        return _decode(form, weight)

    def rowwise_offsets(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor | None = None,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        pruned_weights: bool = False,
        per_sample_weights: Tensor | None = None,
        compressed_indices_mapping: Tensor | None = None,
        include_last_offset: bool = False,
    ) -> Tensor:
        """Sums of rows per bag, float. With ``pruned_weights`` the mapping gives the
        row of an index in a table without pruned rows, or -1 for one of these.
        """

        def rows(flat: Tensor) -> Tensor:
            if not pruned_weights or compressed_indices_mapping is None:
                return _decode(form, _rows_at(weight, flat))
            places = _rows_at(compressed_indices_mapping, flat).unsqueeze(1)
            found = _decode(form, _rows_at(weight, places.squeeze(1).clamp(0)))
            return found.where(places >= 0, found.new_zeros(()))

        return bags(rows, indices, offsets, per_sample_weights, include_last_offset)

    op(f"{name}_prepack")(prepack if form.bits == 8 else prepack_narrow)
    op(f"{name}_unpack")(unpack)
    op(f"{name}_rowwise_offsets")(rowwise_offsets)


for _kind, _form in _FORMATS.items():
    _register(_kind, _form)
