"""``torch.Stream`` and ``torch.Event``: queues of work, whatever the device.

Ops have run when their call returns, on the CPU and on backends written in Python, so a
stream orders nothing and is always idle. Imported lazily.
"""

from __future__ import annotations

from typing import Any

from pellucid import _C
from pellucid import device as device_type
from pellucid._package.calls import offered
from pellucid._package.settings import user_backend

# The numbers of device types in PyTorch's interfaces, for `Stream.device_type`.
_NUMBERS = {"cpu": 0, "cuda": 1, "xpu": 12, "mps": 13, "meta": 14, "privateuseone": 20}
_HOST = ("cpu", "meta")


def _device_of(kind: str, device: Any) -> Any:
    """The device of a new stream or event: the accelerator's without one given."""
    if device is None:
        has_backend = user_backend() is not None
        device = _C._get_privateuse1_backend_name() if has_backend else "cpu"
    found = device_type(device)
    if found.type not in (*_HOST, _C._get_privateuse1_backend_name()):
        raise RuntimeError(
            f"torch.{kind}: there is no support for {found.type} devices here; give "
            "'cpu' or your backend's device"
        )
    return found


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
        self.stream_id = stream_id or 0

    @property
    def device_index(self) -> int:
        """The device's number, -1 for none."""
        return -1 if self.device.index is None else int(self.device.index)

    @property
    def device_type(self) -> int:
        """The number of the device's type."""
        return _number(self.device.type)

    def query(self) -> bool:
        """True: all work is done."""
        return True

    def is_capturing(self) -> bool:
        """False: no graph is captured from streams."""
        return False

    def synchronize(self) -> None:
        """Returns at once."""

    def wait_event(self, event: Event) -> None:
        """Returns at once: what the event marks is done."""

    def wait_stream(self, other: Stream) -> None:
        """Returns at once: the other stream's work is done."""

    def record_event(self, event: Event | None = None) -> Event:
        """``event``, or a new one, recorded on this stream. RuntimeError on the CPU."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to restore: the device has one queue."""

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
    """A mark in a stream of ``device``; two of them measure the time between.

    The CPU has no such marks: ``record`` raises RuntimeError there, and ``query``,
    ``wait`` and ``synchronize`` answer that nothing is left to be done.
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

    def record(self, stream: Stream | None = None) -> None:
        """Marks the present end of the stream."""
        from time import perf_counter_ns

        _refuse_events(self.device)
        self._recorded_at = perf_counter_ns()

    def query(self) -> bool:
        """True: what the event marks is done."""
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Returns at once."""

    def synchronize(self) -> None:
        """Returns at once."""

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
        return (end_event._recorded_at - self._recorded_at) / 1e6

    def __repr__(self) -> str:
        return (
            f"torch.Event device_type={self.device.type}, "
            f"device_index={-1 if self.device.index is None else self.device.index}, "
            f"event_flag={int(self._is_timed)}, event_id={self.event_id}"
        )


for _public in (Stream, Event):
    _public.__module__ = "pellucid"
