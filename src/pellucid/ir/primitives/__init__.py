"""The six primitives. Nothing else exists in a Graph."""

from pellucid.ir.primitives.call import CALL, CallAttrs
from pellucid.ir.primitives.library import LIBRARY, ROUTINES, LibraryAttrs, Routine
from pellucid.ir.primitives.loop import LOOP, LoopAttrs, Store
from pellucid.ir.primitives.nonzero import NONZERO, NonzeroAttrs
from pellucid.ir.primitives.reshape import RESHAPE, ReshapeAttrs
from pellucid.ir.primitives.scan import SCAN, ScanAttrs

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
