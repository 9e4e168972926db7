"""``torch.utils._pytree``: every kind of node, paths, text, registration, refusals."""

import enum
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import pytest

import pellucid as torch
from pellucid.utils import _pytree as trees

Pair = namedtuple("Pair", "x y")
TREES = {
    "leaf": 1,
    "none": None,
    "empty": [],
    "nested": [1, {"b": (2, 3), "a": []}, None],
    "mappings": (OrderedDict(b=1, a=2), defaultdict(list, {"q": [1, 2]})),
    "named": [Pair(1, (2,)), deque([1, 2], maxlen=3)],
}


@pytest.mark.parametrize("name", TREES)
def test_trees_are_put_together_again(name):
    tree = TREES[name]
    leaves, spec = trees.tree_flatten(tree)
    assert len(leaves) == spec.num_leaves
    assert trees.tree_unflatten(leaves, spec) == tree == spec.unflatten(leaves)
    assert trees.tree_structure(tree) == spec == trees.tree_structure(tree)
    paths = trees.tree_leaves_with_path(tree)
    assert [leaf for _, leaf in paths] == leaves
    assert all(trees.key_get(tree, path) is leaf for path, leaf in paths)
    mapped = trees.tree_map_with_path(lambda _, x, y: (x, y), tree, tree)
    assert trees.tree_map(lambda x, y: (x, y), tree, tree) == mapped


def test_structures_and_paths_are_printed_as_in_pytorch():
    tree = [1, {"a": (2, 3)}, OrderedDict(b=1), Pair(1, 2), deque([1])]
    assert repr(trees.tree_structure(tree[:3])) == (
        "TreeSpec(list, None, [*,\n"
        "  TreeSpec(dict, ['a'], [TreeSpec(tuple, None, [*,\n"
        "      *])]),\n"
        "  TreeSpec(OrderedDict, ['b'], [*])])"
    )
    texts = [trees.keystr(path) for path, _ in trees.tree_leaves_with_path(tree)]
    assert texts == [
        "[0]", "[1]['a'][0]", "[1]['a'][1]", "[2]['b']", "[3].x", "[3].y", "[4][0]",
    ]  # fmt: skip
    spec = trees.tree_structure([1, {"a": (2, 3)}])
    assert trees.treespec_pprint(spec) == "[*, {'a': (*, *)}]"


def test_structures_are_text():
    spec = trees.tree_structure([1, {"a": 2}, None])
    leaf = '{"type": null, "context": null, "children_spec": []}'
    assert trees.treespec_dumps(spec) == (
        '[1, {"type": "builtins.list", "context": "null", "children_spec": ['
        + leaf
        + ', {"type": "builtins.dict", "context": "[\\"a\\"]", "children_spec": ['
        + leaf
        + "]}, "
        + leaf
        + "]}]"
    )
    for tree in TREES.values():
        spec = trees.tree_structure(tree)
        if "namedtuple" in repr(spec):
            with pytest.raises(NotImplementedError, match="_register_namedtuple"):
                trees.treespec_dumps(spec)
            continue
        assert trees.treespec_loads(trees.treespec_dumps(spec)) == spec
    with pytest.raises(ValueError, match="Unknown protocol 7"):
        trees.treespec_loads("[7, {}]")
    with pytest.raises(TypeError, match="TreeSpec"):
        trees.treespec_dumps([1])


def test_named_tuples_have_names_in_text():
    Point = namedtuple("Point", "x y")
    trees._register_namedtuple(Point, serialized_type_name="tests.Point")
    spec = trees.tree_structure(Point(1, 2))
    assert trees.treespec_loads(trees.treespec_dumps(spec)) == spec


def test_results_of_ops_are_nodes():
    actual = torch.tensor([[3.0, 1], [2, 5]]).max(1)
    leaves, spec = trees.tree_flatten(actual)
    assert type(trees.tree_unflatten(leaves, spec)) is type(actual)
    assert trees.is_structseq(actual) and not trees.is_namedtuple(actual)
    assert trees.is_namedtuple(Pair) and trees.is_namedtuple_instance(Pair(1, 2))


@pytest.mark.parametrize(
    ("tree", "other", "text"),
    [
        ([1], (1,), "Type mismatch; expected"),
        ([1], 1, "Type mismatch; expected"),
        ([1], [1, 2], "Node arity mismatch; expected 1, but got 2"),
        ({"a": 1}, {"b": 1}, "missing key"),
        (Pair(1, 2), (1, 2), "Type mismatch; expected"),
    ],
)
def test_other_structures_are_refused(tree, other, text):
    with pytest.raises(ValueError, match=text):
        trees.tree_map(lambda x, y: x, tree, other)
    with pytest.raises(ValueError, match="leaves"):
        trees.tree_unflatten([1, 2, 3], trees.tree_structure([1, 2]))


