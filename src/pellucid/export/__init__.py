"""``torch.export``: exports modules as programs that run without the modules' code.

Read ``tracing.py`` (``export``), ``exported_program.py`` (``ExportedProgram``),
``graph_signature.py`` (kinds of inputs and outputs), ``dynamic_shapes.py`` (``Dim``),
``stored.py`` (``save`` and ``load``) and ``unflatten.py``.
"""

from __future__ import annotations

from pellucid.export.decomp_utils import CustomDecompTable as CustomDecompTable
from pellucid.export.decomp_utils import (
    default_decompositions as default_decompositions,
)
from pellucid.export.draft import draft_export as draft_export
from pellucid.export.dynamic_shapes import AdditionalInputs as AdditionalInputs
from pellucid.export.dynamic_shapes import Dim as Dim
from pellucid.export.dynamic_shapes import ShapesCollection as ShapesCollection
from pellucid.export.dynamic_shapes import dims as dims
from pellucid.export.exported_program import ExportedProgram as ExportedProgram
from pellucid.export.exported_program import ModuleCallEntry as ModuleCallEntry
from pellucid.export.exported_program import ModuleCallSignature as ModuleCallSignature
from pellucid.export.graph_signature import ExportGraphSignature as ExportGraphSignature
from pellucid.export.stored import load as load
from pellucid.export.stored import save as save
from pellucid.export.tracing import export as export
from pellucid.export.tracing import register_dataclass as register_dataclass
from pellucid.export.unflatten import FlatArgsAdapter as FlatArgsAdapter
from pellucid.export.unflatten import UnflattenedModule as UnflattenedModule
from pellucid.export.unflatten import unflatten as unflatten

__all__ = [
    "AdditionalInputs",
    "CustomDecompTable",
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "draft_export",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]
