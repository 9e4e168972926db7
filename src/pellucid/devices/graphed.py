"""``torch.cuda.make_graphed_callables``: passes of callables as graphs.

Each callable has a graph of its forward and one of its backward pass, over tensors at
fixed addresses; an autograd Function replays them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.cuda.graphs import CUDAGraph, graph
from pellucid.cuda.streams import Stream

_Callables = Callable[..., Any] | tuple[Callable[..., Any], ...]


def make_graphed_callables(
    callables: _Callables,
    sample_args: Sequence[Any],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """Callables, or modules, whose forward and backward passes replay graphs.

    ``sample_args`` are tensors like those that each will be given, with the same
    ``requires_grad``; a tuple of such tuples for several callables, which are called in
    this order. The results are in memory that the next call overwrites.
    """
    is_one = not isinstance(callables, tuple)
    pairs = zip(callables, sample_args, strict=True) if not is_one else ()  # type: ignore[arg-type]
    given = [(callables, sample_args)] if is_one else list(pairs)
    options = num_warmup_iters, allow_unused_input, pool
    made = [_Graphed(function, args, *options) for function, args in given]
    results = [graphed.as_callable() for graphed in made]
    return results[0] if is_one else tuple(results)


class _Graphed:
    """A callable with a graph of each pass over fixed tensors."""

    def __init__(
        self, function: Any, args: Any, warmup: int, allow_unused: bool, pool: Any
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
        with graph(self.forward, pool=pool):
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
            self.function.forward = call  # type: ignore[method-assign]
            return self.function
        return call