def test_dicts_meet_by_their_keys():
    actual = trees.tree_map(lambda x, y: x - y, {"a": 1, "b": 2}, {"b": 20, "a": 10})
    assert actual == {"a": -9, "b": -18}
    ordered = trees.tree_map(lambda x, y: x + y, {"a": 1}, OrderedDict(a=2))
    assert ordered == {"a": 3} and type(ordered) is dict


def test_leaves_are_chosen_by_type():
    tree = [1, "a", 2.0]
    assert trees.tree_map_only(int, lambda x: -x, tree) == [-1, "a", 2.0]
    assert trees.tree_map_only(int | float, lambda x: -x, tree) == [-1, "a", -2.0]
    assert trees.tree_map_only(lambda x: x == "a", str.upper, tree) == [1, "A", 2.0]
    assert trees.tree_all_only(int, lambda x: x > 0, tree)
    assert not trees.tree_any_only(float, lambda x: x > 5, tree)
    seen = []
    assert trees.tree_map_only_(str, seen.append, tree) is tree and seen == ["a"]
    assert trees.arg_tree_leaves(1, [2], a=3) == [1, 2, 3]
    assert trees.tree_is_leaf(1) and not trees.tree_is_leaf([1])
    pairs = [(1, 2), (3, 4)]
    assert trees.tree_leaves(pairs, is_leaf=lambda x: isinstance(x, tuple)) == pairs


def test_dataclasses_are_nodes_once_registered():
    @dataclass
    class Batch:
        image: object
        label: object = None
        size: int = 3

    assert trees.tree_leaves(Batch(1)) == [Batch(1)]
    trees.register_dataclass(Batch)
    assert trees.tree_map(lambda x: x + 1, Batch(1, None)) == Batch(2, None, 4)
    paths = trees.tree_leaves_with_path(Batch((1,), 2))
    assert [trees.keystr(path) for path, _ in paths] == [".image[0]", ".label", ".size"]
    with pytest.raises(ValueError, match="already registered"):
        trees.register_dataclass(Batch)
    with pytest.raises(ValueError, match="field_names must be specified"):
        trees.register_dataclass(type("Plain", (), {}))
    with pytest.raises(NotImplementedError, match="serialized_type_name"):
        trees.treespec_dumps(trees.tree_structure(Batch(1)))


def test_constants_are_structure():
    class Mode(enum.Enum):
        FAST = 1
        SLOW = 2

    with pytest.raises(TypeError, match="non-default `__eq__`"):
        trees.register_constant(Mode)

    @dataclass(frozen=True)
    class Setting:
        value: int

    trees.register_constant(Setting)
    leaves, spec = trees.tree_flatten([Setting(1), 2])
    assert leaves == [2] and spec.unflatten([5]) == [Setting(1), 5]
    assert spec != trees.tree_structure([Setting(2), 2])
    assert trees.is_constant_class(Setting)


def test_a_node_without_keys_has_no_paths():
    class Box:
        def __init__(self, content):
            self.content = content

    trees.register_pytree_node(
        Box, lambda box: ([box.content], None), lambda c, _: Box(*c)
    )
    assert trees.tree_map(lambda x: x + 1, Box(1)).content == 2
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        trees.tree_flatten_with_path(Box(1))
    with pytest.raises(ValueError, match="Both to_dumpable_context and"):
        trees.register_pytree_node(
            type("Other", (), {}), list, list, to_dumpable_context=str
        )


def test_structures_are_made_of_structures():
    leaf = trees.treespec_leaf()
    assert trees.treespec_tuple([leaf, leaf]) == trees.tree_structure((1, 2))
    assert trees.treespec_dict({"a": leaf}) == trees.tree_structure({"a": 1})
    spec = trees.tree_structure([1, (2, 3)])
    assert spec.children() == [leaf, spec.child(1)] and spec.num_nodes == 5


def test_sizes_are_nodes():
    size = torch.Size([2, 3])
    leaves, spec = trees.tree_flatten(size)
    assert leaves == [2, 3]
    assert spec.type is torch.Size
    result = trees.tree_unflatten([4, 5], spec)
    assert type(result) is torch.Size
    assert result == (4, 5)
    assert trees.treespec_loads(trees.treespec_dumps(spec)) == spec
