"""``Linear`` whose int8 weight has few blocks that are not 0.

The weight is stored and multiplied as a dense one, so results are those of
``torch.ao.nn.quantized.Linear``; the shape of its blocks is kept for state dicts.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao.nn.quantized import linear as dense


class LinearPackedParams(dense.LinearPackedParams):
    """A packed weight and bias, and the shape of the weight's blocks."""

    def __init__(
        self,
        row_block_size: int = 1,
        col_block_size: int = 4,
        dtype: Any = pellucid.qint8,
    ) -> None:
        if dtype is not pellucid.qint8:
            raise NotImplementedError(
                f"a sparse quantized Linear has a weight of torch.qint8, not {dtype}"
            )
        super().__init__(dtype)
        self.block_size = row_block_size, col_block_size

    def set_weight_bias(
        self,
        weight: Tensor,
        bias: Tensor | None,
        row_block_size: int | None = None,
        col_block_size: int | None = None,
    ) -> None:
        """Packs both; blocks keep their shape if none is given."""
        super().set_weight_bias(weight, bias)
        rows, columns = self.block_size
        self.block_size = row_block_size or rows, col_block_size or columns

    def _weight_bias(self) -> tuple[Any, ...]:
        return (*super()._weight_bias(), *self.block_size)


class Linear(dense.Linear):
    """``torch.ao.nn.quantized.Linear`` with a weight of sparse blocks.

    >>> layer = torch.ao.nn.sparse.quantized.Linear(8, 2, 1, 4)
    >>> x = torch.quantize_per_tensor(torch.ones(3, 8), 0.1, 0, torch.quint8)
    >>> layer(x).shape
    torch.Size([3, 2])
    """

    _packed_params: LinearPackedParams

    def __init__(
        self,
        in_features: int,
        out_features: int,
        row_block_size: int,
        col_block_size: int,
        bias: bool = True,
        dtype: Any = pellucid.qint8,
    ) -> None:
        packed = LinearPackedParams(row_block_size, col_block_size, dtype)
        super().__init__(in_features, out_features, bias, dtype)
        packed.set_weight_bias(*super()._weight_bias())
        self._packed_params = packed

    def _weight_bias(self) -> tuple[Any, ...]:
        return self._packed_params._weight_bias()

    def set_weight_bias(
        self,
        w: Tensor,
        b: Tensor | None,
        row_block_size: int | None = None,
        col_block_size: int | None = None,
    ) -> None:
        """Replaces both; blocks keep their shape if none is given."""
        self._packed_params.set_weight_bias(w, b, row_block_size, col_block_size)

    def _get_name(self) -> str:
        return "SparseQuantizedLinear"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Converts an observed ``nn.Linear``, which has the shape of its blocks in
        ``sparse_params["sparse_block_shape"]``: sparsifiers leave it there.
        AssertionError for other layers, and without a qconfig or a shape.
        """
        require_observed(mod)
        return super().from_float(mod)

    @classmethod
    def _like(cls, mod: Any) -> Any:
        shape = getattr(mod, "sparse_params", {}).get("sparse_block_shape")
        if not isinstance(shape, tuple | list) or len(shape) != 2:
            raise AssertionError(
                'Expecting the Linear to have sparse_params["sparse_block_shape"], two '
                'sizes: call sparsifier.squash_mask(params_to_save=("sparse_block_shape'
                '",))'
            )
        return cls(mod.in_features, mod.out_features, *shape)


def require_observed(mod: Any) -> None:
    """AssertionError unless it is an ``nn.Linear`` with a qconfig."""
    if type(mod) is not nn.Linear:
        raise AssertionError(
            f"a sparse Linear is made of nn.Linear, not of {type(mod).__name__}"
        )
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
