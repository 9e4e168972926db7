"""``torch.cuda.graphs``: work of a stream, recorded once and repeated as a whole.

While a graph is captured, memory comes from a pool of its own
(``runtime/core/device_pool.h``), so that replays find their tensors where they were.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any, Self

import pellucid
from pellucid import _C, Tensor
from pellucid.cuda.streams import Stream, require_gpus

_Pool = tuple[int, int]


class CUDAGraph:
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
        self._device: Any = None
        self._graph = self._pool = self._stream = 0

    def capture_begin(
        self, pool: _Pool | None = None, capture_error_mode: str = "global"
    ) -> None:
        """Records what is queued on the current stream from now on. ``pool`` is another
        graph's: both may use the same memory, and replay in the order of capture."""
        if self._device is not None:
            raise RuntimeError("this graph has been captured; reset() it first")
        stream = pellucid.cuda.current_stream()
        device, number = stream.device, stream.stream_id
        shared = 0 if pool is None else pool[0]
        self._pool = _C._begin_capture(device, number, shared)
        self._device, self._stream = device, number

    def capture_end(self) -> None:
        """Ends the recording. RuntimeError where something in it cannot be recorded,
        such as a copy to the CPU."""
        self._graph = _C._end_capture(self._device, self._stream)

    def replay(self) -> None:
        """Repeats the recorded work on the current stream."""
        if not self._graph:
            raise RuntimeError("Called CUDAGraph::replay without a preceding capture.")
        number = pellucid.cuda.current_stream(self._device).stream_id
        _C._replay_graph(self._device, self._graph, number)

    def reset(self) -> None:
        """Forgets the recorded work and gives its memory back."""
        if self._device is not None:
            _C._drop_graph(self._device, self._graph, self._pool)
        self._device, self._graph, self._pool = None, 0, 0

    def pool(self) -> _Pool:
        """The graph's memory, for another graph."""
        return self._pool, 0

    def enable_debug_mode(self) -> None:
        """Nothing: a graph is not kept as a drawing."""

    def __del__(self) -> None:
        self.reset()


class graph:
    """A context that captures into ``cuda_graph``, on a side stream."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        require_gpus(cls.__name__, cls.__doc__)
        return super().__new__(cls)

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: _Pool | None = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.cuda_graph = cuda_graph
        self._pool, self._mode = pool, capture_error_mode
        self._stream = Stream() if stream is None else stream

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


def graph_pool_handle() -> _Pool:
    """A pool for graphs that share memory."""
    require_gpus("graph_pool_handle", "")
    device = pellucid.device("cuda", pellucid.cuda.current_device())
    return _C._new_graph_pool(device), 0


_Callables = Callable[..., Any] | tuple[Callable[..., Any], ...]


def make_graphed_callables(
    callables: _Callables,
    sample_args: Sequence[Any],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: _Pool | None = None,
) -> Any:
    """Callables, or modules, whose forward and backward passes replay graphs.

    ``sample_args`` are tensors like those that each will be given, with the same
    ``requires_grad``; a tuple of such tuples for several callables, which are called in
    this order. The results are in memory that the next call overwrites.
    """
    is_one = not isinstance(callables, tuple)
    pairs = zip(callables, sample_args, strict=True) if not is_one else ()  # type: ignore[arg-type]
    given = [(callables, sample_args)] if is_one else list(pairs)
    made = [_Graphed(*pair, num_warmup_iters, allow_unused_input) for pair in given]
    results = [graphed.as_callable() for graphed in made]
    return results[0] if is_one else tuple(results)


class _Graphed:
    """A callable with a graph of each pass over fixed tensors."""

    def __init__(
        self, function: Any, args: Any, warmup: int, allow_unused: bool
    ) -> None:
        self.function = function
        is_module = isinstance(function, pellucid.nn.Module)
        parameters = tuple(function.parameters()) if is_module else ()
        self.inputs = (*args, *parameters)
        self.num_args, self._allow_unused = len(args), allow_unused
        side = Stream()
        side.wait_stream(pellucid.cuda.current_stream())
        with side:
            for _ in range(warmup):
                self._grads(self._outputs()[0])
        pellucid.cuda.current_stream().wait_stream(side)
        self.forward, self.backward = CUDAGraph(), CUDAGraph()
        with graph(self.forward):
            self.outputs, self.is_tuple = self._outputs()
        self.grad_outputs = [pellucid.empty_like(o) for o in self.outputs]
        with graph(self.backward, pool=self.forward.pool()):
            self.grad_inputs = self._grads(self.outputs, self.grad_outputs)
        self.outputs = [output.detach() for output in self.outputs]

    def _outputs(self) -> tuple[list[Tensor], bool]:
        result = self.function(*self.inputs[: self.num_args])
        is_tuple = isinstance(result, tuple)
        return list(result) if is_tuple else [result], is_tuple

    def _grads(
        self, outputs: list[Tensor], grads: list[Tensor] | None = None
    ) -> list[Tensor | None]:
        """The gradients of the inputs, None for those that need none."""
        wanted = [x for x in self.inputs if x.requires_grad]
        needed = [k for k, output in enumerate(outputs) if output.requires_grad]
        if not wanted or not needed:
            return [None] * len(self.inputs)
        given = [pellucid.ones_like(o) for o in outputs] if grads is None else grads
        found = iter(
            pellucid.autograd.grad(
                [outputs[k] for k in needed],
                wanted,
                [given[k] for k in needed],
                allow_unused=self._allow_unused,
            )
        )
        return [next(found) if x.requires_grad else None for x in self.inputs]

    def as_callable(self) -> Any:
        """The module with another ``forward``, or a function."""
        graphed = self

        class Graphed(pellucid.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
                fixed = graphed.inputs[: graphed.num_args]
                for own, given in zip(fixed, inputs, strict=False):
                    if own.data_ptr() != given.data_ptr():
                        own.detach().copy_(given.detach())
                graphed.forward.replay()
                return tuple(output.detach() for output in graphed.outputs)

            @staticmethod
            def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
                for own, given in zip(graphed.grad_outputs, grads, strict=True):
                    own.copy_(given)
                graphed.backward.replay()
                found = graphed.grad_inputs
                return tuple(None if g is None else g.detach() for g in found)

        parameters = self.inputs[self.num_args :]

        def call(*args: Tensor) -> Any:
            outputs = Graphed.apply(*args, *parameters)
            return outputs if graphed.is_tuple else outputs[0]

        if isinstance(self.function, pellucid.nn.Module):
            self.function.forward = call
            return self.function
        return call
