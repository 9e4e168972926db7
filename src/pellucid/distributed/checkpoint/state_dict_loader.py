"""``torch.distributed.checkpoint.state_dict_loader``: ``load`` where libraries find
it.
"""

from __future__ import annotations

from typing import Any

from pellucid.distributed.checkpoint._state import load

__all__ = ["load"]


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """``load``, whose first process coordinates."""
    load(
        state_dict,
        storage_reader=storage_reader,
        planner=planner,
        process_group=process_group,
        no_dist=no_dist,
    )
