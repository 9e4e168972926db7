"""``torch.distributed.elastic.events``: events of a job, for the logs of its machines.

A destination is a logging handler: "null" drops events, "console" prints them; others
are added to ``handlers``.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import traceback
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

__all__ = [
    "Event",
    "EventSource",
    "NodeState",
    "RdzvEvent",
    "construct_and_record_rdzv_event",
    "get_logging_handler",
    "record",
    "record_rdzv_event",
]

EventMetadataValue = str | int | float | bool | None


class EventSource(str, Enum):  # noqa: UP042 - as PyTorch prints it
    """Who an event is from."""

    AGENT = "AGENT"
    WORKER = "WORKER"


class NodeState(str, Enum):  # noqa: UP042 - as PyTorch prints it
    """What a machine does in the rendezvous."""

    INIT = "INIT"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


class _Serialised:
    def serialize(self) -> str:
        """The event as JSON."""
        return json.dumps(asdict(self))  # type: ignore[call-overload]

    def __str__(self) -> str:
        return self.serialize()


@dataclass
class Event(_Serialised):
    """Something that happened; ``timestamp`` in milliseconds."""

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict[str, EventMetadataValue] = field(default_factory=dict)

    __str__ = _Serialised.__str__

    @staticmethod
    def deserialize(data: str | Event) -> Event:
        """The event of its JSON."""
        if isinstance(data, Event):
            return data
        found = json.loads(data)
        return Event(**{**found, "source": EventSource[found["source"]]})


@dataclass
class RdzvEvent(_Serialised):
    """Something that happened in a rendezvous."""

    name: str
    run_id: str
    message: str
    hostname: str
    pid: int
    node_state: NodeState
    master_endpoint: str = ""
    rank: int | None = None
    local_id: int | None = None
    error_trace: str = ""

    __str__ = _Serialised.__str__

    @staticmethod
    def deserialize(data: str | RdzvEvent) -> RdzvEvent:
        """The event of its JSON."""
        if isinstance(data, RdzvEvent):
            return data
        found = json.loads(data)
        return RdzvEvent(**{**found, "node_state": NodeState[found["node_state"]]})


handlers: dict[str, logging.Handler] = {
    "console": logging.StreamHandler(),
    "dynamic_rendezvous": logging.NullHandler(),
    "null": logging.NullHandler(),
}


def get_logging_handler(destination: str = "null") -> logging.Handler:
    """The handler of a destination."""
    return handlers[destination]


def _logger(destination: str) -> logging.Logger:
    logger = logging.getLogger(f"torchelastic-events-{destination}")
    handler = get_logging_handler(destination)
    if handler not in logger.handlers:
        logger.setLevel(os.environ.get("LOGLEVEL", "INFO"))
        logger.propagate = False
        logger.handlers[:] = [handler]
    return logger


def record(event: Event, destination: str = "null") -> None:
    """Logs an event."""
    _logger(destination).info(event.serialize())


def record_rdzv_event(event: RdzvEvent) -> None:
    """Logs an event of a rendezvous, to the destination "dynamic_rendezvous"."""
    _logger("dynamic_rendezvous").info(event.serialize())


def construct_and_record_rdzv_event(
    run_id: str,
    message: str,
    node_state: NodeState,
    name: str = "",
    hostname: str = "",
    pid: int | None = None,
    master_endpoint: str = "",
    local_id: int | None = None,
    rank: int | None = None,
) -> None:
    """Logs an event of a rendezvous, named by the calling file and function."""
    if isinstance(get_logging_handler("dynamic_rendezvous"), logging.NullHandler):
        return
    caller: Any = sys._getframe(1).f_code
    is_failure = node_state is NodeState.FAILED
    event = RdzvEvent(
        name=f"{os.path.basename(caller.co_filename)}:{name or caller.co_name}",
        run_id=run_id,
        message=message,
        hostname=hostname or socket.getfqdn(),
        pid=pid or os.getpid(),
        node_state=node_state,
        master_endpoint=master_endpoint,
        rank=rank,
        local_id=local_id,
        error_trace=traceback.format_exc() if is_failure else "",
    )
    record_rdzv_event(event)
