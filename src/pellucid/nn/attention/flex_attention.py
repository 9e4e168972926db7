"""Attention with a function applied to each score and masks given as functions.

The functions are called once with all scores and with indices that broadcast to them,
so they must be elementwise, as PyTorch's are. All scores are materialised; a
``BlockMask`` (``_block_mask.py``) records which blocks of them are unmasked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from typing import Any, Literal, NamedTuple, TypedDict

import pellucid
from pellucid import Tensor
from pellucid.nn.attention._block_mask import (
    DEFAULT_BLOCK_SIZE,
    BlockMask,
    MaskFunction,
    add_write_orders,
    block_pair,
    create_sparse_mask,
    noop_mask,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = DEFAULT_BLOCK_SIZE
ScoreFunction = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """Which auxiliary outputs ``flex_attention`` returns beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The log-sum-exps of the scores, and their maxima, if requested."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def and_masks(*mask_mods: MaskFunction) -> MaskFunction:
    """The intersection of masks: unmasked where all of them are."""

    _check_are_masks(mask_mods)

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        found = noop_mask(b, h, q, kv)
        for mask_mod in mask_mods:
            found = found & mask_mod(b, h, q, kv)
        return found

    return mask


def or_masks(*mask_mods: MaskFunction) -> MaskFunction:
    """The union of masks: unmasked where any of them is."""

    _check_are_masks(mask_mods)

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        found = ~noop_mask(b, h, q, kv)
        for mask_mod in mask_mods:
            found = found | mask_mod(b, h, q, kv)
        return found

    return mask


def _check_are_masks(mask_mods: tuple[Any, ...]) -> None:
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


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
    """The materialised mask: bools of shape (B, H, Q_LEN, KV_LEN)."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*_indices(*sizes)).expand(sizes)


def create_block_mask(
    mask_mod: MaskFunction,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The block mask of ``mask_mod(batch, head, query, key)``; None for B or H means
    that all batches or heads share it. ``separate_full_blocks`` records full blocks
    separately; ``compute_dq_write_order`` adds the order in which blocks add to
    gradients, by descending keys if ``dq_kv_order``. Raises TypeError for an object
    that is not callable and AssertionError for a wrong number of parameters.

    Example::

        causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 512, 512)
        flex_attention(query, key, value, block_mask=causal)
    """
    _check_is_mask(mask_mod)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    size = block_pair(BLOCK_SIZE)
    found = create_sparse_mask(mask, size, mask_mod, separate_full_blocks)
    if compute_dq_write_order:
        add_write_orders(found, dq_kv_order)
    return found


def _check_is_mask(mask_mod: MaskFunction) -> None:
    if not callable(mask_mod):
        raise TypeError(f"{mask_mod!r} is not a callable object: give a mask function")
    try:
        given = signature(mask_mod).parameters.values()
    except ValueError:  # a builtin
        return
    if any(p.kind is p.VAR_POSITIONAL for p in given):
        return
    needed = [p for p in given if p.default is p.empty and p.kind <= 1]
    if len(needed) != 4:
        raise AssertionError(
            "a mask is a function of four numbers, (batch, head, query, key), and this "
            f"one takes {len(needed)}"
        )


def _check_operands(query: Tensor, key: Tensor, value: Tensor, shares: bool) -> None:
    if any(t.dim() != 4 for t in (query, key, value)):
        raise NotImplementedError(
            "flex_attention takes (batch, heads, length, features), not "
            f"{query.dim()}, {key.dim()} and {value.dim()} dims"
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"queries have {query.size(-1)} features and keys {key.size(-1)}: the "
            "numbers must be equal"
        )
    heads, shared = query.size(1), key.size(1)
    if heads != shared and (not shares or heads % shared):
        raise ValueError(
            f"{heads} heads of queries and {shared} of keys: enable_gqa=True lets "
            "several share one, if the numbers divide"
        )


def _check_options(
    kernel_options: Any, return_lse: bool, return_aux: AuxRequest | None
) -> None:
    if kernel_options and "OUTPUT_LOGSUMEXP" in kernel_options:
        raise AssertionError("OUTPUT_LOGSUMEXP must not be in kernel_options")
    if return_lse and return_aux is not None:
        raise ValueError(
            "return_lse and return_aux cannot both be given: return_aux=AuxRequest("
            "lse=True) includes the first"
        )


def _check_lengths(mask: BlockMask, q_length: int, kv_length: int) -> None:
    made_for = mask.seq_lengths
    if q_length > made_for[0] or kv_length > made_for[1]:
        advice = "create a BlockMask for these lengths"
    elif (q_length, kv_length) != tuple(made_for):
        advice = "crop it by block_mask._adjust(q_len, kv_len), or create another"
    else:
        return
    raise ValueError(
        f"the BlockMask was created for shape {mask.shape}, and there are {q_length} "
        f"queries and {kv_length} keys: {advice}"
    )


class FlexKernelOptions(TypedDict, total=False):
    """Checks ``kernel_options``, which tile PyTorch's GPU kernels and have no effect
    here.
    """

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: Literal["AUTO", "TRITON", "FLASH", "TRITON_DECODE"]


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreFunction | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """``softmax(score_mod(query keyᵀ scale)) value`` over the unmasked keys.

    ``score_mod(score, batch, head, query, key)`` replaces each score. Queries whose
    keys are all masked get 0. Shapes are (batch, heads, length, features);
    ``enable_gqa`` lets several query heads share one key head. With ``return_lse`` the
    log-sum-exps are returned too, with ``return_aux`` an ``AuxOutput``. Raises
    NotImplementedError for other ranks, ValueError for sizes that do not match.
    """
    _check_operands(query, key, value, enable_gqa)
    _check_options(kernel_options, return_lse, return_aux)
    groups = query.size(1) // key.size(1)
    if groups != 1:
        key, value = (t.repeat_interleave(groups, 1) for t in (key, value))
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query @ key.mT) * factor
    places = _indices(*scores.shape)
    if score_mod is not None:
        scores = score_mod(scores, *places).to(query.dtype)
    if block_mask is not None:
        _check_lengths(block_mask, *scores.shape[-2:])
        scores = scores.masked_fill(~block_mask.mask_mod(*places), -math.inf)
    sums = scores.logsumexp(-1)
    steady = sums.masked_fill(sums == -math.inf, 0.0).unsqueeze(-1)
    result = (scores - steady).exp() @ value
    if return_aux is not None:
        greatest = scores.amax(-1) if return_aux.max_scores else None
        return result, AuxOutput(sums if return_aux.lse else None, greatest)
    return (result, sums) if return_lse else result
