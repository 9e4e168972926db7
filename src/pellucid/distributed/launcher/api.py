"""``elastic_launch``: runs a program on the ranks of this machine."""

from __future__ import annotations

from typing import Any

from pellucid.distributed._launch.agent import Agent
from pellucid.distributed._launch.config import LaunchConfig as LaunchConfig

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


def launch_agent(config: LaunchConfig, entrypoint: str, args: list[Any]) -> None:
    """Runs the command ``entrypoint args...`` on every rank of this machine;
    ChildFailedError if one fails and no restart is left.
    """
    Agent(config, [entrypoint, *map(str, args)]).run()


class elastic_launch:
    """``elastic_launch(config, "python")("train.py", "--lr", "1")``."""

    def __init__(self, config: LaunchConfig, entrypoint: str) -> None:
        if not isinstance(entrypoint, str):
            raise TypeError(
                "only commands are launched; start functions by multiprocessing.spawn"
            )
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> None:
        launch_agent(self._config, self._entrypoint, list(args))
