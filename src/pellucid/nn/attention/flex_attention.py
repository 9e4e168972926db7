"""Attention with a function of each score, and masks by a function of positions.

The functions are called once with all scores and with indices that broadcast to them,
so they must be written element by element, as PyTorch's are. The scores are computed
whole; a ``BlockMask`` tells which blocks of them a mask leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
MaskFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreFunction = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """What ``flex_attention`` returns beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithms of the softmaxes' sums, and the greatest scores, if requested."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Masks nothing."""
    return pellucid.ones((), dtype=pellucid.bool, device=batch.device)


def and_masks(*mask_mods: MaskFunction) -> MaskFunction:
    """What all of the masks leave."""

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        found = noop_mask(b, h, q, kv)
        for mask_mod in mask_mods:
            found = found & mask_mod(b, h, q, kv)
        return found

    return mask


def or_masks(*mask_mods: MaskFunction) -> MaskFunction:
    """What any of the masks leaves."""

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        found = ~noop_mask(b, h, q, kv)
        for mask_mod in mask_mods:
            found = found | mask_mod(b, h, q, kv)
        return found

    return mask


def _indices(*sizes: int) -> list[Tensor]:
    """Of each dim, broadcasting over the others."""
    rank = len(sizes)
    return [
        pellucid.arange(n).view([n if d == k else 1 for d in range(rank)])
        for k, n in enumerate(sizes)
    ]


def create_mask(
    mod_fn: MaskFunction,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """The mask whole: bools of shape (B, H, Q_LEN, KV_LEN)."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*_indices(*sizes)).expand(sizes)


class BlockMask:
    """A mask, and for each block of queries the blocks of keys that it leaves.

    ``kv_num_blocks`` counts them, (B, H, blocks of queries), and ``kv_indices`` has
    their indices first, (B, H, blocks of queries, blocks of keys).
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        block_size: tuple[int, int],
        mask_mod: MaskFunction,
    ) -> None:
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.BLOCK_SIZE = block_size
        self.mask_mod = mask_mod

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, Q_LEN, KV_LEN)."""
        return (*self.kv_num_blocks.shape[:2], *self.seq_lengths)

    def to_dense(self) -> Tensor:
        """1 for each block that is left, (B, H, blocks of queries, blocks of keys)."""
        places = pellucid.arange(self.kv_indices.size(-1))
        is_named = (places < self.kv_num_blocks.unsqueeze(-1)).int()
        none = pellucid.zeros_like(self.kv_indices, dtype=pellucid.int32)
        return none.scatter(-1, self.kv_indices.long(), is_named)

    def numel(self) -> int:
        """How many scores the mask is of."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Which part of the scores, in percent, is in blocks that are skipped."""
        blocks = self.kv_indices.numel()
        return 100.0 * (1.0 - int(self.kv_num_blocks.sum()) / blocks)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"

    __repr__ = __str__


def create_block_mask(
    mask_mod: MaskFunction,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """The mask ``mask_mod(batch, head, query, key)`` by blocks; None for B or H says
    that it is the same for all.

    Example::

        causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 512, 512)
        flex_attention(query, key, value, block_mask=causal)
    """
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    counts = [-(-n // step) for n, step in zip((Q_LEN, KV_LEN), size, strict=True)]
    rest = [0, counts[1] * size[1] - KV_LEN, 0, counts[0] * size[0] - Q_LEN]
    whole = pellucid.constant_pad_nd(mask, rest, False)
    blocks = whole.view(*mask.shape[:2], counts[0], size[0], counts[1], size[1])
    left = blocks.any(-1).any(3)
    order = pellucid.argsort(left.int(), dim=-1, descending=True, stable=True)
    number = left.sum(-1).to(pellucid.int32)
    return BlockMask((Q_LEN, KV_LEN), number, order.int(), size, mask_mod)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreFunction | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """``softmax(score_mod(query keyᵀ scale)) value`` over keys that the mask leaves.

    ``score_mod(score, batch, head, query, key)`` replaces each score. Queries without
    a key get 0. Shapes are (batch, heads, length, features); ``enable_gqa`` lets
    several heads of the queries share one of the keys. With ``return_lse`` the
    logarithms of the softmaxes' sums are returned too, with ``return_aux`` an
    ``AuxOutput``. Raises ValueError for other shapes.
    """
    if any(t.dim() != 4 for t in (query, key, value)):
        raise ValueError(
            "flex_attention takes (batch, heads, length, features), not "
            f"{query.dim()}, {key.dim()} and {value.dim()} dims"
        )
    heads, shared = query.size(1), key.size(1)
    if heads != shared:
        if not enable_gqa or heads % shared:
            raise ValueError(
                f"{heads} heads of queries and {shared} of keys: enable_gqa=True lets "
                "several share one, if the numbers divide"
            )
        key, value = (t.repeat_interleave(heads // shared, 1) for t in (key, value))
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query @ key.mT) * factor
    places = _indices(*scores.shape)
    if score_mod is not None:
        scores = score_mod(scores, *places).to(query.dtype)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.mask_mod(*places), -math.inf)
    sums = scores.logsumexp(-1)
    steady = sums.masked_fill(sums == -math.inf, 0.0).unsqueeze(-1)
    result = (scores - steady).exp() @ value
    if return_aux is not None:
        greatest = scores.amax(-1) if return_aux.max_scores else None
        return result, AuxOutput(sums if return_aux.lse else None, greatest)
    return (result, sums) if return_lse else result
