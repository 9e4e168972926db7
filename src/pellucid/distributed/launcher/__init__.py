"""``torch.distributed.launcher``: launching from a program."""

from pellucid.distributed.launcher.api import (
    LaunchConfig,
    elastic_launch,
    launch_agent,
)

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
