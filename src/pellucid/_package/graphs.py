"""Graphs of a device: work of a stream, recorded once and replayed as a whole.

``torch.cuda.CUDAGraph`` and ``torch.accelerator.Graph`` are this class under PyTorch's
names. While a graph is captured, memory comes from a pool of its own
(``runtime/core/device_pool.h``), so that replays find their tensors where they were.
"""

from __future__ import annotations

from typing import Any

from pellucid import _C

Pool = tuple[int, int]


class DeviceGraph:
    """What a stream of a device was given between two calls."""

    def __init__(self) -> None:
        self._device: Any = None
        self._graph = self._pool = self._stream = 0

    def _begin(self, device: Any, pool: Pool | None, mode: int) -> None:
        """Records what is queued on the device's current stream from now on."""
        if self._device is not None:
            raise RuntimeError("this graph has been captured; reset() it first")
        number = _C._current_stream(device)
        shared = 0 if pool is None else pool[0]
        self._pool = _C._begin_graph(device, number, shared, mode)
        self._device, self._stream = device, number

    def capture_end(self) -> None:
        """Ends the recording. RuntimeError where something in it cannot be recorded,
        such as a copy to the CPU."""
        self._graph = _C._end_graph(self._device, self._stream)

    def replay(self) -> None:
        """Repeats the recorded work on the current stream."""
        if not self._graph:
            name = type(self).__name__
            raise RuntimeError(
                f"{name}.replay(): nothing is captured yet; capture first"
            )
        _C._replay_graph(self._device, self._graph, _C._current_stream(self._device))

    def reset(self) -> None:
        """Forgets the recorded work and gives its memory back."""
        if self._device is not None:
            _C._drop_graph(self._device, self._graph, self._pool)
        self._device, self._graph, self._pool = None, 0, 0

    def pool(self) -> Pool:
        """The graph's memory, for another graph."""
        return self._pool, 0

    def enable_debug_mode(self) -> None:
        """Nothing: a graph is not kept as a drawing."""

    def __del__(self) -> None:
        self.reset()
