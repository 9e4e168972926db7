"""What launched kernels mean, in NumPy: ``run(launch, view)``.

The engine's executor under the name that backends import
(``pellucid_compiler/devices/reference.py``, ``launch.py``).
"""

from pellucid_compiler.devices.launch import KernelFailed, Launch, Operand, array_dtype
from pellucid_compiler.devices.reference import accepts, run

__all__ = ["KernelFailed", "Launch", "Operand", "accepts", "array_dtype", "run"]
