"""``torch.distributed.elastic.events``: events of a job, for the logs of its machines.

A destination is a logging handler: "null" drops events, "console" prints them; others
are added to ``handlers.handlers``.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import traceback
from typing import Any

from pellucid.distributed.elastic.events.api import (
    Event,
    EventSource,
    NodeState,
    RdzvEvent,
)
from pellucid.distributed.elastic.events.api import (
    EventMetadataValue as EventMetadataValue,
)
from pellucid.distributed.elastic.events.handlers import get_logging_handler

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
