"""Joins the parts in ranks' safetensors files to whole tensors."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pellucid as torch
from pellucid.distributed.checkpoint._hf_utils import (
    _gen_file_name,
    _metadata_fn,
    stored_parts,
)
from pellucid.distributed.checkpoint.utils import narrow_tensor_by_index
from pellucid.safetensors import save_file


def consolidate_safetensors_files(
    input_dir: str,
    output_dir: str,
    fqn_to_index_mapping: dict[str, int],
    num_threads: int = 1,
) -> None:
    """Writes the tensors whose parts are in the files of a folder to files of another
    one, whose numbers ``fqn_to_index_mapping`` has, and the index of the files.
    """
    last = max(fqn_to_index_mapping.values())
    names = {fqn: _gen_file_name(k, last) for fqn, k in fqn_to_index_mapping.items()}
    parts: dict[str, list[Any]] = {}
    for _, fqn, tensor, offset in stored_parts(_files_in(input_dir)):
        parts.setdefault(fqn, []).append((tensor, offset))
    os.makedirs(output_dir, exist_ok=True)

    def write(name: str) -> int:
        whole = {fqn: _joined(parts[fqn]) for fqn in parts if names[fqn] == name}
        save_file(whole, os.path.join(output_dir, name))
        return sum(int(tensor.nbytes) for tensor in whole.values())

    with ThreadPoolExecutor(num_threads) as threads:
        total = sum(threads.map(write, dict.fromkeys(names[fqn] for fqn in parts)))
    index = {"metadata": {"total_size": total}, "weight_map": names}
    with open(os.path.join(output_dir, _metadata_fn), "w") as file:
        json.dump(index, file, indent=2)


def _files_in(folder: str) -> list[str]:
    return [os.path.join(folder, name) for name in os.listdir(folder)]


def _joined(parts: list[tuple[torch.Tensor, list[int]]]) -> torch.Tensor:
    """The tensor of parts at offsets."""
    ends = [[o + n for o, n in zip(at, t.shape, strict=True)] for t, at in parts]
    whole = parts[0][0].new_empty([max(dim) for dim in zip(*ends, strict=True)])
    for tensor, offset in parts:
        narrow_tensor_by_index(whole, offset, tensor.shape).copy_(tensor)
    return whole
