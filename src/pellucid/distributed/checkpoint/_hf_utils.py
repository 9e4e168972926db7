"""Names in checkpoints of safetensors files, as transformers and PyTorch write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

import pellucid as torch
from pellucid.safetensors import safe_open

_metadata_fn = "model.safetensors.index.json"

SUFFIX = ".safetensors"
CUSTOM_METADATA_KEY = "DCP_SHARDING_INFO"
SAVED_OFFSETS_KEY = "saved_offsets"
DCP_VERSION_KEY = "DCP_VERSION"
HF_DCP_VERSION = 1.0
FORMAT_KEY = "format"
FORMAT_VALUE = "pt"
SHARDED_DIR_NAME = "sharded"


@dataclass
class _HFStorageInfo:
    """The location of a stored part."""

    relative_path: str
    shape: torch.Size
    dtype: torch.dtype


def _gen_file_name(
    index: int, largest_index: int, shard_index: int | None = None
) -> str:
    """The name of a file, of a rank if ``shard_index`` is given."""
    prefix = "" if shard_index is None else f"shard-{shard_index:05}-"
    return f"{prefix}model-{index:05}-of-{largest_index:05}{SUFFIX}"


def stored_parts(
    paths: Iterable[str],
) -> Iterator[tuple[str, str, torch.Tensor, list[int]]]:
    """The file, name, values and offset of all parts in the safetensors files among
    ``paths``.
    """
    for path in sorted(path for path in paths if path.endswith(SUFFIX)):
        with safe_open(path) as file:
            notes = (file.metadata() or {}).get(CUSTOM_METADATA_KEY)
            offsets = json.loads(notes) if notes else {}
            for key in file.keys():  # noqa: SIM118 - a method of the format
                tensor = file.get_tensor(key)
                whole = {SAVED_OFFSETS_KEY: [0] * tensor.ndim}
                offset = offsets.get(key, whole)[SAVED_OFFSETS_KEY]
                yield PurePath(path).name, key, tensor, offset
