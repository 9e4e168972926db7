"""Datasets, samplers and the DataLoader."""

from typing import Any

from pellucid._package.calls.submodules import submodules
from pellucid.utils.data._collate import default_collate, default_convert
from pellucid.utils.data.dataloader import DataLoader, get_worker_info
from pellucid.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from pellucid.utils.data.distributed import DistributedSampler
from pellucid.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "argument_validation",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "random_split",
    "runtime_validation",
    "runtime_validation_disabled",
]


def _pipes(name: str) -> Any:
    """Imports pipes at first use."""
    if name in __all__:
        from importlib import import_module

        inner = "datapipe" if "Data" in name else "_decorator"
        import_module("pellucid.utils.data.datapipes")
        module = import_module(f"pellucid.utils.data.datapipes.{inner}")
        return getattr(module, name)
    raise AttributeError(f"module 'pellucid.utils.data' has no attribute {name!r}")


__getattr__ = submodules(__name__, _pipes)
