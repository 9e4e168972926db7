"""``Embedding`` and ``EmbeddingBag`` with eight-bit rows."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.parts import split
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn.quantized.printing import WithoutChildren
from pellucid.ao.nn.quantized.weights import observed_weight


class EmbeddingPackedParams(nn.Module):
    """The base: packed rows of integers, saved unpacked."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, dtype: Any = pellucid.quint8
    ) -> None:
        super().__init__()
        if dtype is not pellucid.quint8:
            raise NotImplementedError(
                f"Unsupported dtype {dtype}: quantized embeddings are torch.quint8"
            )
        self.dtype = dtype
        ones, none = pellucid.ones(num_embeddings), pellucid.zeros(num_embeddings)
        self.set_weight(
            pellucid._empty_per_channel_affine_quantized(
                [num_embeddings, embedding_dim],
                scales=ones,
                zero_points=none,
                axis=0,
                dtype=dtype,
            )
        )

    def set_weight(self, weight: Tensor) -> None:
        """Packs the rows."""
        self._packed_weight = called("embedding_bag_prepack", weight)

    def _weight(self) -> Tensor:
        found: Tensor = self._packed_weight.unpack()
        return found

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        *rest: Any,
    ) -> None:
        for name in ("dtype", "_packed_weight"):
            if prefix + name not in state_dict:
                rest[0].append(prefix + name)
                return
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)


class Embedding(WithoutChildren):
    """``nn.Embedding`` with rows of eight bits, each with its own scale.

    >>> layer = torch.ao.nn.quantized.Embedding(10, 3)
    >>> layer(torch.tensor([1, 2])).shape
    torch.Size([2, 3])
    """

    _float_module: Any = nn.Embedding

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        dtype: Any = pellucid.quint8,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.dtype = dtype
        self._packed_params = EmbeddingPackedParams(
            num_embeddings, embedding_dim, dtype
        )
        if _weight is not None:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim"
                )
            self.set_weight(_weight)

    def forward(self, indices: Tensor) -> Any:
        """The rows of ``indices``, float."""
        return called("embedding_byte", self._packed_params._packed_weight, indices)

    def weight(self) -> Tensor:
        """The quantized rows."""
        return self._packed_params._weight()

    def set_weight(self, w: Tensor) -> None:
        """Replaces the rows."""
        self._packed_params.set_weight(w)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, "
            f"embedding_dim={self.embedding_dim}, dtype={self.dtype}, "
            f"qscheme={split(self.weight()).scheme}"
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Converts a float layer, by the observer of its rows:
        ``float_qparams_weight_only_qconfig``."""
        return cls._holding(mod, observed_weight(mod, mod.weight))

    @classmethod
    def from_reference(cls, ref_embedding: Any) -> Any:
        """Converts a reference layer."""
        return cls._holding(ref_embedding, ref_embedding.get_quantized_weight())

    @classmethod
    def _holding(cls, mod: Any, weight: Tensor) -> Any:
        made = cls(mod.num_embeddings, mod.embedding_dim)
        made._take(mod)
        made.set_weight(weight)
        return made

    def _take(self, mod: Any) -> None:
        """Further arguments from a float layer."""


class EmbeddingBag(Embedding):
    """``nn.EmbeddingBag`` with rows of eight bits, each with its own scale."""

    _float_module = nn.EmbeddingBag

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "sum",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        dtype: Any = pellucid.quint8,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.include_last_offset = mode, include_last_offset
        self.pruned_weights = False

    def forward(
        self,
        indices: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
        compressed_indices_mapping: Tensor | None = None,
    ) -> Any:
        """The sums of the rows of each bag, float."""
        if compressed_indices_mapping is not None:
            raise NotImplementedError("EmbeddingBag with pruned rows is not supported")
        return called(
            "embedding_bag_byte",
            self._packed_params._packed_weight,
            indices,
            offsets,
            mode=0,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
        )

    def _take(self, mod: Any) -> None:
        self.mode, self.include_last_offset = mod.mode, mod.include_last_offset
        if mod.mode != "sum":
            raise NotImplementedError(
                f"a quantized EmbeddingBag sums; mode={mod.mode!r} is not supported"
            )
