"""Trees: flattened into leaves and a structure, mapped, compared.

Read ``_nodes.py`` first, which says what a node is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pellucid.utils._pytree._nodes import (
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    Context,
    NodeDef,
    PyTree,
    node_of,
)

IsLeaf = Callable[[PyTree], bool]


class TreeSpec:
    """The structure of a tree; ``type`` None is a leaf."""

    __slots__ = (
        *("children_specs", "context", "node", "num_leaves", "num_nodes", "type"),
    )

    def __init__(
        self,
        type: Any,
        context: Context,
        children_specs: list[TreeSpec],
        node: NodeDef | None = None,
    ) -> None:
        self.type, self.context = type, context
        self.node = SUPPORTED_NODES.get(type) if node is None else node
        self.children_specs = children_specs
        leaves: int = sum(child.num_leaves for child in children_specs)
        self.num_leaves: int = 1 if type is None else leaves
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children_specs)

    def is_leaf(self) -> bool:
        return self.type is None

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    def children(self) -> list[TreeSpec]:
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """A tree with these leaves. Raises ValueError for a wrong number of them."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of ``tree`` where this structure has leaves.

        Dicts may have their keys in another order. Raises ValueError where the
        structures differ.
        """
        found: list[PyTree] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: PyTree, found: list[PyTree]) -> None:
        if self.is_leaf():
            found.append(tree)
            return
        node = node_of(tree)
        kind = type(tree) if node is None else node.type
        are_dicts = {self.type, kind} <= STANDARD_DICT_TYPES
        if node is None or (kind is not self.type and not are_dicts):
            raise ValueError(
                f"Type mismatch; expected {self.type!r}, but got {kind!r}."
            )
        if are_dicts:
            children = self._values(tree)
        else:
            children, context = node.flatten_fn(tree)
            if len(children) != self.num_children:
                raise ValueError(
                    f"Node arity mismatch; expected {self.num_children}, but got "
                    f"{len(children)}."
                )
            if context != self.context and self.type is not deque:  # a length's bound
                raise ValueError(
                    f"Node context mismatch for node type {self.type!r}: "
                    f"{self.context} and {context}."
                )
        for child, spec in zip(children, self.children_specs, strict=True):
            spec._flatten_up_to(child, found)

    def _values(self, tree: Mapping[Any, Any]) -> list[PyTree]:
        """The values of a dict in the order of this structure's keys."""
        has_factory = isinstance(self.context, list) and self.type.__name__ == (
            "defaultdict"
        )
        keys = self.context[1] if has_factory else self.context
        if set(keys) != set(tree):
            missing = [key for key in keys if key not in tree]
            extra = [key for key in tree if key not in set(keys)]
            raise ValueError(
                f"Node keys mismatch; missing key(s): {missing}, extra key(s): {extra}."
            )
        return [tree[key] for key in keys]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec)
            and self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.is_leaf():
            return "*"
        indent += 2
        texts = (child._text(indent) for child in self.children_specs)
        children = (",\n" + " " * indent).join(texts)
        name = getattr(self.type, "__name__", self.type)
        return f"TreeSpec({name}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def tree_flatten(
    tree: PyTree, is_leaf: IsLeaf | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def _flatten_into(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf | None) -> TreeSpec:
    node = node_of(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    specs = [_flatten_into(child, leaves, is_leaf) for child in children]
    return TreeSpec(node.type, context, specs, node)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """A tree with these leaves. Raises ValueError for a wrong number of them."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten got {len(leaves)} leaves for a structure of "
            f"{treespec.num_leaves}: {treespec}"
        )
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> PyTree:
    if spec.node is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children_specs]
    return spec.node.unflatten_fn(children, spec.context)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves from left to right."""
    leaves: list[Any] = []
    _leaves_into(tree, leaves, is_leaf)
    return leaves


def _leaves_into(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf | None) -> None:
    node = node_of(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return
    for child in node.flatten_fn(tree)[0]:
        _leaves_into(child, leaves, is_leaf)


def tree_iter(tree: PyTree, is_leaf: IsLeaf | None = None) -> Iterable[Any]:
    """The leaves, one after another."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: IsLeaf | None = None,
) -> PyTree:
    """The tree of ``func`` of the leaves; ``rests`` have the structure of ``tree``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten(map(func, leaves, *others), spec)


def tree_map_(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: IsLeaf | None = None,
) -> PyTree:
    """Calls ``func`` on the leaves for its effects; returns ``tree``."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(types: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorates a function so that it leaves values of other types as they are.

    ``types``: a type, a tuple or union of types, or a function that tells.
    """
    is_one = types
    if isinstance(types, (type, tuple)) or hasattr(types, "__args__"):

        def is_one(x: Any) -> bool:
            return isinstance(x, types)

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: func(x) if is_one(x) else x

    return decorate


def tree_map_only(
    types: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """``func`` of the leaves of some types; the others stay."""
    return tree_map(map_only(types)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    types: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Calls ``func`` on the leaves of some types; returns ``tree``."""
    return tree_map_(map_only(types)(func), tree, is_leaf=is_leaf)


def tree_all_only(
    type_or_types: Any,
    predicate: Callable[[Any], bool],
    tree: PyTree,
    is_leaf: IsLeaf | None = None,
) -> bool:
    """Whether ``predicate`` holds for every leaf of some types."""
    leaves = tree_iter(tree, is_leaf)
    return all(predicate(x) for x in leaves if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any,
    predicate: Callable[[Any], bool],
    tree: PyTree,
    is_leaf: IsLeaf | None = None,
) -> bool:
    """Whether ``predicate`` holds for some leaf of these types."""
    leaves = tree_iter(tree, is_leaf)
    return any(predicate(x) for x in leaves if isinstance(x, type_or_types))


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Whether a value is a leaf."""
    return node_of(tree) is None or (is_leaf is not None and is_leaf(tree))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_all(
    predicate: Callable[[Any], bool],
    tree: PyTree,
    is_leaf: IsLeaf | None = None,
) -> bool:
    """Whether ``predicate`` holds for every leaf."""
    return all(map(predicate, tree_iter(tree, is_leaf)))


def tree_any(
    predicate: Callable[[Any], bool],
    tree: PyTree,
    is_leaf: IsLeaf | None = None,
) -> bool:
    """Whether ``predicate`` holds for some leaf."""
    return any(map(predicate, tree_iter(tree, is_leaf)))


def treespec_pprint(treespec: TreeSpec) -> str:
    """The structure with a star for each leaf."""
    return repr(tree_unflatten(["*"] * treespec.num_leaves, treespec)).replace(
        "'*'", "*"
    )


def _broadcast_to_and_flatten(
    tree: PyTree,
    treespec: TreeSpec,
    is_leaf: IsLeaf | None = None,
) -> list[Any] | None:
    """One leaf of ``tree`` for each leaf of ``treespec``, of which it is a prefix.

    None when it is not.
    """
    node = node_of(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or node.type is not treespec.type:
        return None
    children, context = node.flatten_fn(tree)
    same = context == treespec.context
    if not same or len(children) != treespec.num_children:
        return None
    result: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        found = _broadcast_to_and_flatten(child, spec, is_leaf)
        if found is None:
            return None
        result += found
    return result


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return _LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple of trees."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (),
    /,
    **kwargs: TreeSpec,
) -> TreeSpec:
    """The structure of a dict of trees."""
    parts = dict(mapping, **kwargs)
    return TreeSpec(dict, list(parts), list(parts.values()))
