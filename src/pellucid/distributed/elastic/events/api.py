"""The events of a job, and their JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import Enum

__all__ = ["Event", "EventMetadataValue", "EventSource", "NodeState", "RdzvEvent"]

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
