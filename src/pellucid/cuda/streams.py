"""``torch.cuda.streams``: queues and events of a GPU.

``pellucid.Stream`` and ``pellucid.Event`` on CUDA devices, with what only CUDA's have:
the driver's handle. Without a GPU, making one raises RuntimeError.
"""

from __future__ import annotations

from typing import Any, Self

import pellucid
from pellucid import _C
from pellucid._package import streams
from pellucid._package.absent_device import AbsentDevice

_absent = AbsentDevice("CUDA")


def require_gpus(name: str, doc: str | None) -> None:
    """RuntimeError unless objects of the class ``name`` can be made."""
    if not _C._find_cuda()[0]:
        _absent.type_that_refuses(name, doc or "")()


class Stream(streams.Stream):
    """A device's queue of work, by default the current device's. A lower ``priority``
    runs earlier."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        require_gpus(cls.__name__, cls.__doc__)
        return super().__new__(cls)

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if device is None and "stream_id" not in kwargs:
            device = "cuda"
        if isinstance(device, int):
            device = pellucid.device("cuda", device)
        super().__init__(device, priority=priority, **kwargs)

    @property
    def cuda_stream(self) -> int:
        """The driver's ``CUstream``, which the runtime calls ``cudaStream_t``."""
        return int(_C._cuda_stream_handle(self.device_index, self.stream_id))

    @property
    def _as_parameter_(self) -> Any:
        from ctypes import c_void_p

        return c_void_p(self.cuda_stream)

    def record_event(self, event: pellucid.Event | None = None) -> pellucid.Event:
        """``event``, or a new one, recorded on this stream."""
        return super().record_event(event or Event())

    def __repr__(self) -> str:
        handle = f"{self.cuda_stream:#x}"
        return f"<torch.cuda.Stream device={self.device} cuda_stream={handle}>"


class ExternalStream(Stream):
    """A queue that another library made: the device's memory is not ordered with it
    (``record_stream``), so it cannot be made."""

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        raise NotImplementedError(
            "torch.cuda.ExternalStream: work is queued on streams of torch.cuda.Stream "
            "alone; give the other library their cuda_stream"
        )


class Event(streams.Event):
    """An event in a device's queue. ``blocking`` asks the driver to sleep in
    ``synchronize`` rather than to spin; the driver chooses."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        require_gpus(cls.__name__, cls.__doc__)
        return super().__new__(cls)

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        if interprocess or external:
            raise NotImplementedError(
                "torch.cuda.Event: events of other processes (interprocess=True) or "
                "nodes of graphs (external=True) are not supported"
            )
        super().__init__("cuda", enable_timing=enable_timing, blocking=blocking)
