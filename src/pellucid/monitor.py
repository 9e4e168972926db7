"""``torch.monitor``: events that handlers of the process see, and statistics that are
logged as events at the end of each window of time.
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
    """What a ``Stat`` tells of the values of a window."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


class Event:
    """Something to log: a name, when it was, and numbers, bools or texts by name.

    Events of one kind have one name. TypeError for data of other types.
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
                    f"Event: data[{key!r}] is a number, a bool or a text, not a "
                    f"{type(value).__name__}"
                )
        self.name, self.timestamp, self.data = name, timestamp, dict(data)


class EventHandlerHandle:
    """What ``register_event_handler`` gives; ``unregister_event_handler`` takes it."""

    def __init__(self, handler: Callable[[Event], None]) -> None:
        self._handler = handler


_lock = threading.RLock()
_handlers: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """``callback`` sees every event that is logged from now on, in any thread."""
    if not callable(callback):
        raise TypeError(f"register_event_handler: {callback!r} cannot be called")
    handle = EventHandlerHandle(callback)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """The handler sees no more events; one that sees none already may be given."""
    with _lock:
        if handler in _handlers:
            _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Give an event to all handlers, in the order in which they were registered."""
    if not isinstance(event, Event):
        raise TypeError(f"log_event takes an Event, not a {type(event).__name__}")
    with _lock:
        handlers = list(_handlers)
    for handle in handlers:
        handle._handler(event)


class Stat:
    """Aggregations of the values that are added during each ``window_size``.

    The first ``add`` behind the end of a window logs that window's as an event
    ``torch.monitor.Stat``, with the names ``<name>.<aggregation>``; so does the one
    that makes ``max_samples``, after which values of that window do not count; and so
    does the end of the Stat's life. ``get()`` tells the last window that was logged::

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
        """How many values of the current window there are."""
        return len(self._values)

    def get(self) -> dict[Aggregation, float]:
        """The aggregations of the window that was logged last."""
        return dict(self._last)

    def add(self, v: float) -> None:
        """A value of the current window."""
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
        """The event of the current window, whose values are taken; None of none."""
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
        """Scalars of a Stat's event; other events are left out."""
        if event.name != STAT_EVENT:
            return
        seconds = event.timestamp.timestamp()
        for name, value in event.data.items():
            self._writer.add_scalar(name, value, walltime=seconds)
