"""``LaunchConfig``: options of the launcher."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class LaunchConfig:
    """The numbers of machines and processes, and the rendezvous."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    run_id: str = "none"
    role: str = "default"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    max_restarts: int = 0
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_dir: str | None = None
    redirects: dict[int, int] = field(default_factory=dict)  # by local rank: 1 2 3
    tee: dict[int, int] = field(default_factory=dict)
    local_addr: str | None = None
    node_rank: int = -1  # of a static rendezvous
    env: dict[str, str] = field(default_factory=dict)
