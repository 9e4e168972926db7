"""Causal masks for ``scaled_dot_product_attention`` that are not materialised."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn.functional import scaled_dot_product_attention

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner where the diagonal of a mask that is not square begins or ends."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask of ``seq_len_q`` queries and ``seq_len_kv`` keys, for
    ``attn_mask=``; it is materialised only if attention needs it.

    A query attends to the keys up to its own position, counted from the first query
    and key (``UPPER_LEFT``) or from the last ones (``LOWER_RIGHT``).
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        assert isinstance(variant, CausalVariant), variant
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when "
                "seq_len_q > seq_len_kv!",
                stacklevel=2,
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as bools (seq_len_q, seq_len_kv): True where a query may attend."""
        is_lower = self.variant is CausalVariant.LOWER_RIGHT
        shift = self.seq_len_kv - self.seq_len_q if is_lower else 0
        size = self.seq_len_q, self.seq_len_kv
        return pellucid.ones(size, dtype=pellucid.bool, device=device).tril(shift)

    @staticmethod
    def _dispatch(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: CausalBias,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Attention with this mask. Raises ValueError together with ``is_causal``."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        is_square = attn_mask.seq_len_q == attn_mask.seq_len_kv
        by_flag = is_square or attn_mask.variant is CausalVariant.UPPER_LEFT
        return scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=None if by_flag else attn_mask._materialize(query.device),
            dropout_p=dropout_p,
            is_causal=by_flag,
            scale=scale,
            enable_gqa=enable_gqa,
        )

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Any,
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if func is scaled_dot_product_attention:
            return cls._dispatch(*args, **named)
        return super().__torch_function__(func, types, args, named)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """The mask (queries, keys) whose first query attends only to the first key."""
    assert len(size) == 2, "causal_upper_left only supports 2D tensors"
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask (queries, keys) whose last query attends to all keys."""
    assert len(size) == 2, "causal_lower_right only supports 2D tensors"
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
