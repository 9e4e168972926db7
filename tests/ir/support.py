"""Graphs for the tests of ir and transforms, built by hand."""

import numpy as np

from pellucid_compiler.ir.expr import sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.verify import verify


def graph_of(build, *types):
    """The Graph of ``build(graph, *values)`` over inputs given as (rank, dtype)."""
    graph = Graph("f")
    values = [
        graph.input([sym(f"x{k}.{d}") for d in range(rank)], dtype, f"x{k}")
        for k, (rank, dtype) in enumerate(types)
    ]
    out = build(graph, *values)
    graph.outputs = list(out) if isinstance(out, (tuple, list)) else [out]
    return verify(graph.prune())


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)
