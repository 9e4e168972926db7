"""``QuantizedHuggingFaceStorageReader``: safetensors files whose weights are quantized
by blocks, each with a scale.
"""

from __future__ import annotations

from typing import Any

import pellucid as torch
from pellucid.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
from pellucid.distributed.checkpoint.metadata import (
    Metadata,
    MetadataIndex,
    TensorStorageMetadata,
)
from pellucid.safetensors import safe_open

__all__ = ["QuantizedHuggingFaceStorageReader"]

_SCALE = "_scale_inv"


class QuantizedHuggingFaceStorageReader(HuggingFaceStorageReader):
    """Multiplies each block of ``block_size`` by ``block_size`` elements of a matrix
    ``name`` by its element of ``name + "_scale_inv"``, and gives it as
    ``target_dtype``. Tensors without scales are read as they are. A quantized tensor is
    in one file; its scales may be in another.
    """

    def __init__(
        self,
        path: str,
        thread_count: int = 1,
        target_dtype: torch.dtype = torch.float32,
        block_size: int = 128,
    ) -> None:
        super().__init__(path, thread_count)
        self.target_dtype, self.block_size = target_dtype, block_size
        self._scale_files: dict[str, str] = {}

    def read_metadata(self, *args: Any) -> Metadata:
        """What the folder has: tensors with scales have the target's dtype."""
        metadata = super().read_metadata(*args)
        known = metadata.state_dict_metadata
        for name, facts in known.items():
            if name + _SCALE in known and isinstance(facts, TensorStorageMetadata):
                facts.properties.dtype = self.target_dtype
        for index, info in metadata.storage_data.items():
            if isinstance(index, MetadataIndex) and index.fqn.endswith(_SCALE):
                name = index.fqn.removesuffix(_SCALE)
                self._scale_files[name] = info.relative_path
        return metadata

    def _tensor_of(self, file: Any, name: str) -> Any:
        stored = super()._tensor_of(file, name)
        if name not in self._scale_files:
            return stored
        with safe_open(self._path_of(self._scale_files[name])) as scale_file:
            scales = scale_file.get_tensor(name + _SCALE)
        return self._dequantized(name, stored, scales)

    def _dequantized(self, name: str, stored: Any, scales: Any) -> Any:
        size = self.block_size
        expected = tuple(-(-length // size) for length in stored.shape)
        if stored.dim() != 2 or tuple(scales.shape) != expected:
            raise ValueError(
                f"{name} of shape {list(stored.shape)} needs scales of shape "
                f"{list(expected)}, one for each block of {size} x {size}; they have "
                f"{list(scales.shape)}"
            )
        scales = scales.to(torch.float32)
        for dim in range(2):
            scales = scales.repeat_interleave(size, dim).narrow(
                dim, 0, stored.shape[dim]
            )
        return (stored.to(torch.float32) * scales).to(self.target_dtype)
