"""``ShardMetadata``: where a part of a tensor is."""

from __future__ import annotations

from dataclasses import dataclass

from pellucid.distributed.remote_device import _remote_device


@dataclass
class ShardMetadata:
    """The part's first element, its sizes, and the process and device that have it."""

    __slots__ = ("placement", "shard_offsets", "shard_sizes")

    shard_offsets: list[int]
    shard_sizes: list[int]
    placement: _remote_device | None

    def __init__(
        self,
        shard_offsets: list[int],
        shard_sizes: list[int],
        placement: str | _remote_device | None = None,
    ) -> None:
        self.shard_offsets, self.shard_sizes = shard_offsets, shard_sizes
        is_text = isinstance(placement, str)
        self.placement = _remote_device(placement) if is_text else placement  # type: ignore[arg-type,assignment]
        if len(shard_offsets) != len(shard_sizes):
            raise ValueError(
                f"shard_offsets {shard_offsets} and shard_sizes {shard_sizes} have "
                "different lengths"
            )
        for name in ("shard_offsets", "shard_sizes"):
            if any(value < 0 for value in getattr(self, name)):
                raise ValueError(f"{name} has negative numbers: {getattr(self, name)}")

    def __hash__(self) -> int:
        return hash((*self.shard_offsets, *self.shard_sizes, self.placement))
