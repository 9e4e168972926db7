"""``torch.cuda.graphs``: work of a stream, recorded once and repeated as a whole.

``pellucid/_package/graphs.py`` has what graphs of all devices share.
"""

from __future__ import annotations

import functools
import gc
from typing import Any, Self

import pellucid
from pellucid import _C
from pellucid._package.graphs import DeviceGraph, Pool
from pellucid.cuda.streams import Stream, require_gpus

_MODES = ("global", "thread_local", "relaxed")


class CUDAGraph(DeviceGraph):
    """A graph: ``capture_begin`` and ``capture_end`` record, ``replay`` repeats.

    Example::

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        x.copy_(batch)
        graph.replay()
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        require_gpus(cls.__name__, cls.__doc__)
        return super().__new__(cls)

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__()
        if keep_graph:
            raise NotImplementedError(
                "torch.cuda.CUDAGraph(keep_graph=True): the driver's graph is not "
                "given out, so it cannot be changed between capture and replay"
            )

    def capture_begin(
        self, pool: Pool | None = None, capture_error_mode: str = "global"
    ) -> None:
        """Records what is queued on the current stream from now on. ``pool`` is another
        graph's: both may use the same memory, and replay in the order of capture.
        ``capture_error_mode``: where the driver refuses calls meanwhile that could
        disturb it: ``"global"``, ``"thread_local"``, or ``"relaxed"``: nowhere."""
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or "
                f"`relaxed`, got {capture_error_mode}"
            )
        device = pellucid.device("cuda", pellucid.cuda.current_device())
        self._begin(device, pool, _MODES.index(capture_error_mode))


def _capture_stream() -> Stream:
    """The current device's stream for captures: one, as graphs that share a pool reuse
    each other's memory on the same stream."""
    return _stream_of(pellucid.cuda.current_device())


@functools.cache
def _stream_of(device: int) -> Stream:
    return Stream(device)


class graph:
    """A context that captures into ``cuda_graph``, on a side stream."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        require_gpus(cls.__name__, cls.__doc__)
        return super().__new__(cls)

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Pool | None = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.cuda_graph = cuda_graph
        self._pool, self._mode = pool, capture_error_mode
        self._stream = _capture_stream() if stream is None else stream

    def __enter__(self) -> None:
        pellucid.cuda.synchronize()
        gc.collect()
        pellucid.cuda.empty_cache()
        self._stream.__enter__()
        try:
            self.cuda_graph.capture_begin(self._pool, self._mode)
        except BaseException:
            self._stream.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        try:
            self.cuda_graph.capture_end()
        finally:
            self._stream.__exit__(*error)


def graph_pool_handle() -> Pool:
    """A pool for graphs that share memory."""
    require_gpus("graph_pool_handle", "")
    device = pellucid.device("cuda", pellucid.cuda.current_device())
    return _C._new_graph_pool(device), 0


def make_graphed_callables(*args: Any, **kwargs: Any) -> Any:
    """Callables whose forward and backward passes replay graphs:
    ``pellucid.devices.graphed`` says how."""
    require_gpus("make_graphed_callables", "")
    return pellucid.cuda._graphed_callables(*args, **kwargs)
