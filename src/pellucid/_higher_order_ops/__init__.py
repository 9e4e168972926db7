"""Ops whose arguments are functions: branches, loops and scans, by PyTorch's paths."""

from pellucid._higher_order_ops.associative_scan import associative_scan
from pellucid._higher_order_ops.cond import cond
from pellucid._higher_order_ops.map import map
from pellucid._higher_order_ops.scan import scan
from pellucid._higher_order_ops.while_loop import while_loop
from pellucid._package.calls import offered

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]


@offered.into("_ops.higher_order")
def register_library() -> None:
    """Does nothing: the modules imported above register their ops."""
