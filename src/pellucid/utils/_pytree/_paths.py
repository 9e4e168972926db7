"""Leaves with their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pellucid.utils._pytree._nodes import KeyPath, NodeDef, PyTree, node_of
from pellucid.utils._pytree._trees import (
    IsLeaf,
    TreeSpec,
    tree_structure,
    tree_unflatten,
)


def keystr(kp: KeyPath) -> str:
    """The path as Python source: ``['a'][0].x``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """The value at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """(path, leaf) pairs from left to right, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(
    tree: PyTree, is_leaf: IsLeaf | None = None
) -> list[tuple[KeyPath, Any]]:
    """(path, leaf) pairs from left to right."""
    return list(_paths((), tree, is_leaf))


def _paths(
    path: KeyPath, tree: PyTree, is_leaf: IsLeaf | None
) -> Iterable[tuple[KeyPath, Any]]:
    node = node_of(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        yield path, tree
        return
    for key, child in _children(node, tree):
        yield from _paths((*path, key), child, is_leaf)


def _children(node: NodeDef, tree: PyTree) -> list[tuple[Any, Any]]:
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}; pass one to "
            "register_pytree_node"
        )
    return node.flatten_with_keys_fn(tree)[0]


def tree_map_with_path(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: IsLeaf | None = None,
) -> PyTree:
    """``tree_map`` of a function that takes the path and the leaf."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    calls = zip(pairs, *others, strict=True)
    found = [func(path, leaf, *more) for (path, leaf), *more in calls]
    return tree_unflatten(found, spec)
