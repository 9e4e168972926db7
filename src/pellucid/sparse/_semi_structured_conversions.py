"""Conversions to and from CUTLASS's semi-structured format.

The format, which is also PyTorch's: a matrix of the stored elements, and metadata words
with four bits per group of four elements, two bits for each of the two positions. For
float32 one of two elements is stored, and the bits refer to halves of elements. The
words are reordered for the tensor cores of a GPU.
"""

from __future__ import annotations

import pellucid
from pellucid import Tensor

# By dtype of the matrix: the dtype of the words, and the groups per word.
_WORDS = {
    pellucid.int8: (pellucid.int32, 8),
    pellucid.float16: (pellucid.int16, 4),
    pellucid.bfloat16: (pellucid.int16, 4),
    pellucid.float32: (pellucid.int16, 4),
}


def sparse_semi_structured_from_dense_cutlass(dense: Tensor) -> tuple[Tensor, Tensor]:
    """(the stored elements, the words with their positions).

    Of four consecutive elements two are stored, normally the first two nonzero ones;
    for float32 one of two.
    """
    if dense.dim() != 2:
        raise RuntimeError(f"a matrix is expected, not a tensor of {dense.dim()} dims")
    if dense.dtype not in _WORDS:
        raise RuntimeError(
            f"matrices of {dense.dtype} have no semi-structured format: it is for "
            "int8, float16, bfloat16 and float32"
        )
    words, groups = _WORDS[dense.dtype]
    rows, columns = dense.shape
    most_rows = 16 if words == pellucid.int32 else 32
    if rows % most_rows or columns % (4 * groups):
        raise RuntimeError(
            f"the sizes of a matrix of {dense.dtype} are multiples of {most_rows} and "
            f"{4 * groups}, not {rows} and {columns}"
        )
    first, second = _kept_places(dense)
    if dense.dtype == pellucid.float32:
        places = first.unsqueeze(-1) // 2
    else:
        places = pellucid.stack([first, second], -1)
    grouped = dense.reshape(*first.shape, -1)
    kept = grouped.gather(-1, places).reshape(rows, columns // 2)
    bits = (first | second << 2).reshape(rows, -1, groups)
    whole = (bits << (4 * pellucid.arange(groups))).sum(-1).to(words)
    stored = whole.new_empty(whole.numel())
    places = _places_of_words(whole)
    return kept, stored.scatter_(0, places, whole.reshape(-1)).reshape(whole.shape)


def _kept_places(dense: Tensor) -> tuple[Tensor, Tensor]:
    """For each group of four, the positions of the two stored elements; for float32,
    the two halves of an element.
    """
    rows, _ = dense.shape
    if dense.dtype == pellucid.float32:
        first = (dense.reshape(rows, -1, 2)[..., 0] == 0).to(pellucid.int64) * 2
        return first, first + 1
    a, b, _, d = (dense.reshape(rows, -1, 4) != 0).unbind(-1)
    first = pellucid.where(a, 0, pellucid.where(b, 1, 2))
    second = pellucid.where(a & b, 1, pellucid.where(d | ~(a | b), 3, 2))
    return first, second


def _places_of_words(words: Tensor) -> Tensor:
    """The storage index of each word, row by row: rows are interleaved within blocks, 2
    x 2 words transposed, columns in pairs.
    """
    rows, columns = words.shape
    block, interleaved = (32, 4) if words.dtype == pellucid.int16 else (16, 2)
    row = pellucid.arange(rows).unsqueeze(-1)
    column = pellucid.arange(columns)
    row = row // block * block + row % 8 * interleaved + row % block // 8
    row, column = row + column % 2 - row % 2, column + row % 2 - column % 2
    return (column // 2 * 2 * rows + row * 2 + column % 2).reshape(-1)


def sparse_semi_structured_to_dense_cutlass(
    sparse: Tensor, meta_reordered: Tensor
) -> Tensor:
    """The matrix from stored elements and words; other elements are 0."""
    _check_parts(sparse, meta_reordered)
    words, groups = _WORDS[sparse.dtype]
    rows, kept = sparse.shape
    places = _places_of_words(meta_reordered)
    whole = meta_reordered.reshape(-1).gather(0, places).reshape(rows, -1, 1)
    bits = (whole >> (4 * pellucid.arange(groups)).to(words)).reshape(rows, -1)
    if sparse.dtype == pellucid.float32:
        where = (bits >> 1 & 1).unsqueeze(-1)
        dense = sparse.new_zeros(rows, kept, 2)
    else:
        where = pellucid.stack([bits & 3, bits >> 2 & 3], -1)
        dense = sparse.new_zeros(rows, kept // 2, 4)
    values = sparse.reshape(where.shape)
    return dense.scatter_(-1, where.long(), values).reshape(rows, 2 * kept)


def _check_parts(kept: Tensor, words: Tensor) -> None:
    """RuntimeError unless elements and words are consistent."""
    if kept.dim() != 2 or words.dim() != 2 or kept.dtype not in _WORDS:
        raise RuntimeError(
            "kept elements of int8, float16, bfloat16 or float32 and words are "
            f"matrices, not {kept.dtype} of {list(kept.shape)} and {list(words.shape)}"
        )
    dtype, groups = _WORDS[kept.dtype]
    size = 2 if kept.dtype == pellucid.float32 else 4
    expected = (kept.shape[0], 2 * kept.shape[1] // (groups * size))
    if words.dtype != dtype or tuple(words.shape) != expected:
        raise RuntimeError(
            f"kept elements of {kept.dtype} and the shape {list(kept.shape)} go with "
            f"words of {dtype} and the shape {list(expected)}, not of {words.dtype} "
            f"and {list(words.shape)}"
        )
