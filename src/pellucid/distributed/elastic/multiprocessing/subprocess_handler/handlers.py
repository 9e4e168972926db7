"""``get_subprocess_handler``: starts a command."""

from __future__ import annotations

from typing import Any

from pellucid.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import (  # noqa: E501 - PyTorch's path
    SubprocessHandler,
)

__all__ = ["get_subprocess_handler"]


def get_subprocess_handler(
    entrypoint: str,
    args: tuple[Any, ...],
    env: dict[str, str],
    stdout: str,
    stderr: str,
    local_rank_id: int,
    numa_options: Any = None,
) -> SubprocessHandler:
    """The started command; see ``SubprocessHandler``."""
    return SubprocessHandler(
        entrypoint, args, env, stdout, stderr, local_rank_id, numa_options
    )
