"""Graph-to-Graph transforms: jvp (linearise), transpose, vjp, batch.

One rule per primitive; no transform names an op. Imports only ``ir``. Read jvp.py, then
transpose.py.
"""

from pellucid_compiler.transforms.batch import batch
from pellucid_compiler.transforms.jvp import jvp
from pellucid_compiler.transforms.transpose import transpose
from pellucid_compiler.transforms.vjp import backward, joint, vjp

__all__ = ["backward", "batch", "joint", "jvp", "transpose", "vjp"]
