"""``BlockMask``: a block-sparse attention mask, for ``flex_attention.py``.

A row of blocks is stored *ordered*: the number of unmasked blocks, and the indices of
all blocks, unmasked ones first. Full blocks, in which nothing is masked, are recorded
separately from partial ones; both also by columns, for gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from itertools import product
from typing import Any, Self

import pellucid
from pellucid import Tensor

DEFAULT_BLOCK_SIZE = 128
MaskFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
# Counts and indices of blocks.
_Rows = tuple[Tensor | None, Tensor | None]
_LIMIT = """...
To print out more, set BlockMask.to_string(limit=N)
You can also index (BlockMask[batch, head]) to choose a specific batch or head"""

# The tensors of a BlockMask, in the order of its arguments.
_PARTS = (
    *("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"),
    *("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"),
)
_ORDERS = ("dq_write_order", "dq_write_order_full", "dq_kv_order")


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask function that masks nothing."""
    return pellucid.ones((), dtype=pellucid.bool, device=batch.device)


def ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """For bools (..., rows, columns): the number of set columns per row, and the
    column indices with the set ones first.
    """
    indices = pellucid.argsort(dense.int(), dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(pellucid.int32), indices.to(pellucid.int32).contiguous()


def _dense(counts: Tensor, indices: Tensor, columns: int | None = None) -> Tensor:
    """The inverse of ``ordered``: the first ``columns`` columns as int32."""
    width = indices.size(-1)
    places = pellucid.arange(width, device=indices.device)
    is_set = (places < counts.unsqueeze(-1)).int()
    shape = (*indices.shape[:-1], max(width, columns or 0))
    found = pellucid.zeros(shape, dtype=pellucid.int32, device=indices.device)
    return found.scatter_reduce(-1, indices.long(), is_set, "amax")


def _by_columns(counts: Tensor | None, indices: Tensor | None) -> _Rows:
    if counts is None or indices is None:
        return None, None
    return ordered(_dense(counts, indices).mT)


def _write_order(dense: Tensor, descending: bool) -> Tensor:
    """By blocks of keys: the number of blocks that precede each one in its row of
    queries; -1 after the last one of a descending order.
    """
    before = dense.cumsum(-1) - dense
    if descending:
        before = dense.sum(-1, keepdim=True) - before - 1
    return before.mT


def _of_sliced(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Any:
    raise RuntimeError(
        "a BlockMask that was sliced has no mask_mod: its positions have changed. "
        "Set one, made from the mask_mod of the whole: "
        "sliced.mask_mod = shifted(whole.mask_mod)"
    )


def block_pair(size: int | tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of a block."""
    return (size, size) if isinstance(size, int) else (size[0], size[1])


class BlockMask:
    """A mask, and for each block of queries the unmasked blocks of keys.

    ``kv_num_blocks`` (B, H, blocks of queries) counts the partial blocks, and
    ``kv_indices`` (B, H, blocks of queries, blocks of keys) has their indices first.
    ``full_kv_num_blocks`` and ``full_kv_indices`` hold the full blocks, ``q_...`` the
    same by blocks of keys; all of these may be None.
    :func:`create_block_mask` makes one from a function, :meth:`from_kv_blocks` from
    counts and indices. Raises RuntimeError for indices of less than two dims.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK_SIZE, DEFAULT_BLOCK_SIZE),
        mask_mod: MaskFunction = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        dq_kv_order_spt: bool | None = None,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError(
                "BlockMask needs kv_indices of two dims at least, (blocks of queries, "
                f"blocks of keys), and has {kv_indices.dim()}"
            )
        _must_come_together("full_kv", full_kv_num_blocks, full_kv_indices)
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.dq_write_order = dq_write_order
        self.dq_write_order_full = dq_write_order_full
        self.dq_kv_order = dq_kv_order
        self.dq_kv_order_spt = dq_kv_order_spt
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
        mask_mod: MaskFunction | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
    ) -> Self:
        """A mask from counts and indices, both by blocks of queries. The lengths
        default to whole blocks; ``compute_q_blocks`` derives the tables by blocks of
        keys.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        _must_come_together("full_kv", full_kv_num_blocks, full_kv_indices)
        size = block_pair(BLOCK_SIZE)
        partial: _Rows = None, None
        full: _Rows = None, None
        if compute_q_blocks:
            partial = _by_columns(kv_num_blocks, kv_indices)
            full = _by_columns(full_kv_num_blocks, full_kv_indices)
        if seq_lengths is None:
            rows, width = kv_indices.shape[-2:]
            seq_lengths = rows * size[0], width * size[1]
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *partial,
            *full,
            size,
            noop_mask if mask_mod is None else mask_mod,
            dq_write_order=dq_write_order,
            dq_write_order_full=dq_write_order_full,
            dq_kv_order=dq_kv_order,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, Q_LEN, KV_LEN)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The lengths, the tensors, the sizes of a block and the mask."""
        parts = (getattr(self, name) for name in (*_PARTS, *_ORDERS))
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        sizes = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*lengths, *parts, self.dq_kv_order_spt, *sizes, self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        """A slice by batches, heads and blocks of queries. The result has the same
        lengths and four dims, and no ``mask_mod``.
        """
        index = index if isinstance(index, tuple) else (index,)
        sizes = self.kv_num_blocks.shape
        if len(index) > len(sizes):
            raise IndexError(
                f"a BlockMask has {len(sizes)} dims to index, (B, H, blocks of "
                f"queries), and {len(index)} indices were given"
            )
        entries = tuple(_as_dim(i, n) for i, n in zip(index, sizes, strict=False))
        full: _Rows = None, None
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            full = self.full_kv_num_blocks[entries], self.full_kv_indices[entries]
        return _of_rows(
            (self.kv_num_blocks[entries], self.kv_indices[entries]),
            full,
            self.BLOCK_SIZE,
            _of_sliced,
            self.seq_lengths,
            self.q_indices is not None,
        )

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask cropped to the first queries and keys, with the same function."""
        cut = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])
        return _of_rows(
            _cropped(self.kv_num_blocks, self.kv_indices, *cut),
            _cropped(self.full_kv_num_blocks, self.full_kv_indices, *cut),
            self.BLOCK_SIZE,
            self.mask_mod,
            (new_q_len, new_kv_len),
        )

    def to(self, device: Any) -> BlockMask:
        """The same mask with its tensors on ``device``."""
        moved = copy(self)
        for name in (*_PARTS, *_ORDERS):
            part = getattr(self, name)
            setattr(moved, name, None if part is None else part.to(device))
        return moved

    def to_dense(self) -> Tensor:
        """1 for each unmasked block, (B, H, blocks of queries, blocks of keys)."""
        found = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            found = found | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return found

    def numel(self) -> int:
        """The number of scores: the product of the shape."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of scores in blocks that are skipped. Blocks count whole, so
        it is negative where the last ones extend beyond the ends.
        """
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_string(
        self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4
    ) -> str:
        """A picture of the first ``limit`` batches and heads: an unmasked block is a
        full square. In a smaller grid a square covers several blocks and is shaded.
        A grid of -1 has a square for each block.
        """
        dense = self.to_dense()
        *outer, rows, columns = dense.shape
        if grid_size == -1:
            grid_size = rows, columns
        grid = block_pair(grid_size)
        pictures: list[str] = []
        for count, place in enumerate(product(*(range(n) for n in outer))):
            if count == limit:
                return "\n".join([*pictures, _LIMIT])
            pictures.append(f"{place}\n{_picture(dense[place], *grid)}")
        return "\n".join(pictures)

    def __str__(self) -> str:
        head = f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n"
        return f"{head}{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        lines = []
        for name in _PARTS:
            part = getattr(self, name)
            lines.append(f"{name}={None if part is None else part.shape}")
        mask = getattr(self.mask_mod, "__name__", self.mask_mod)
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}"]
        lines += [f"sparsity={self.sparsity():.2f}%", f"mask_mod={mask}"]
        return "BlockMask(\n    " + ",\n    ".join(lines) + "\n)"


def _must_come_together(
    name: str, counts: Tensor | None, indices: Tensor | None
) -> None:
    if (counts is None) != (indices is None):
        raise AssertionError(
            f"{name}_num_blocks and {name}_indices must be both provided or omitted"
        )


def _as_dim(index: Any, size: int) -> Any:
    """An index that keeps its dim; an int out of range selects nothing."""
    if not isinstance(index, int):
        return index
    start = index + size if index < 0 else index
    return slice(start, start + 1)


def _of_rows(
    partial: _Rows,
    full: _Rows,
    size: tuple[int, int],
    mask_mod: MaskFunction,
    lengths: tuple[int, int],
    compute_q_blocks: bool = True,
) -> BlockMask:
    counts, indices = partial
    assert counts is not None and indices is not None
    return BlockMask.from_kv_blocks(
        counts, indices, *full, size, mask_mod, lengths, compute_q_blocks
    )


def _cropped(
    counts: Tensor | None, indices: Tensor | None, rows: int, columns: int
) -> _Rows:
    if counts is None or indices is None:
        return None, None
    return ordered(_dense(counts, indices)[..., :rows, :columns].bool())


def _picture(dense: Tensor, rows: int, columns: int) -> str:
    """A line for each group of rows, with a final line break."""
    heights, widths = (
        max(-(-n // wanted), 1)
        for n, wanted in zip(dense.shape, (rows, columns), strict=True)
    )
    lines = []
    for group in dense.split(heights, 0):
        means = [part.float().mean().item() for part in group.split(widths, 1)]
        lines.append("".join(_shade(mean) * 2 for mean in means) + "\n")
    return "".join(lines)


def _shade(mean: float) -> str:
    return "█" if mean == 1 else " " if mean == 0 else "░"


def create_sparse_mask(
    mask: Tensor,
    size: tuple[int, int],
    mask_mod: MaskFunction,
    separate_full_blocks: bool,
) -> BlockMask:
    """The BlockMask for bools (B, H, Q_LEN, KV_LEN)."""
    *outer, q_length, kv_length = mask.shape
    counts = [-(-q_length // size[0]), -(-kv_length // size[1])]
    rest = [0, counts[1] * size[1] - kv_length, 0, counts[0] * size[0] - q_length]
    padded = pellucid.constant_pad_nd(mask, rest, False)
    blocks = padded.view(*outer, counts[0], size[0], counts[1], size[1])
    is_left = blocks.any(-1).any(3)
    full: _Rows = None, None
    if separate_full_blocks:
        is_full = blocks.all(-1).all(3)
        is_left, full = is_left & ~is_full, ordered(is_full)
    lengths = q_length, kv_length
    return _of_rows(ordered(is_left), full, size, mask_mod, lengths)


def add_write_orders(mask: BlockMask, descending: bool) -> None:
    """Adds the order in which blocks of keys add to gradients of blocks of queries."""
    order = _write_order(mask.to_dense(), descending)
    for indices, name in (
        (mask.q_indices, "dq_write_order"),
        (mask.full_q_indices, "dq_write_order_full"),
    ):
        if indices is not None:
            found = order.gather(-1, indices.long()).to(pellucid.int32)
            setattr(mask, name, found)
    mask.dq_kv_order_spt = descending
