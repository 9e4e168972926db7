"""Graphs of Python backends: lists of launches and copies, replayed in their order.

While a stream is captured, the runtime (``runtime/python/backend.cpp``) notes what it
would queue, and nothing runs. Streams that wait for an event of the capture join it:
the list is in the order of the program, which all their waits allow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pellucid_compiler.devices.launch import KernelFailed, Launch

if TYPE_CHECKING:
    from pellucid.devices import Backend


class Copy(NamedTuple):
    """A copy within a device."""

    to: int
    source: int
    nbytes: int


_Steps = list[Launch | Copy]
_open: dict[tuple[str, int, int], _Steps] = {}  # by device and captured stream
_graphs: dict[tuple[str, int], _Steps] = {}
_last = 0


def begin(backend: Backend, device: int, stream: int, _: int) -> int:
    """Starts the list of a stream."""
    if backend.pool == "none":
        raise NotImplementedError(
            f"{backend.name} records no graphs: their tensors keep their memory, which "
            "needs a pool. Give the backend pool = 'best_fit'"
        )
    key = backend.name, device, stream
    if key in _open:
        raise RuntimeError(f"{backend.name}:{device}: the stream is captured already")
    _open[key] = []
    return 0


def end(backend: Backend, device: int, stream: int, _: int) -> int:
    """The number of the graph."""
    global _last
    steps = _open.pop((backend.name, device, stream), None)
    if steps is None:
        raise RuntimeError(f"{backend.name}:{device}: the stream is not captured")
    _last += 1
    _graphs[backend.name, _last] = steps
    return _last


def add_launch(backend: Backend, stream: int, launch: Launch) -> None:
    """Notes a launch."""
    _open[backend.name, launch.device, stream].append(launch)


def add_copy(
    backend: Backend, device: int, stream: int, to: int, source: int, nbytes: int
) -> None:
    """Notes a copy."""
    _open[backend.name, device, stream].append(Copy(to, source, nbytes))


def replay(backend: Backend, device: int, stream: int, graph: int) -> int:
    """Queues a graph's work on a stream. A kernel that fails raises the CPU's error."""
    for step in _graphs[backend.name, graph]:
        if isinstance(step, Copy):
            _copy(backend, device, stream, step)
        else:
            _launch(backend, replace(step, stream=stream))
    return 0


def drop(backend: Backend, device: int, stream: int, graph: int) -> int:
    """Forgets a graph."""
    _graphs.pop((backend.name, graph), None)
    return 0


def _launch(backend: Backend, launch: Launch) -> None:
    from pellucid.devices.queues import Failure

    where = f"{backend.name}:{launch.device}"
    try:
        result = backend.launch(launch)
    except KernelFailed as error:
        raise Failure(error, launch, where).as_error() from None
    if result is NotImplemented:
        raise RuntimeError(
            f"{where} declined {launch.op} ({launch.form}), which a graph has: the "
            "CPU cannot run it there. Leave the form out of the backend's forms, and "
            "the capture is refused"
        )


def _copy(backend: Backend, device: int, stream: int, copy: Copy) -> None:
    held = memoryview(bytearray(copy.nbytes))
    on = (stream,) if backend.streams else ()
    backend.to_host(device, copy.source, held, *on)
    backend.from_host(device, copy.to, held, *on)
