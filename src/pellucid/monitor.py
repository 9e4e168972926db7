"""``torch.monitor``: events, which the process's handlers receive, and statistics,
which are logged as events at the end of each time window.
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

STAT_EVENT = "torch.monitor.Stat"
data_value_t: TypeAlias = bool | int | float | str


class Aggregation(enum.Enum):
    """What a ``Stat`` computes from the values of a window."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


class Event:
    """A log entry: a name, a timestamp, and numbers, bools or strings by name.

    Events of one kind share a name. TypeError for data of other types.
    """

    name: str
    timestamp: datetime
    data: dict[str, data_value_t]

    def __init__(
        self, name: str, timestamp: datetime, data: Mapping[str, data_value_t]
    ) -> None:
        if not isinstance(timestamp, datetime):
            raise TypeError(
                f"Event: timestamp is a datetime, not a {type(timestamp).__name__}"
            )
        for key, value in data.items():
            if not isinstance(value, bool | int | float | str):
                raise TypeError(
                    f"Event: data[{key!r}] is a number, a bool or a string, not a "
                    f"{type(value).__name__}"
                )
        self.name, self.timestamp, self.data = name, timestamp, dict(data)


class EventHandlerHandle:
    """The handle of a registered handler, for ``unregister_event_handler``."""

    def __init__(self, handler: Callable[[Event], None]) -> None:
        self._handler = handler


_lock = threading.RLock()
_handlers: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Calls ``callback`` with every event that is logged from now on, in any thread."""
    if not callable(callback):
        raise TypeError(f"register_event_handler: {callback!r} cannot be called")
    handle = EventHandlerHandle(callback)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Unregisters a handler; does nothing if it is not registered."""
    with _lock:
        if handler in _handlers:
            _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Passes an event to all handlers, in the order of registration."""
    if not isinstance(event, Event):
        raise TypeError(f"log_event takes an Event, not a {type(event).__name__}")
    with _lock:
        handlers = list(_handlers)
    for handle in handlers:
        handle._handler(event)


class Stat:
    """Aggregations of the values that are added during each ``window_size``.

    A window's aggregations are logged as an event ``torch.monitor.Stat`` with entries
    ``<name>.<aggregation>``: by the first ``add`` after its end, by the ``add`` that
    reaches ``max_samples`` (later values of the window are ignored), or when the Stat
    is deleted. ``get()`` returns the last window that was logged::

        stat = Stat("loss", [Aggregation.MEAN], timedelta(seconds=60))
        stat.add(0.5)
    """

    def __init__(
        self,
        name: str,
        aggregations: Iterable[Aggregation],
        window_size: timedelta,
        max_samples: int | None = None,
    ) -> None:
        if not isinstance(window_size, timedelta):
            raise TypeError(
                f"Stat: window_size is a timedelta, not {type(window_size).__name__}"
            )
        self.name = name
        self._aggregations = list(dict.fromkeys(aggregations))
        self._seconds = max(window_size.total_seconds(), 1e-3)
        self._most = max_samples
        self._lock = threading.Lock()
        self._window = self._now()
        self._values: list[float] = []
        self._is_logged = False  # of this window, by its number of samples
        self._last = dict.fromkeys(self._aggregations, 0.0)
        if Aggregation.VALUE in self._last:
            del self._last[Aggregation.VALUE]  # of no value

    def _now(self) -> int:
        return int(time.monotonic() / self._seconds)

    @property
    def count(self) -> int:
        """The number of values in the current window."""
        return len(self._values)

    def get(self) -> dict[Aggregation, float]:
        """The aggregations of the last logged window."""
        return dict(self._last)

    def add(self, v: float) -> None:
        """Adds a value to the current window."""
        value = float(v)
        events = []
        with self._lock:
            window = self._now()
            if window != self._window:
                events.append(self._closed())
                self._window, self._is_logged = window, False
            if not self._is_logged:
                self._values.append(value)
                if self._most is not None and len(self._values) >= self._most:
                    events.append(self._closed())
                    self._is_logged = True
        for event in events:
            if event is not None:
                log_event(event)

    def _closed(self) -> Event | None:
        """Removes the current window's values and returns their event; None without
        values.
        """
        values, self._values = self._values, []
        if not values:
            return None
        found = {
            Aggregation.VALUE: values[-1],
            Aggregation.MEAN: sum(values) / len(values),
            Aggregation.COUNT: float(len(values)),
            Aggregation.SUM: sum(values),
            Aggregation.MAX: max(values),
            Aggregation.MIN: min(values),
        }
        self._last = {a: found[a] for a in self._aggregations}
        named = {f"{self.name}.{a.name.lower()}": v for a, v in self._last.items()}
        return Event(STAT_EVENT, datetime.now(), named)

    def __del__(self) -> None:
        if getattr(self, "_values", None) and (event := self._closed()) is not None:
            log_event(event)


class TensorboardEventHandler:
    """Writes the numbers of every event to a ``SummaryWriter``::

    writer = SummaryWriter("runs")
    register_event_handler(TensorboardEventHandler(writer))
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        """Writes the scalars of a Stat's event; ignores other events."""
        if event.name != STAT_EVENT:
            return
        seconds = event.timestamp.timestamp()
        for name, value in event.data.items():
            self._writer.add_scalar(name, value, walltime=seconds)
