"""``torch.accelerator``: the current accelerator, if there is one.

It is the user's own backend once it has a name and a module that reports it available
(``torch.utils.rename_privateuse1_backend``, ``torch._register_device_module``), else
CUDA where there is a GPU. Without one, queries return their empty values, and functions
that need a device raise RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import device
from pellucid._package import settings
from pellucid._package.calls import offered
from pellucid._package.graphs import DeviceGraph, Pool

__all__ = [
    "Graph",
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def _has_devices() -> bool:
    found = settings.accelerator()
    return found is not None and bool(found[1].is_available())


def _module() -> Any:
    found = settings.accelerator()
    assert found is not None
    return found[1]


def current_accelerator(check_available: bool = False) -> device | None:
    """The type of the accelerator, or None."""
    found = settings.accelerator()
    if found is None or (check_available and not _has_devices()):
        return None
    return device(found[0])


def device_count() -> int:
    """How many devices the accelerator has."""
    return int(_module().device_count()) if _has_devices() else 0


def is_available() -> bool:
    """Whether there is an accelerator with a device."""
    return _has_devices()


def _asked(name: str) -> Callable[..., Any]:
    def ask(*args: Any, **kwargs: Any) -> Any:
        if not _has_devices():
            raise RuntimeError(
                "Cannot access accelerator device when none is available.\n"
                "Check torch.accelerator.is_available() first."
            )
        return getattr(_module(), name)(*args, **kwargs)

    ask.__name__ = name
    ask.__doc__ = (
        f"""``{name}`` of the accelerator's module; RuntimeError without one."""
    )
    return ask


current_device_index = current_device_idx = _asked("current_device")
set_device_index = set_device_idx = _asked("set_device")
current_stream = _asked("current_stream")
set_stream = _asked("set_stream")
synchronize = _asked("synchronize")
empty_cache = _asked("empty_cache")
get_device_capability = _asked("get_device_capability")
get_memory_info = _asked("mem_get_info")
memory_allocated = _asked("memory_allocated")
max_memory_allocated = _asked("max_memory_allocated")
memory_reserved = _asked("memory_reserved")
max_memory_reserved = _asked("max_memory_reserved")
memory_stats = _asked("memory_stats")
reset_peak_memory_stats = _asked("reset_peak_memory_stats")
reset_accumulated_memory_stats = _asked("reset_accumulated_memory_stats")


_MODES = {"default": 0, "global": 0, "thread_local": 1, "relaxed": 2}


class Graph(DeviceGraph):
    """Work of the accelerator's current stream, recorded to be repeated as a whole.

    Nothing runs while it is recorded; ``replay`` runs it. ``pool`` is that of another
    graph: both may use the same memory, and replay in the order of capture.
    RuntimeError for what cannot be recorded: a copy from or to the CPU, and what takes
    one. The default stream of CUDA cannot be captured.

    Example::

        graph = torch.accelerator.Graph()
        with torch.Stream(), graph:
            y = model(x)
        x.copy_(batch)
        graph.replay()
    """

    def __init__(
        self,
        keep_graph: bool = False,
        *,
        pool: Pool | None = None,
        capture_error_mode: str = "default",
    ) -> None:
        super().__init__()
        if keep_graph:
            raise NotImplementedError(
                "torch.accelerator.Graph(keep_graph=True): a graph cannot be changed "
                "between capture and replay"
            )
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode {capture_error_mode!r}; the modes are "
                f"{', '.join(_MODES)}"
            )
        self.graph_pool, self.capture_error_mode = pool, capture_error_mode

    def capture_begin(self) -> None:
        """Records what is queued on the current stream from now on."""
        place = device(_get_accelerator().type, current_device_index())
        self._begin(place, self.graph_pool, _MODES[self.capture_error_mode])

    def __enter__(self) -> None:
        synchronize()
        empty_cache()
        self.capture_begin()

    def __exit__(self, *error: object) -> None:
        self.capture_end()


class device_index:
    """A context in which a device is the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self._before: int | None = None

    def __enter__(self) -> None:
        if self.idx is not None:
            self._before = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            set_device_index(self._before)


@offered.runtime_value
def _get_accelerator(check: bool | None = None) -> device:
    """``torch._C``'s function of this name: the CPU if there is no accelerator."""
    found = current_accelerator()
    return device("cpu") if found is None else found
