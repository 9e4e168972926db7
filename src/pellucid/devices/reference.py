"""What launched kernels mean, in NumPy: ``run(launch, view)``.

The engine's executor under the name that backends import
(``pellucid_compiler/devices/reference.py``).
"""

from pellucid_compiler.devices.reference import (
    KernelFailed,
    Launch,
    Operand,
    accepts,
    array_dtype,
    run,
)

__all__ = ["KernelFailed", "Launch", "Operand", "accepts", "array_dtype", "run"]
