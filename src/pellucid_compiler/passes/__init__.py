"""Semantics-preserving passes: fusion, ranges, products, half precision.

Imports only ``ir``. Read fuse.py, then ranges.py.
"""

from pellucid_compiler.passes.fuse import fuse, inline_calls
from pellucid_compiler.passes.halves import widen_halves
from pellucid_compiler.passes.ranges import split_ranges

__all__ = ["fuse", "inline_calls", "split_ranges", "widen_halves"]
