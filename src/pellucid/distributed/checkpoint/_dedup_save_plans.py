"""Which rank stores a value that several ranks have."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from pellucid.distributed.checkpoint.metadata import MetadataIndex
from pellucid.distributed.checkpoint.planner import SavePlan, WriteItem

__all__ = ["dedup_save_plans"]


def dedup_save_plans(
    all_plans: list[SavePlan], save_to_lowest_rank: bool = False
) -> list[SavePlan]:
    """The plans with each item in one of them: of those that had it, the one with the
    fewest bytes so far, or the first.
    """
    owners: dict[MetadataIndex, list[int]] = defaultdict(list)
    items: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(all_plans):
        for item in plan.items:
            owners[item.index].append(rank)
            items[item.index] = item
    sizes = [0] * len(all_plans)
    chosen: list[set[MetadataIndex]] = [set() for _ in all_plans]
    for index, ranks in owners.items():
        rank = ranks[0] if save_to_lowest_rank else min(ranks, key=sizes.__getitem__)
        sizes[rank] += items[index].tensor_storage_size() or 1
        chosen[rank].add(index)
    return [
        replace(plan, items=[item for item in plan.items if item.index in own])
        for plan, own in zip(all_plans, chosen, strict=True)
    ]
