"""``torch.ao.nn.sparse.quantized.dynamic``: ``Linear`` whose inputs are floats."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor, nn
from pellucid.ao._quantized.parts import split
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn.quantized.weights import quantized_weight
from pellucid.ao.nn.sparse.quantized.linear import Linear as StaticLinear
from pellucid.ao.nn.sparse.quantized.linear import require_observed
from pellucid.ao.nn.sparse.quantized.utils import LinearBlockSparsePattern


class Linear(StaticLinear):
    """``torch.ao.nn.quantized.dynamic.Linear`` with a weight of sparse blocks. Inputs
    use all 256 values: products do not saturate.

    >>> layer = torch.ao.nn.sparse.quantized.dynamic.Linear(8, 2, 1, 4)
    >>> layer(torch.ones(3, 8)).shape
    torch.Size([3, 2])
    """

    _op_type = "sparse_dynamic"

    def forward(self, x: Tensor) -> Any:
        """``x``: float32 ``[..., in_features]``"""
        return called("linear_dynamic", x, self._packed_params._packed_params, False)

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        nn.Module._save_to_state_dict(self, destination, prefix, keep_vars)
        destination[prefix + "op_type"] = self._op_type

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        *rest: Any,
    ) -> None:
        found = state_dict.pop(prefix + "op_type", None)
        if found != self._op_type:
            raise RuntimeError(
                f"the state dict is of a layer of type {found}, not {self._op_type}"
            )
        nn.Module._load_from_state_dict(
            self, state_dict, prefix, local_metadata, False, *rest
        )

    def _get_name(self) -> str:
        return "SparseQuantizedDynamicLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"qscheme={split(self.weight()).scheme}"
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Converts an ``nn.Linear``, by the weight observer of its qconfig; None is
        ``default_dynamic_qconfig``. ``LinearBlockSparsePattern`` gives the blocks.
        """
        from pellucid.ao.quantization.qconfig import default_dynamic_qconfig

        require_observed(mod)
        observer = (mod.qconfig or default_dynamic_qconfig).weight()
        observer(mod.weight)
        weight = quantized_weight(mod.weight.float(), observer)
        return cls._holding(mod, weight, mod.bias)

    @classmethod
    def _like(cls, mod: Any) -> Any:
        shape = LinearBlockSparsePattern.block_size()
        return cls(mod.in_features, mod.out_features, *shape)


__all__ = ["Linear"]
