"""The state of an observed model for ``convert``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pellucid.ao.quantization.fx.custom_config import PrepareCustomConfig
from pellucid.ao.quantization.qconfig_mapping import QConfigMapping

_KEY = "_observed_graph_module_attrs"


@dataclass
class ObservedGraphModuleAttrs:
    """The decisions of ``prepare``, by the names of nodes."""

    node_name_to_qconfig: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]
    prepare_custom_config: PrepareCustomConfig
    qconfig_mapping: QConfigMapping
    is_qat: bool
    observed_node_names: set[str]
    is_observed_standalone_module: bool = False


def remember(model: Any, attributes: ObservedGraphModuleAttrs) -> None:
    """Marks a model as observed."""
    model.meta[_KEY] = attributes


def remembered(model: Any) -> ObservedGraphModuleAttrs | None:
    """The state of an observed model; None for others."""
    found: ObservedGraphModuleAttrs | None = getattr(model, "meta", {}).get(_KEY)
    return found


def forget(model: Any) -> None:
    """Removes the state of an observed model."""
    model.meta.pop(_KEY, None)


def is_standalone(module: Any) -> bool:
    """Whether a module is an observed standalone model."""
    found = remembered(module)
    return found is not None and found.is_observed_standalone_module
