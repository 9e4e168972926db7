"""The backward graph as objects: nodes, edges, counts of changes.

Nodes are C++ (``runtime/autograd/python_node.cpp``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pellucid import _C
from pellucid._C import Node

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "increment_version"]


class GradientEdge(NamedTuple):
    """A place in the graph: output `output_nr` of `node`.

    ``autograd.grad`` and ``autograd.backward`` take it in place of the tensor, so that
    the tensor itself need not be kept.
    """

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Where the gradient of `tensor` goes; of a leaf, its AccumulateGrad node."""
    return GradientEdge(*_C._gradient_edge(tensor))


def increment_version(tensor: Any) -> None:
    """Records that `tensor`, or each of several, was changed in place from outside."""
    for changed in tensor if isinstance(tensor, tuple | list) else (tensor,):
        _C._increment_version(changed)
