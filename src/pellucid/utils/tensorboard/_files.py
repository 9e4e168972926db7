"""``FileWriter``: writes events to a file, by the package tensorboard."""

from __future__ import annotations

import os
import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, TaggedRunMetadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter


class FileWriter:
    """An event file in ``log_dir``, written by a background thread.

    A call blocks while ``max_queue`` events are queued; the queue is flushed every
    ``flush_secs`` seconds. ``filename_suffix`` ends the name.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        self.event_writer = EventFileWriter(
            str(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """The directory of the file."""
        return str(self.event_writer.get_logdir())

    def add_event(
        self, event: Event, step: Any = None, walltime: float | None = None
    ) -> None:
        """Writes an event, at a step if given, now or at ``walltime``."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)  # of a tensor or a NumPy number, too
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write a ``Summary`` message as an event."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Write a ``GraphDef`` message and the ``RunMetadata`` of one step."""
        graph, metadata = graph_profile
        self.add_onnx_graph(graph, walltime)
        tagged = TaggedRunMetadata(
            tag="step1", run_metadata=metadata.SerializeToString()
        )
        self.add_event(Event(tagged_run_metadata=tagged), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a ``GraphDef`` message alone."""
        event = Event(graph_def=graph.SerializeToString())
        self.add_event(event, None, walltime)

    def flush(self) -> None:
        """Flushes queued events."""
        self.event_writer.flush()

    def close(self) -> None:
        """Flushes queued events and closes the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Starts another file in the directory, if this one is closed."""
        self.event_writer.reopen()
