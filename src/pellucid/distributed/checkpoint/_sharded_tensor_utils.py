"""ShardedTensors of ShardedTensors, which planners of PyTorch flatten: parts are plain
tensors here.
"""

from __future__ import annotations

from typing import Any


def _flatten_sharded_tensors(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The state itself: DTensors of several mesh dims are flat already."""
    return state_dict
