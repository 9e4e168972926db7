"""Assigns qconfigs from a ``QConfigMapping`` to the nodes of a graph."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pellucid.ao.nn.intrinsic import _FusedModule
from pellucid.ao.quantization.backend_config import BackendConfig
from pellucid.ao.quantization.fx.matching import Modules, is_observer
from pellucid.ao.quantization.qconfig import qconfig_equals
from pellucid.ao.quantization.qconfig_mapping import QConfigMapping
from pellucid.fx import GraphModule, Node

Scopes = dict[str, tuple[str, Any]]
_Calls = Counter[tuple[str, Any]]


def qconfigs_of(
    model: GraphModule, modules: Modules, mapping: QConfigMapping, scopes: Scopes
) -> dict[str, Any]:
    """The qconfig of each node by its name; modules store theirs as an attribute."""
    found: dict[str, Any] = {}
    calls: _Calls = Counter()
    for node in model.graph.nodes:
        module = modules[str(node.target)] if node.op == "call_module" else None
        if is_observer(module):
            continue
        found[node.name] = _of_node(node, modules, mapping, scopes, calls)
        if module is not None:
            module.qconfig = found[node.name]
    return found


def _of_node(
    node: Node,
    modules: Modules,
    mapping: QConfigMapping,
    scopes: Scopes,
    calls: _Calls,
) -> Any:
    whole, by_type = mapping.global_qconfig, mapping.object_type_qconfigs
    if node.op == "get_attr":
        name = str(node.target).rpartition(".")[0]
        return _of_module(mapping, type(modules[name]), name, whole)
    if node.op == "call_module":
        kind = type(modules[str(node.target)])
        found = _of_module(mapping, kind, str(node.target), whole)
        path, scope_kind = scopes[node.name]
        return _numbered(mapping, path.rpartition(".")[0], scope_kind, calls, found)
    if node.op == "call_method":
        path, scope_kind = scopes[node.name]
        found = _of_module(mapping, node.target, path, whole)
        return _of_module(mapping, scope_kind, path, found)
    if node.op == "call_function":
        path, scope_kind = scopes[node.name]
        found = _of_module(mapping, scope_kind, path, by_type.get(node.target, whole))
        return _numbered(mapping, path, node.target, calls, found)
    return None


def _of_module(mapping: QConfigMapping, kind: Any, name: str, otherwise: Any) -> Any:
    """By the nearest name, else by the first pattern of names, else by type."""
    nearest = name
    while nearest and nearest not in mapping.module_name_qconfigs:
        nearest = nearest.rpartition(".")[0]
    if nearest:
        return mapping.module_name_qconfigs[nearest]
    for pattern, qconfig in mapping.module_name_regex_qconfigs.items():
        if re.match(pattern, name):
            return qconfig
    return mapping.object_type_qconfigs.get(kind, otherwise)


def _numbered(
    mapping: QConfigMapping,
    path: str,
    kind: Any,
    calls: _Calls,
    otherwise: Any,
) -> Any:
    """By the number of the call of a type in its module, if that is given."""
    number = calls[path, kind]
    calls[path, kind] += 1
    given = mapping.module_name_object_type_order_qconfigs
    return given.get((path, kind, number), otherwise)


def for_fused(model: GraphModule, modules: Modules, mapping: QConfigMapping) -> None:
    """Gives fused layers the qconfig of their parts' types, which must be equal."""
    by_type = mapping.object_type_qconfigs
    for node in model.graph.nodes if by_type else ():
        fused = modules.get(str(node.target)) if node.op == "call_module" else None
        if not isinstance(fused, _FusedModule):
            continue
        first, *others = (type(each) for each in fused.children())
        qconfig = by_type.get(first)
        for kind in others:
            if not qconfig_equals(by_type.get(kind), qconfig):
                raise LookupError(
                    "During fusion, we need to specify the same qconfigs for all "
                    f"module types in {type(fused)}; that of {kind} differs from that "
                    f"of {first}"
                )
        if qconfig is not None:
            by_type[type(fused)] = qconfig


def for_trained(mapping: QConfigMapping, backend: BackendConfig) -> None:
    """Gives fake-quantized layers the qconfigs of their float types."""
    by_type = mapping.object_type_qconfigs
    for kind, trained in trained_layers(backend).items():
        if kind in by_type:
            by_type[trained] = by_type[kind]


def trained_layers(backend: BackendConfig) -> dict[Any, Any]:
    """Float layers to fake-quantized layers, from a backend's table."""
    return {
        pattern: config.qat_module
        for pattern, config in backend.by_pattern.items()
        if config.qat_module is not None
    }


def for_converting(prepared: QConfigMapping, given: QConfigMapping) -> None:
    """Refuses a mapping for ``convert`` that differs from the first other than by
    None.
    """
    if not qconfig_equals(prepared.global_qconfig, given.global_qconfig):
        raise AssertionError(
            "Expected global qconfigs to be the same in the prepare and convert "
            "quantization configs"
        )
    for style in (
        *("object_type_qconfigs", "module_name_qconfigs", "module_name_regex_qconfigs"),
    ):
        before, now = getattr(prepared, style), getattr(given, style)
        for key, qconfig in before.items():
            if key not in now:
                raise AssertionError(
                    f"Missing key {key} in {style} of convert's QConfigMapping when it "
                    "was present in prepare"
                )
            if now[key] is not None and not qconfig_equals(qconfig, now[key]):
                raise AssertionError(
                    f"Expected convert's QConfigMapping to have the qconfig of prepare "
                    f"or None for {key} in {style}; prepare: {qconfig}; convert: "
                    f"{now[key]}"
                )
