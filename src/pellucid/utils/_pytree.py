"""Nested containers taken apart into leaves and put together again.

tuple, list, dict, OrderedDict, defaultdict, deque and named tuples are nodes,
everything else is a leaf; ``register_pytree_node`` adds types. Used by
``pellucid.func``; the names are those of ``torch.utils._pytree``.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = [
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
    "treespec_pprint",
]

PyTree = Any
Context = Any
_Flatten = Callable[[Any], tuple[list[Any], Context]]
_Unflatten = Callable[[Iterable[Any], Context], Any]


class NodeDef(NamedTuple):
    """How a container type is taken apart and put together."""

    flatten_fn: _Flatten
    unflatten_fn: _Unflatten


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(
    cls: type, flatten_fn: _Flatten, unflatten_fn: _Unflatten, **_names: Any
) -> None:
    """Makes instances of ``cls`` nodes.

    ``flatten_fn(node)`` gives the children and a context, from which
    ``unflatten_fn(children, context)`` makes a node again. Raises ValueError when
    ``cls`` is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is registered already as a pytree node")
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn)


def _dict_children(node: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(node.values()), list(node)


register_pytree_node(tuple, lambda t: (list(t), None), lambda c, _: tuple(c))
register_pytree_node(list, lambda t: (t, None), lambda c, _: list(c))
register_pytree_node(
    dict, _dict_children, lambda c, keys: dict(zip(keys, c, strict=True))
)


class MappingKey(NamedTuple):
    """The way from a dict to one of its values."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


def _dict_flatten_with_keys(
    node: dict[Any, Any],
) -> tuple[list[tuple[MappingKey, Any]], Context]:
    """The values of a dict, each with the way to it."""
    values, context = _dict_children(node)
    keys = map(MappingKey, context)
    return list(zip(keys, values, strict=True)), context


register_pytree_node(
    OrderedDict,
    _dict_children,
    lambda c, keys: OrderedDict(zip(keys, c, strict=True)),
)
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    lambda c, context: defaultdict(context[0], zip(context[1], c, strict=True)),
)
register_pytree_node(
    deque, lambda d: (list(d), d.maxlen), lambda c, length: deque(c, maxlen=length)
)
_NAMED_TUPLE = NodeDef(lambda t: (list(t), type(t)), lambda c, cls: cls(*c))
SUPPORTED_NODES[namedtuple] = _NAMED_TUPLE
# Results of ops, which take their fields as one sequence.
_STRUCT_SEQUENCE = NodeDef(lambda t: (list(t), type(t)), lambda c, cls: cls(c))


def _node_def(tree: PyTree) -> tuple[type | None, NodeDef | None]:
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls, SUPPORTED_NODES[cls]
    if isinstance(tree, tuple) and hasattr(cls, "_fields"):
        return cls, _NAMED_TUPLE
    if isinstance(tree, tuple) and hasattr(cls, "n_sequence_fields"):
        return cls, _STRUCT_SEQUENCE
    return None, None


class TreeSpec:
    """The structure of a tree; ``type`` None is a leaf."""

    __slots__ = ("children_specs", "context", "node", "num_leaves", "type")

    def __init__(
        self,
        type: type | None,
        context: Context,
        children_specs: list[TreeSpec],
        node: NodeDef | None = None,
    ) -> None:
        self.type, self.context = type, context
        self.node = SUPPORTED_NODES.get(type) if node is None else node
        self.children_specs = children_specs
        leaves: int = sum(child.num_leaves for child in children_specs)
        self.num_leaves: int = 1 if type is None else leaves

    def is_leaf(self) -> bool:
        return self.type is None

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

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
        if self.is_leaf():
            return "*"
        children = ", ".join(map(repr, self.children_specs))
        name = getattr(self.type, "__name__", self.type)
        return f"TreeSpec({name}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _get_node_type(tree: PyTree) -> Any:
    """What ``SUPPORTED_NODES`` knows the type of ``tree`` by, or the type itself."""
    return namedtuple if _node_def(tree)[1] is _NAMED_TUPLE else type(tree)


_LEAF = LeafSpec()


def tree_flatten(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def _flatten_into(
    tree: PyTree, leaves: list[Any], is_leaf: Callable[[PyTree], bool] | None
) -> TreeSpec:
    cls, node = _node_def(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    specs = [_flatten_into(child, leaves, is_leaf) for child in children]
    return TreeSpec(cls, context, specs, node)


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


def tree_leaves(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> Iterable[Any]:
    """The leaves, one after another."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """The tree of ``func`` of the leaves; ``rests`` have the structure of ``tree``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_leaves_as(spec, rest, is_leaf) for rest in rests]
    return tree_unflatten(map(func, leaves, *others), spec)


def _leaves_as(
    spec: TreeSpec, tree: PyTree, is_leaf: Callable[[PyTree], bool] | None
) -> list[Any]:
    leaves, found = tree_flatten(tree, is_leaf)
    if found != spec:
        raise ValueError(f"trees of two structures were given: {spec} and {found}")
    return leaves


def tree_map_(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """Calls ``func`` on the leaves for its effects; returns ``tree``."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    types: Any,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """``func`` of the leaves of some types; the others stay."""
    return tree_map(
        lambda leaf: func(leaf) if isinstance(leaf, types) else leaf,
        tree,
        is_leaf=is_leaf,
    )


def tree_all(
    predicate: Callable[[Any], bool],
    tree: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> bool:
    """Whether ``predicate`` holds for every leaf."""
    return all(map(predicate, tree_iter(tree, is_leaf)))


def tree_any(
    predicate: Callable[[Any], bool],
    tree: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
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
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> list[Any] | None:
    """One leaf of ``tree`` for each leaf of ``treespec``, of which it is a prefix.

    None when it is not.
    """
    cls, node = _node_def(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or cls is not treespec.type:
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
