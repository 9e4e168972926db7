"""Graph to Graph: jvp (linearise), transpose, vjp, batch, fuse; one rule per primitive.

No transform names an op. Imports ``ir`` alone. Read jvp.py, then transpose.py.
"""

from pellucid.transforms.batch import batch
from pellucid.transforms.fuse import fuse, inline_calls
from pellucid.transforms.halves import widen_halves
from pellucid.transforms.jvp import jvp
from pellucid.transforms.ranges import split_ranges
from pellucid.transforms.transpose import transpose
from pellucid.transforms.vjp import backward, joint, vjp

__all__ = [
    "backward",
    "batch",
    "fuse",
    "inline_calls",
    "joint",
    "jvp",
    "split_ranges",
    "transpose",
    "vjp",
    "widen_halves",
]
