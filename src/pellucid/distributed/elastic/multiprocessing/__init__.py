"""``torch.distributed.elastic.multiprocessing``: processes that a launcher starts.

Example::

    context = start_processes(
        "trainer", train, {0: (), 1: ()}, {0: {}, 1: {}}, DefaultLogsSpecs()
    )
    print(context.wait().return_values)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.distributed.elastic.multiprocessing import errors as errors
from pellucid.distributed.elastic.multiprocessing.api import (
    DefaultLogsSpecs,
    LogsDest,
    LogsSpecs,
    MultiprocessContext,
    PContext,
    RunProcsResult,
    SignalException,
    Std,
    SubprocessContext,
    to_map,
)
from pellucid.distributed.elastic.multiprocessing.errors import ProcessFailure

__all__ = [
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "ProcessFailure",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
    "start_processes",
    "to_map",
]


def start_processes(
    name: str,
    entrypoint: Callable[..., Any] | str,
    args: dict[int, tuple[Any, ...]],
    envs: dict[int, dict[str, str]],
    logs_specs: LogsSpecs,
    log_line_prefixes: dict[int, str] | None = None,
    start_method: str = "spawn",
    numa_options: Any = None,
    duplicate_stdout_filters: list[str] | None = None,
    duplicate_stderr_filters: list[str] | None = None,
) -> PContext:
    """Starts a process per local rank: ``entrypoint`` is a function, or a command's
    first word. ``args`` and ``envs`` are by local rank.
    """
    filters = duplicate_stdout_filters, duplicate_stderr_filters
    context: PContext
    if isinstance(entrypoint, str):
        context = SubprocessContext(
            *(name, entrypoint, args, envs, logs_specs, log_line_prefixes),
            *(numa_options, *filters),
        )
    else:
        context = MultiprocessContext(
            *(name, entrypoint, args, envs, start_method, logs_specs),
            *(log_line_prefixes, numa_options, *filters),
        )
    try:
        context.start()
    except BaseException:
        context.close()
        raise
    return context
