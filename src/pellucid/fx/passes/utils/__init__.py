"""``torch.fx.passes.utils``: matching and replacing subgraphs."""

from pellucid.fx.passes.utils.common import compare_graphs as compare_graphs
from pellucid.fx.passes.utils.common import (
    lift_subgraph_as_module as lift_subgraph_as_module,
)
