"""``torch.Stream`` and ``torch.Event``: queues of work, whatever the device.

On the CPU, and on backends without streams, ops have run when their call returns: a
stream orders nothing there and is always idle. Imported lazily.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C
from pellucid import device as device_type
from pellucid._package import settings
from pellucid._package.calls import offered

# The numbers of device types in PyTorch's interfaces, for `Stream.device_type`.
_NUMBERS = {"cpu": 0, "cuda": 1, "xpu": 12, "mps": 13, "meta": 14, "privateuseone": 20}
_HOST = ("cpu", "meta")


def _device_of(kind: str, device: Any) -> Any:
    """The device of a new stream or event: the accelerator's without one given."""
    if device is None:
        accelerator = settings.accelerator()
        device = "cpu" if accelerator is None else accelerator[0]
    found = device_type(device)
    known = (*_HOST, _C._get_privateuse1_backend_name())
    if found.type not in known and not _C._has_backend(found):
        raise RuntimeError(
            f"torch.{kind}: there is no support for {found.type} devices here; give "
            "'cpu' or your backend's device"
        )
    return found


def _index_of(device: Any) -> int:
    return _C._current_device(device) if device.index is None else int(device.index)


def _number(kind: str) -> int:
    return _NUMBERS.get(kind, _NUMBERS["privateuseone"])


def _refuse_events(device: Any) -> None:
    if device.type in _HOST:
        raise RuntimeError(
            f"{device.type} backend doesn't support events: its work is done when a "
            "call returns"
        )


