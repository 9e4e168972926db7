"""``torch.distributed.launcher``: launching from a program."""

from pellucid.distributed._launch.config import LaunchConfig
from pellucid.distributed.launcher.api import elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
