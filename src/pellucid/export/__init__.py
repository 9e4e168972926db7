"""``torch.export``: programs of modules that run without the modules' code.

Read ``tracing.py`` (``export``), ``program.py`` (``ExportedProgram``), ``dims.py``
(``Dim``) and ``stored.py`` (``save`` and ``load``).
"""

from __future__ import annotations

from pellucid.export.dims import Dim as Dim
from pellucid.export.dims import dims as dims
from pellucid.export.program import ExportedProgram as ExportedProgram
from pellucid.export.program import ExportGraphSignature as ExportGraphSignature
from pellucid.export.stored import load as load
from pellucid.export.stored import save as save
from pellucid.export.tracing import export as export
from pellucid.export.tracing import register_dataclass as register_dataclass

__all__ = [
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "dims",
    "export",
    "load",
    "register_dataclass",
    "save",
]
