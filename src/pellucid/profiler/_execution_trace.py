"""``ExecutionTraceObserver``: calls with their arguments, as a graph in JSON."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Self

from pellucid.profiler._build import shown_name
from pellucid.profiler._chrome_trace import write_json
from pellucid.profiler._timeline.facts import TensorFacts
from pellucid.profiler._timeline.log import Event, Kind, Session, Watch

_SHOWN = (Kind.CALL, Kind.NODE, Kind.RANGE)


class ExecutionTraceObserver:
    """Between ``start`` and ``stop`` the calls of every thread are recorded with their
    arguments; ``unregister_callback`` ends it. The file has the nodes of Chakra's
    execution traces: ``id``, ``name``, ``ctrl_deps`` (the node around it), ``inputs``.

    Example::

        observer = ExecutionTraceObserver().register_callback("trace.json")
        with profile(execution_trace_observer=observer):
            model(x)
    """

    def __init__(self) -> None:
        self._path = ""
        self._session: Session | None = None

    def register_callback(self, output_file_path: str) -> Self:
        """Write to this file."""
        self._path = output_file_path
        return self

    def build_execution_trace_obs_from_env(self) -> Self | None:
        """None unless ``ENABLE_PYTORCH_EXECUTION_TRACE=1`` asks for a trace."""
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
            return None
        folder = tempfile.mkdtemp()
        return self.register_callback(os.path.join(folder, "execution_trace.json"))

    @property
    def is_registered(self) -> bool:
        """Whether there is a file to write to."""
        return bool(self._path)

    def is_running(self) -> bool:
        """Whether calls are being recorded."""
        return self._session is not None

    def get_output_file_path(self) -> str | None:
        """Where the trace goes."""
        return self._path or None

    def start(self) -> None:
        """Record from now on, if there is a file to write to."""
        if self._path and self._session is None:
            self._session = Session(Watch.FACTS)
            self._session.start()

    def stop(self) -> None:
        """Record no more, and write."""
        if self._session is None:
            return
        log, self._session = self._session.stop(), None
        listed = [event for event in log.events if event.kind in _SHOWN]
        numbers = {event: number + 2 for number, event in enumerate(listed)}
        root = {"id": 1, "name": "[pytorch|profiler|execution_trace|process]"}
        nodes = [root, *(_node(event, numbers) for event in listed)]
        write_json({"schema": "1.1.1-chakra.0.0.4", "nodes": nodes}, self._path)

    cleanup = stop

    def unregister_callback(self) -> None:
        """End; nothing further is written."""
        self.stop()
        self._path = ""


def _node(event: Event, numbers: dict[Event, int]) -> dict[str, Any]:
    around = event.parent
    while around is not None and around not in numbers:
        around = around.parent
    arguments = event.arguments
    shapes = [_shape(argument) for argument in arguments]
    strides = [list(a.strides) if isinstance(a, TensorFacts) else [] for a in arguments]
    values = ["" if isinstance(a, TensorFacts | list) else a for a in arguments]
    return {
        "id": numbers[event],
        "name": shown_name(event.kind, event.name),
        "ctrl_deps": numbers[around] if around is not None else 1,
        "inputs": {"values": values, "shapes": shapes, "strides": strides},
        "attrs": [
            {"name": "tid", "type": "uint64", "value": event.thread.system_id},
            {"name": "op_schema", "type": "string", "value": event.name},
        ],
    }


def _shape(argument: Any) -> Any:
    if isinstance(argument, TensorFacts):
        return list(argument.shape)
    if isinstance(argument, list):
        return [_shape(item) for item in argument]
    return []
