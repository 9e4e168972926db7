"""The plans of a few ops and gradients, as files to read and to see change.

``PELLUCID_UPDATE_GOLDEN=1 pytest tests/lower`` writes them anew.
"""

import os
from pathlib import Path

import pytest

import pellucid.ops  # noqa: F401 - fills the registry
from pellucid.compiler.plan import show_plan
from pellucid.lang.op import REGISTRY
from pellucid.specialise.derivatives import derive
from pellucid.specialise.graphs import declared_graph
from pellucid.specialise.requests import TensorLike

GOLDEN = Path(__file__).parent / "golden"
MATRIX = TensorLike("float32", (4, 3))

# file -> op, arguments, mask of the inputs whose gradient is shown (0: the op itself)
PLANS = {
    "cat": ("cat", [[MATRIX, MATRIX], 1], 0),
    "pad": ("constant_pad_nd", [MATRIX, [1, 2], 0.5], 0),
    "roll": ("roll", [MATRIX, [1], [0]], 0),
    "slice_backward": ("slice.Tensor", [MATRIX, 1, 1, 3, 2], 1),
    "diagonal_backward": ("diagonal", [MATRIX, 0, 0, 1], 1),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_is_the_golden_one(name):
    op, arguments, mask = PLANS[name]
    graph_op = declared_graph(REGISTRY[op], arguments)
    if mask:
        graph_op = derive(graph_op, mask).op
    plan = graph_op.lower().plan
    text = show_plan(plan).replace(plan.name, name) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("PELLUCID_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} changed; update it if that was meant"
