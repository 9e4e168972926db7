"""Attention over a ragged cache of keys and values that are stored as int8.

Sequences of different lengths are packed in one jagged tensor; each token has a scale
of its own, which is jagged too. A quarter of the memory of float32, and no padding.
docs/rfc/nested-quantized.md describes the proposed extensions.

    python examples/ragged_kv_cache.py
"""

from typing import NamedTuple

import pellucid as torch
from pellucid import Tensor
from pellucid.nn import functional as F

HEADS, WIDTH = 4, 64


class Quantized(NamedTuple):
    """Rows (B, j, D) as integers, and the scale of each row (B, j, 1)."""

    integers: Tensor
    scales: Tensor

    def dequantize(self) -> Tensor:
        """The rows in float32."""
        return self.integers.float() * self.scales

    def num_bytes(self) -> int:
        """Memory of the values."""
        parts = (self.integers.values(), self.scales.values())
        return sum(part.numel() * part.element_size() for part in parts)


def quantized(rows: Tensor) -> Quantized:
    """Jagged rows to int8, symmetric, one scale per token; zero rows have scale 1."""
    largest = rows.abs().amax(-1, keepdim=True)
    scales = torch.where(largest > 0, largest / 127, torch.ones_like(largest))
    return Quantized((rows / scales).round().to(torch.int8), scales)


def heads(rows: Tensor) -> Tensor:
    """(B, j, D) as (B, heads, j, D / heads)."""
    return rows.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def attend(queries: Tensor, keys: Quantized, values: Quantized) -> Tensor:
    """Each sequence's one query over its own cache: (B, 1, D)."""
    query = torch.nested.as_nested_tensor([*queries], layout=torch.jagged)
    attended = F.scaled_dot_product_attention(
        heads(query), heads(keys.dequantize()), heads(values.dequantize())
    )
    return torch.stack([*attended.transpose(1, 2).flatten(2).unbind()])


def main() -> None:
    torch.manual_seed(0)
    lengths = [3, 180, 47, 512, 9]
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    k, v = (
        torch.nested.nested_tensor_from_jagged(
            torch.randn(sum(lengths), WIDTH), offsets
        )
        for _ in "kv"
    )
    queries = torch.randn(len(lengths), 1, WIDTH)
    keys, values = quantized(k), quantized(v)
    with torch.no_grad():
        attended = attend(queries, keys, values)
        exact = torch.cat(
            [
                F.scaled_dot_product_attention(*map(_heads_of, (q, own_k, own_v)))
                .transpose(0, 1)
                .flatten(1)[None]
                for q, own_k, own_v in zip(queries, k.unbind(), v.unbind(), strict=True)
            ]
        )
    floats = 2 * 4 * k.numel()
    padded = 2 * 4 * len(lengths) * max(lengths) * WIDTH
    stored = keys.num_bytes() + values.num_bytes()
    error = (attended - exact).abs().max() / exact.abs().max()
    print(f"bytes: {stored} int8, {floats} float32, {padded} padded float32")
    print(f"largest error: {float(error):.2%} of the largest element")


def _heads_of(rows: Tensor) -> Tensor:
    return rows.unflatten(-1, (HEADS, -1)).transpose(0, 1)


if __name__ == "__main__":
    main()
