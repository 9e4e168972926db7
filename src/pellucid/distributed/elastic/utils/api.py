"""Variables of the environment, and macros in the arguments of ranks."""

from __future__ import annotations

import os
from string import Template
from typing import Any

from pellucid.distributed.elastic.utils.distributed import (
    get_socket_with_port as get_socket_with_port,
)

__all__ = ["get_env_variable_or_raise", "get_socket_with_port", "macros"]


def get_env_variable_or_raise(env_name: str) -> str:
    """An environment variable; ValueError without it."""
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value


class macros:
    """Texts in arguments that mean facts of a rank."""

    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args: list[Any], local_rank: str) -> list[str]:
        """The arguments with the rank's facts."""
        facts = {"local_rank": local_rank}
        return [
            Template(each).safe_substitute(facts) if isinstance(each, str) else each
            for each in args
        ]
