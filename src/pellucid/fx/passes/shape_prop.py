"""``torch.fx.passes.shape_prop``: propagates shapes by running a graph."""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

import pellucid
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.interpreter import Interpreter
from pellucid.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The metadata of a node's tensor, in ``meta["tensor_meta"]``."""

    shape: pellucid.Size
    dtype: pellucid.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: pellucid.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


_FORMATS = (
    pellucid.contiguous_format,
    pellucid.channels_last,
    pellucid.channels_last_3d,
)


def _extract_tensor_metadata(
    result: pellucid.Tensor, include_contiguity: bool = True
) -> TensorMetadata:
    """Extracts the metadata of a tensor."""
    found = None
    if include_contiguity:
        found = next(
            (f for f in _FORMATS if result.is_contiguous(memory_format=f)), None
        )
    return TensorMetadata(
        *(result.shape, result.dtype, result.requires_grad, result.stride()),
        *(found, result.is_quantized, {}),
    )


class ShapeProp(Interpreter):
    """Runs a graph and records shape, dtype and strides of every value in ``meta``.

    With ``fake_mode`` the values have no data.
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode
        self.real_module = self.module

    def run_node(self, n: Node) -> Any:
        """Runs the node and records the metadata of its result."""
        try:
            if self.fake_mode is not None:
                with self.fake_mode:
                    result = super().run_node(n)
            else:
                result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        has_tensor = False

        def extract(value: Any) -> Any:
            nonlocal has_tensor
            if not isinstance(value, pellucid.Tensor):
                return value
            has_tensor = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, extract)
        if has_tensor:
            n.meta["tensor_meta"] = meta
        if self.fake_mode is not None:
            n.meta["val"] = result
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the module; returns its result."""
        if self.fake_mode is not None:
            args = tuple(
                self.fake_mode.from_tensor(a) if isinstance(a, pellucid.Tensor) else a
                for a in args
            )
        return super().run(*args)
