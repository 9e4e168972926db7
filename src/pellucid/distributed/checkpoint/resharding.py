"""Where parts of a tensor overlap."""

from __future__ import annotations

from pellucid.distributed.checkpoint.metadata import ChunkStorageMetadata

__all__: list[str] = []


def _check_shard_metadata_pair_overlap(
    shard1: ChunkStorageMetadata, shard2: ChunkStorageMetadata
) -> bool:
    """Whether two parts have elements in common."""
    return all(
        first < second + length and second < first + size
        for first, size, second, length in zip(
            shard1.offsets, shard1.sizes, shard2.offsets, shard2.sizes, strict=True
        )
    )


def _shards_get_overlap_region_wrt_saved_tensor(
    saved_shard: ChunkStorageMetadata, current_shard: ChunkStorageMetadata
) -> list[tuple[int, int, int, int]]:
    """The common box of two parts: for each dim its number, the offsets in the saved
    part and in the current one, and the length.
    """
    found = []
    for dim, (saved, saved_size, current, current_size) in enumerate(
        zip(
            *(saved_shard.offsets, saved_shard.sizes),
            *(current_shard.offsets, current_shard.sizes),
            strict=True,
        )
    ):
        begin = max(saved, current)
        end = min(saved + saved_size, current + current_size)
        found.append((dim, begin - saved, begin - current, end - begin))
    return found
