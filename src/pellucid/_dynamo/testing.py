"""``torch._dynamo.testing``: backends that count or keep the graphs they receive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid._dynamo.backends.registry import lookup_backend
from pellucid._dynamo.utils import same

if TYPE_CHECKING:
    from pellucid.fx import GraphModule

__all__ = [
    "AotEagerAndRecordGraphs",
    "CompileCounter",
    "CompileCounterWithBackend",
    "EagerAndRecordGraphs",
    "rand_strided",
    "same",
]


class CompileCounter:
    """A backend that runs graphs op by op and counts them and their ops.

    Example::

        counter = CompileCounter()
        torch.compile(f, backend=counter)(x)
        assert (counter.frame_count, counter.op_count) == (1, 3)
    """

    def __init__(self) -> None:
        self.clear()

    def __call__(
        self, gm: GraphModule, example_inputs: Sequence[Any]
    ) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        self.graphs.append(gm)
        return gm.forward

    def clear(self) -> None:
        """Counts from zero again."""
        self.frame_count: int = 0
        self.op_count: int = 0
        self.graphs: list[GraphModule] = []


class CompileCounterWithBackend(CompileCounter):
    """The same, for graphs that the backend of this name compiles."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.backend = backend

    def __call__(
        self, gm: GraphModule, example_inputs: Sequence[Any]
    ) -> Callable[..., Any]:
        super().__call__(gm, example_inputs)
        compiled: Callable[..., Any] = lookup_backend(self.backend)(gm, example_inputs)
        return compiled


class EagerAndRecordGraphs:
    """A backend that runs graphs op by op and keeps them in ``graphs``."""

    def __init__(self) -> None:
        self.graphs: list[GraphModule] = []
        self.example_inputs: list[Sequence[Any]] = []

    def __call__(
        self, gm: GraphModule, example_inputs: Sequence[Any]
    ) -> Callable[..., Any]:
        self.graphs.append(gm)
        self.example_inputs.append(example_inputs)
        return gm.forward


class AotEagerAndRecordGraphs:
    """A backend that keeps graphs, and their forward and backward graphs."""

    def __init__(self) -> None:
        self.graphs: list[GraphModule] = []
        self.fw_graphs: list[GraphModule] = []
        self.bw_graphs: list[GraphModule] = []

    def __call__(
        self, gm: GraphModule, example_inputs: Sequence[Any]
    ) -> Callable[..., Any]:
        from pellucid._dynamo.backends.common import aot_autograd
        from pellucid._functorch.aot_autograd import make_boxed_func

        def kept(graphs: list[GraphModule]) -> Callable[..., Any]:
            def compiler(module: GraphModule, inputs: Sequence[Any]) -> Any:
                graphs.append(module)
                return make_boxed_func(module.forward)

            return compiler

        self.graphs.append(gm)
        backend = aot_autograd(
            fw_compiler=kept(self.fw_graphs), bw_compiler=kept(self.bw_graphs)
        )
        compiled: Callable[..., Any] = backend(gm, example_inputs)
        return compiled


def rand_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: Any = None,
    device: Any = "cpu",
    extra_size: int = 0,
) -> pellucid.Tensor:
    """Random values in a tensor of these strides; integers are below 50."""
    dtype = pellucid.float32 if dtype is None else dtype
    needed = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    count = (needed if 0 not in size else 0) + extra_size
    if dtype.is_floating_point or dtype.is_complex:
        buffer = pellucid.randn(count, dtype=dtype, device=device)
    else:
        buffer = pellucid.randint(0, 50, (count,), dtype=dtype, device=device)
    return pellucid.as_strided(buffer, size, stride)
