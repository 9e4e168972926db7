"""Applies seeds, shuffling and sharding to all pipes of a graph."""

from __future__ import annotations

import warnings
from typing import Any

import pellucid
from pellucid.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
from pellucid.utils.data.graph import DataPipeGraph, traverse_dps

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: DataPipeGraph) -> list[Any]:
    """The pipes of a graph of ``traverse_dps``, each once."""
    found: dict[int, Any] = {}

    def visit(part: DataPipeGraph) -> None:
        for key, (pipe, below) in part.items():
            if key not in found:
                found[key] = pipe
                visit(below)

    visit(graph)
    return list(found.values())


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Applies sharding to every pipe that supports it."""

    def apply(graph: DataPipeGraph, above: Any) -> None:
        for pipe, below in graph.values():
            found = above
            if hasattr(pipe, "apply_sharding"):
                if above is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and "
                        f"will cause data loss. Sharding already applied to {above} "
                        f"while trying to apply to {pipe}"
                    )
                pipe.apply_sharding(num_of_instances, instance_id, sharding_group)
                found = pipe
            apply(below, found)

    apply(traverse_dps(datapipe), None)
    return datapipe


def _is_shuffler(pipe: Any) -> bool:
    return hasattr(pipe, "set_shuffle") and hasattr(pipe, "set_seed")


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switches the shuffling pipes on or off; adds one if there is none and ``shuffle``
    is True. None changes nothing.
    """
    if shuffle is None:
        return datapipe
    shufflers = [
        p for p in get_all_graph_pipes(traverse_dps(datapipe)) if _is_shuffler(p)
    ]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. "
            "Adding one at the end. Be aware that the default buffer size might not be "
            "sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """``apply_random_seed``, under its former name."""
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Seeds every random pipe from a generator, so that readers in several processes
    draw the same order.
    """
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if callable(getattr(pipe, "set_seed", None)):
            seed = pellucid.empty((), dtype=pellucid.int64).random_(generator=rng)
            pipe.set_seed(int(seed))
    return datapipe


def start_pass(
    datapipe: Any, seed: int | None, worker: tuple[int, int] | None = None
) -> None:
    """Shards the samples over ranks and ``worker`` (count, index), and seeds the random
    pipes if there is a seed. The DataLoader calls it before each pass.
    """
    from pellucid import distributed as dist

    if dist.is_available() and dist.is_initialized():
        ranks = dist.get_world_size(), dist.get_rank()
        apply_sharding(datapipe, *ranks, SHARDING_PRIORITIES.DISTRIBUTED)
    if worker is not None:
        apply_sharding(datapipe, *worker, SHARDING_PRIORITIES.MULTIPROCESSING)
    if seed is not None:
        rng = pellucid.Generator()
        rng.manual_seed(seed)
        apply_random_seed(datapipe, rng)
