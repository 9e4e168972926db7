"""``torch.fx.passes.param_fetch``: records parameters of modules in nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid.fx.graph_module import GraphModule
from pellucid.nn import Module

__all__ = [
    "default_matching",
    "extract_attrs_for_lowering",
    "lift_lowering_attrs_to_nodes",
]

module_fetch_book: dict[type, tuple[int, list[str], Callable[..., Any]]]


def default_matching(name: str, target_version: int) -> str:
    """The name itself."""
    return name


module_fetch_book = {
    pellucid.nn.Linear: (1, ["weight", "bias"], default_matching),
    pellucid.nn.Conv2d: (
        1,
        [
            *("weight", "bias", "kernel_size", "stride", "padding", "dilation"),
            *("groups", "padding_mode"),
        ],
        default_matching,
    ),
    pellucid.nn.BatchNorm2d: (
        2,
        ["weight", "bias", "running_mean", "running_var", "eps"],
        default_matching,
    ),
    pellucid.nn.AdaptiveAvgPool2d: (1, [], default_matching),
    pellucid.nn.MaxPool2d: (
        1,
        ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"],
        default_matching,
    ),
}


def extract_attrs_for_lowering(mod: Module) -> dict[str, Any]:
    """The parameters and settings of a layer; ``name`` is its type."""
    attrs: dict[str, Any] = {"name": pellucid.typename(mod)}
    kind = type(mod)
    if kind not in module_fetch_book:
        raise RuntimeError(f"{kind} is not in the module fetch book")
    version, names, matching = module_fetch_book[kind]
    if version < mod._version:
        raise RuntimeError(
            f"Fetcher version {version} try to fetch {attrs['name']} version "
            f"{mod._version}, please upgrade the module_fetch_book"
        )
    for name in names:
        attrs[name] = getattr(mod, matching(name, mod._version))
    return attrs


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Set ``attrs_for_lowering`` of every node that calls a layer."""
    submodules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op != "call_module":
            continue
        submodule = submodules[str(node.target)]
        if isinstance(submodule, GraphModule):
            lift_lowering_attrs_to_nodes(submodule)
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(submodule)  # type: ignore[attr-defined]
