"""Datasets, samplers and the DataLoader."""

from typing import Any

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


def __getattr__(name: str) -> Any:
    """Imports pipes at first use."""
    from importlib import import_module

    if name.startswith("__"):
        raise AttributeError(name)
    if name in ("datapipes", "graph", "graph_settings"):
        return import_module(f"pellucid.utils.data.{name}")
    if name in __all__:
        inner = "datapipe" if "Data" in name else "_decorator"
        import_module("pellucid.utils.data.datapipes")
        module = import_module(f"pellucid.utils.data.datapipes.{inner}")
        return getattr(module, name)
    raise AttributeError(f"module 'pellucid.utils.data' has no attribute {name!r}")
