"""The tracer for quantization: layers and configured modules are leaves."""

from __future__ import annotations

from typing import Any

from pellucid.ao.nn.intrinsic import _FusedModule
from pellucid.fx import Tracer
from pellucid.fx.proxy import Scope, ScopeContextManager

__all__ = ["QuantizationTracer", "Scope", "ScopeContextManager"]


class QuantizationTracer(Tracer):
    """``fx.Tracer`` with additional leaf modules by name and by class."""

    def __init__(
        self, skipped_module_names: list[str], skipped_module_classes: list[Any]
    ) -> None:
        super().__init__()
        self.skipped_module_names = skipped_module_names
        self.skipped_module_classes = skipped_module_classes

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a call of ``m`` is one node."""
        return (
            super().is_leaf_module(m, module_qualified_name)
            or module_qualified_name in self.skipped_module_names
            or type(m) in self.skipped_module_classes
            or isinstance(m, _FusedModule)
        )
