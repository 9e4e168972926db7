"""Masks by norms of blocks, and band masks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao.pruning.base_sparsifier import BaseSparsifier
from pellucid.nn import functional as F

__all__ = ["NearlyDiagonalSparsifier", "WeightNormSparsifier"]

_NORMS: dict[int, Callable[[Tensor], Tensor]] = {1: Tensor.abs, 2: Tensor.square}


class WeightNormSparsifier(BaseSparsifier):
    """Removes the blocks of a matrix with the smallest mean magnitude: the fraction
    ``sparsity_level`` of all blocks.

    Blocks have ``sparse_block_shape`` (rows, columns). In a removed block
    the ``zeros_per_block`` smallest elements become 0; by default all. Magnitudes are
    squares, with ``norm=1`` absolute values, or the results of a function ``norm``.
    """

    def __init__(
        self,
        sparsity_level: float = 0.5,
        sparse_block_shape: tuple[int, int] = (1, 4),
        zeros_per_block: int | None = None,
        norm: Callable[[Tensor], Tensor] | int | None = None,
    ) -> None:
        if zeros_per_block is None:
            zeros_per_block = math.prod(sparse_block_shape)
        super().__init__(
            {
                "sparsity_level": sparsity_level,
                "sparse_block_shape": sparse_block_shape,
                "zeros_per_block": zeros_per_block,
            }
        )
        order = 2 if norm is None else norm
        if not callable(order) and order not in _NORMS:
            raise NotImplementedError(f"norm is 1, 2 or a function, not {order!r}")
        self.norm_fn = order if callable(order) else _NORMS[order]

    def update_mask(  # type: ignore[override]
        self,
        module: Any,
        tensor_name: str,
        sparsity_level: float,
        sparse_block_shape: tuple[int, int],
        zeros_per_block: int,
        **kwargs: Any,
    ) -> None:
        """Masks the smallest blocks of the weight under its present mask."""
        whole = math.prod(sparse_block_shape)
        if not 0 <= zeros_per_block <= whole:
            raise ValueError(
                f"{zeros_per_block} zeros in a block of {whole} elements; give 0 to "
                f"{whole}"
            )
        weight = getattr(module, tensor_name).detach()
        mask = module.parametrizations[tensor_name][0].mask
        sizes = self.norm_fn(weight.reshape(-1, weight.shape[-1]))
        keeps = _kept_blocks(sizes, sparsity_level, sparse_block_shape)
        if zeros_per_block < whole:
            keeps |= _kept_elements(sizes, sparse_block_shape, zeros_per_block)
        mask.copy_(keeps.view_as(mask))


def _kept_blocks(sizes: Tensor, level: float, block: tuple[int, int]) -> Tensor:
    """Which elements are in a remaining block."""
    means = F.avg_pool2d(sizes[None, None], block, block, ceil_mode=True)[0, 0]
    count = min(max(round(level * means.numel()), 0), means.numel())
    keeps = pellucid.ones(means.numel(), dtype=pellucid.bool, device=sizes.device)
    keeps[means.flatten().argsort(stable=True)[:count]] = False
    wide = keeps.view_as(means).repeat_interleave(block[0], 0)
    rows, columns = sizes.shape
    return wide.repeat_interleave(block[1], 1)[:rows, :columns].contiguous()


def _kept_elements(sizes: Tensor, block: tuple[int, int], zeros: int) -> Tensor:
    """Which elements are not among the ``zeros`` smallest of their block."""
    rows, columns = sizes.shape
    missing = (-columns % block[1], -rows % block[0])
    # Elements beyond the matrix count as greatest, so they are never masked.
    padded = F.pad(sizes, (0, missing[0], 0, missing[1]), value=math.inf)
    parts = padded.unflatten(1, (-1, block[1])).unflatten(0, (-1, block[0]))
    blocks = parts.transpose(1, 2).flatten(2)
    keeps = pellucid.ones_like(blocks, dtype=pellucid.bool)
    keeps.scatter_(2, blocks.argsort(dim=2, stable=True)[..., :zeros], False)
    back = keeps.unflatten(2, block).transpose(1, 2)
    return back.flatten(2).flatten(0, 1)[:rows, :columns]


class NearlyDiagonalSparsifier(BaseSparsifier):
    """Keeps the ``nearliness`` diagonals of a matrix around its main one: an odd
    number.
    """

    def __init__(self, nearliness: int = 1) -> None:
        super().__init__({"nearliness": nearliness})

    def update_mask(  # type: ignore[override]
        self, module: nn.Module, tensor_name: str, nearliness: int, **kwargs: Any
    ) -> None:
        """The mask of the band."""
        mask: Any = module.parametrizations[tensor_name][0].mask
        if nearliness % 2 == 0:
            raise ValueError(f"nearliness is an odd number, not {nearliness}")
        if nearliness // 2 >= min(mask.shape):
            raise ValueError(
                f"nearliness {nearliness} is too large for a matrix of shape "
                f"{tuple(mask.shape)}"
            )
        far = nearliness // 2
        mask.copy_(pellucid.ones_like(mask).tril(far).triu(-far))
