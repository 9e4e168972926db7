"""Tile programs: how the runtime runs a kernel that it does not have.

Placeholder until written.
"""
from pellucid.compiler.kernel import Kernel
def fallback_program(kernel: Kernel) -> bytes:
    return b""
