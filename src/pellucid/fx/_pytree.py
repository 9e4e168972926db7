"""``torch.fx._pytree``: flattens the arguments of generated code by a known spec."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from pellucid.utils._pytree import SUPPORTED_NODES as PYTREE_NODES
from pellucid.utils._pytree import PyTree, TreeSpec

FlattenFuncSpec = Callable[[PyTree, TreeSpec], list[Any]]
FlattenFuncExactMatchSpec = Callable[[PyTree, TreeSpec], bool]
SUPPORTED_NODES: dict[type, FlattenFuncSpec] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[type, FlattenFuncExactMatchSpec | None] = {}


def register_pytree_flatten_spec(
    cls: type,
    flatten_fn_spec: FlattenFuncSpec,
    flatten_fn_exact_match_spec: FlattenFuncExactMatchSpec | None = None,
) -> None:
    """Registers a container: ``flatten_fn_spec(tree, spec)`` returns the children."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(
    pytree: PyTree, spec: TreeSpec, exact_structural_match: bool = False
) -> list[Any]:
    """The leaves of ``pytree``, whose structure is ``spec``."""
    if spec.is_leaf():
        return [pytree]
    flatten = SUPPORTED_NODES.get(spec.type) or _registered(spec.type)
    if flatten is None:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. "
            f"Please "
            "register one with torch.fx._pytree.register_pytree_flatten_spec"
        )
    children = flatten(pytree, spec)
    is_exact = SUPPORTED_NODES_EXACT_MATCH.get(spec.type)
    if exact_structural_match and is_exact and not is_exact(pytree, spec):
        raise RuntimeError(f"cannot flatten {pytree} by {spec}: the structures differ")
    return [
        leaf
        for child, child_spec in zip(children, spec.children_specs, strict=False)
        for leaf in tree_flatten_spec(child, child_spec, exact_structural_match)
    ]


def _registered(cls: Any) -> FlattenFuncSpec | None:
    """How a container that only ``utils._pytree`` knows is flattened."""
    node = PYTREE_NODES.get(cls)
    return None if node is None else lambda tree, spec: list(node.flatten_fn(tree)[0])


def _sequence(tree: Any, spec: TreeSpec) -> list[Any]:
    return [tree[i] for i in range(spec.num_children)]


def _mapping(tree: Any, spec: TreeSpec) -> list[Any]:
    return [tree[key] for key in spec.context]


def _same_length(tree: Any, spec: TreeSpec) -> bool:
    return len(tree) == spec.num_children


register_pytree_flatten_spec(dict, _mapping, _same_length)
register_pytree_flatten_spec(list, _sequence, _same_length)
register_pytree_flatten_spec(tuple, _sequence, _same_length)
register_pytree_flatten_spec(namedtuple, _sequence, _same_length)  # type: ignore[arg-type]
