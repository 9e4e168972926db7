"""Streams of metrics: each group has a handler, which prints or stores its numbers.

Example::

    configure(ConsoleMetricHandler())
    put_metric("steps", 3)
"""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from pellucid._package.calls.deprecation import advise

__all__ = [
    "ConsoleMetricHandler",
    "MetricData",
    "MetricHandler",
    "MetricStream",
    "MetricsConfig",
    "NullMetricHandler",
    "configure",
    "getStream",
    "get_elapsed_time_ms",
    "initialize_metrics",
    "prof",
    "profile",
    "publish_metric",
    "put_metric",
]


class MetricData(NamedTuple):
    """A number with its time, group and name."""

    timestamp: int
    group_name: str
    name: str
    value: int


class MetricsConfig:
    """Options of handlers."""

    __slots__ = ("params",)

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.params = params or {}


class MetricHandler(ABC):
    """Where metrics go."""

    @abstractmethod
    def emit(self, metric_data: MetricData) -> None:
        """Takes a number."""


class ConsoleMetricHandler(MetricHandler):
    """Prints them."""

    def emit(self, metric_data: MetricData) -> None:
        """Prints a number."""
        data = metric_data
        print(f"[{data.timestamp}][{data.group_name}]: {data.name}={data.value}")


class NullMetricHandler(MetricHandler):
    """Drops them; the default."""

    def emit(self, metric_data: MetricData) -> None:
        """Drops a number."""


class MetricStream:
    """The metrics of a group."""

    def __init__(self, group_name: str, handler: MetricHandler) -> None:
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name: str, metric_value: int) -> None:
        """Emits a number."""
        data = MetricData(int(time.time()), self.group_name, metric_name, metric_value)
        self.handler.emit(data)


_default: MetricHandler = NullMetricHandler()
_by_group: dict[str, MetricHandler] = {}


def configure(handler: MetricHandler, group: str | None = None) -> None:
    """Sets the handler of a group, or of all groups without one."""
    global _default
    if group is None:
        _default = handler
    else:
        _by_group[group] = handler


def initialize_metrics(cfg: MetricsConfig | None = None) -> None:
    """``elastic_launch`` calls it with ``LaunchConfig.metrics_cfg``. It leaves handlers
    as they are: a program that configures them by these options assigns its own to
    ``metrics.initialize_metrics``, as in PyTorch.
    """


def getStream(group: str) -> MetricStream:
    """The stream of a group, to its handler of now."""
    return MetricStream(group, _by_group.get(group, _default))


def put_metric(
    metric_name: str, metric_value: int, metric_group: str = "torchelastic"
) -> None:
    """Emits a number."""
    getStream(metric_group).add_value(metric_name, metric_value)


def publish_metric(metric_group: str, metric_name: str, metric_value: int) -> None:
    """``put_metric`` under its former name."""
    advise(
        "torch.distributed.elastic.metrics.publish_metric is deprecated; use "
        "put_metric(name, value, group)"
    )
    put_metric(metric_name, metric_value, metric_group)


def get_elapsed_time_ms(start_time_in_seconds: float) -> int:
    """Milliseconds since a time of ``time.time()``."""
    return int((time.time() - start_time_in_seconds) * 1000)


def prof(fn: Callable[..., Any] | None = None, group: str = "torchelastic") -> Any:
    """Decorates a function: each call emits its duration in milliseconds, and
    ``<name>.success`` or ``<name>.failure``.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__qualname__

        @functools.wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            start, outcome = time.time(), "failure"
            try:
                result = function(*args, **kwargs)
                outcome = "success"
                return result
            finally:
                put_metric(f"{name}.{outcome}", 1, group)
                milliseconds = get_elapsed_time_ms(start)
                put_metric(f"{name}.duration.ms", milliseconds, group)

        return measured

    return decorate if fn is None else decorate(fn)


def profile(group: str | None = None) -> Any:
    """``prof`` under its former name."""
    advise("torch.distributed.elastic.metrics.profile is deprecated; use prof")
    return prof(group=group or "torchelastic")