@offered.value
class Stream:
    """A queue of work on ``device``, by default the accelerator, else the CPU.

    A context manager; the stream of equal device and number is equal to it.

    Example::

        >>> import pellucid as torch
        >>> torch.Stream("cpu").query()
        True
    """

    def __init__(
        self,
        device: Any = None,
        *,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ) -> None:
        if stream_id is not None:
            names = {number: name for name, number in _NUMBERS.items()}
            if device_type not in names or device_index is None:
                raise TypeError(
                    "torch.Stream: stream_id needs a device_index and a device_type "
                    f"of {sorted(names)}, {device_index} and {device_type} were given"
                )
            kind = names[device_type]
            device = f"{kind}:{device_index}" if device_index >= 0 else kind
        self.device = _device_of("Stream", device)
        self._queues = self.device.type not in _HOST and _C._has_streams(self.device)
        if self._queues:
            self.device = pellucid.device(self.device.type, _index_of(self.device))
            if stream_id is None:
                stream_id = _C._new_stream(self.device, priority)
        self.stream_id = stream_id or 0
        self._before: list[tuple[int, int]] = []

    @classmethod
    def _of(cls, device: Any, number: int) -> Stream:
        """The stream that a device has by a number."""
        kind = _number(device.type)
        if kind == _NUMBERS["privateuseone"]:
            stream = cls.__new__(cls)
            stream.device, stream.stream_id, stream._before = device, number, []
            stream._queues = _C._has_streams(device)
            return stream
        return cls(stream_id=number, device_index=device.index, device_type=kind)

    @property
    def device_index(self) -> int:
        """The device's number, -1 for none."""
        return -1 if self.device.index is None else int(self.device.index)

    @property
    def device_type(self) -> int:
        """The number of the device's type."""
        return _number(self.device.type)

    def query(self) -> bool:
        """Whether all its work is done."""
        return not self._queues or self.record_event().query()

    def is_capturing(self) -> bool:
        """False: no graph is captured from streams."""
        return False

    def synchronize(self) -> None:
        """Waits until its work is done, and raises errors."""
        if self._queues:
            self.record_event().synchronize()

    def wait_event(self, event: Event) -> None:
        """Makes later work of the stream wait for the event."""
        event.wait(self)

    def wait_stream(self, other: Stream) -> None:
        """Makes later work of the stream wait for the other stream."""
        if other._queues:
            self.wait_event(other.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """``event``, or a new one, recorded on this stream. RuntimeError on the CPU."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        if self._queues:
            current = _C._current_device(self.device)
            self._before.append((current, _C._current_stream(self.device)))
            _C._set_current_device(self.device)
            _C._set_current_stream(self.device, self.stream_id)
        return self

    def __exit__(self, *error: object) -> None:
        if self._queues:
            current, stream = self._before.pop()
            _C._set_current_stream(self.device, stream)
            _C._set_current_device(pellucid.device(self.device.type, current))

    def _key(self) -> tuple[int, int, int]:
        return self.device_type, self.device_index, self.stream_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device.type}, "
            f"device_index={self.device_index}, stream_id={self.stream_id}"
        )


@offered.value
class Event:
    """An event in a stream of ``device``; two events measure the time between them.

    The CPU has no events: ``record`` raises RuntimeError there, and for ``query``,
    ``wait`` and ``synchronize`` all work is done.
    """

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        self.device = _device_of("Event", device)
        self.event_id = 0
        self._is_timed = enable_timing
        self._recorded_at: int | None = None
        self._queues = self.device.type not in _HOST and _C._has_streams(self.device)

    def record(self, stream: Stream | None = None) -> None:
        """Records the event at the current end of the stream."""
        from time import perf_counter_ns

        _refuse_events(self.device)
        if self._queues:
            place, number = self._stream_of(stream)
            self._drop()
            self.device = place
            self.event_id = _C._record_event(place, number, self._is_timed)
        self._recorded_at = perf_counter_ns()

    def _drop(self) -> None:
        if self._is_marked():
            _C._drop_event(self.device, self.event_id)

    def __del__(self) -> None:
        if getattr(self, "_queues", False):
            self._drop()

    def _stream_of(self, stream: Stream | None) -> tuple[Any, int]:
        """A device and the number of its stream; without one given the current."""
        if stream is None:
            place = pellucid.device(self.device.type, _index_of(self.device))
            return place, _C._current_stream(place)
        if stream.device.type != self.device.type:
            raise RuntimeError(
                f"an event of {self.device.type} is recorded and awaited by streams of "
                f"{self.device.type}; one of {stream.device.type} was given"
            )
        return stream.device, stream.stream_id

    def _is_marked(self) -> bool:
        return self._queues and self._recorded_at is not None

    def query(self) -> bool:
        """Whether the work before the event is done."""
        return not self._is_marked() or _C._event_is_done(self.device, self.event_id)

    def wait(self, stream: Stream | None = None) -> None:
        """Makes later work of ``stream``, or of the current one, wait for the event."""
        if self._is_marked():
            place, number = self._stream_of(stream)
            if place != self.device:
                return self.synchronize()  # devices have no events in common
            _C._stream_wait(place, number, self.event_id)
        return None

    def synchronize(self) -> None:
        """Waits for the work before the event, and raises its errors."""
        if self._is_marked():
            _C._finish_event(self.device, self.event_id)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to a later one; ValueError unless both were made
        with ``enable_timing=True`` and recorded.
        """
        if not (self._is_timed and end_event._is_timed):
            raise ValueError(
                "Both events must be created with argument 'enable_timing=True'."
            )
        _refuse_events(self.device)
        if self._recorded_at is None or end_event._recorded_at is None:
            raise ValueError(
                "Both events must be recorded before calculating elapsed time."
            )
        if self._queues:
            events = self.event_id, end_event.event_id
            return float(_C._event_elapsed(self.device, *events))
        return (end_event._recorded_at - self._recorded_at) / 1e6

    def __repr__(self) -> str:
        return (
            f"torch.Event device_type={self.device.type}, "
            f"device_index={-1 if self.device.index is None else self.device.index}, "
            f"event_flag={int(self._is_timed)}, event_id={self.event_id}"
        )


for _public in (Stream, Event):
    _public.__module__ = "pellucid"
