"""Which Graphs only move elements: copies, joins and rearrangements, not fills."""

import pytest
from tools.op_samples import calls

from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.moving import moves_elements, reads_places

COPYING = ("clone", "cat", "stack", "repeat", "flip", "roll", "pixel_shuffle", "t")
CHOOSING = ("index_select", "gather", "take", "index.Tensor", "embedding")
COMPUTING = ("add.Tensor", "relu", "tril", "constant_pad_nd", "where.self", "sum")


def graphs_of(name):
    actual = [traced.graph for _, traced, _, _ in calls(name)]
    assert actual and name in REGISTRY
    return actual


@pytest.mark.parametrize("name", [*COPYING, *CHOOSING, *COMPUTING])
def test_what_moves_elements_computes_none(name):
    for graph in graphs_of(name):
        assert moves_elements(graph) is (name not in COMPUTING)
        assert reads_places(graph) is (name in CHOOSING)
