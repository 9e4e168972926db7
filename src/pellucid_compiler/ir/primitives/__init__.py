"""The six primitives, of which all Graphs consist."""

from pellucid_compiler.ir.primitives.call import CALL, CallAttrs
from pellucid_compiler.ir.primitives.library import (
    LIBRARY,
    ROUTINES,
    LibraryAttrs,
    Routine,
)
from pellucid_compiler.ir.primitives.loop import LOOP, LoopAttrs, Store
from pellucid_compiler.ir.primitives.nonzero import NONZERO, NonzeroAttrs
from pellucid_compiler.ir.primitives.reshape import RESHAPE, ReshapeAttrs
from pellucid_compiler.ir.primitives.scan import SCAN, ScanAttrs

__all__ = [
    "CALL",
    "LIBRARY",
    "LOOP",
    "NONZERO",
    "RESHAPE",
    "ROUTINES",
    "SCAN",
    "CallAttrs",
    "LibraryAttrs",
    "LoopAttrs",
    "NonzeroAttrs",
    "ReshapeAttrs",
    "Routine",
    "ScanAttrs",
    "Store",
]
