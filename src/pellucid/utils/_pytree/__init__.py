"""``torch.utils._pytree``: flattens nested containers into leaves, and unflattens them.

tuple, list, dict, OrderedDict, defaultdict, deque, named tuples and results of ops are
nodes, everything else is a leaf; ``register_pytree_node`` adds types. ``_nodes.py`` has
the types, ``_trees.py`` the functions of trees, ``_paths.py`` those with paths,
``_text.py`` structures as text.
"""

from pellucid.utils._pytree._nodes import (
    BUILTIN_TYPES as BUILTIN_TYPES,
)
from pellucid.utils._pytree._nodes import (
    CONSTANT_NODES as CONSTANT_NODES,
)
from pellucid.utils._pytree._nodes import (
    SERIALIZED_TYPE_TO_PYTHON_TYPE as SERIALIZED_TYPE_TO_PYTHON_TYPE,
)
from pellucid.utils._pytree._nodes import (
    STANDARD_DICT_TYPES as STANDARD_DICT_TYPES,
)
from pellucid.utils._pytree._nodes import (
    SUPPORTED_NODES as SUPPORTED_NODES,
)
from pellucid.utils._pytree._nodes import (
    SUPPORTED_SERIALIZED_TYPES as SUPPORTED_SERIALIZED_TYPES,
)
from pellucid.utils._pytree._nodes import (
    ConstantNode as ConstantNode,
)
from pellucid.utils._pytree._nodes import (
    Context as Context,
)
from pellucid.utils._pytree._nodes import (
    DumpableContext as DumpableContext,
)
from pellucid.utils._pytree._nodes import (
    FlattenFn as FlattenFn,
)
from pellucid.utils._pytree._nodes import (
    FromDumpableContextFn as FromDumpableContextFn,
)
from pellucid.utils._pytree._nodes import (
    GetAttrKey as GetAttrKey,
)
from pellucid.utils._pytree._nodes import (
    KeyEntry as KeyEntry,
)
from pellucid.utils._pytree._nodes import (
    KeyPath as KeyPath,
)
from pellucid.utils._pytree._nodes import (
    MappingKey as MappingKey,
)
from pellucid.utils._pytree._nodes import (
    NodeDef as NodeDef,
)
from pellucid.utils._pytree._nodes import (
    PyTree as PyTree,
)
from pellucid.utils._pytree._nodes import (
    SequenceKey as SequenceKey,
)
from pellucid.utils._pytree._nodes import (
    ToDumpableContextFn as ToDumpableContextFn,
)
from pellucid.utils._pytree._nodes import (
    UnflattenFn as UnflattenFn,
)
from pellucid.utils._pytree._nodes import (
    _defaultdict_deserialize as _defaultdict_deserialize,
)
from pellucid.utils._pytree._nodes import (
    _defaultdict_flatten as _defaultdict_flatten,
)
from pellucid.utils._pytree._nodes import (
    _defaultdict_flatten_with_keys as _defaultdict_flatten_with_keys,
)
from pellucid.utils._pytree._nodes import (
    _defaultdict_serialize as _defaultdict_serialize,
)
from pellucid.utils._pytree._nodes import (
    _defaultdict_unflatten as _defaultdict_unflatten,
)
from pellucid.utils._pytree._nodes import (
    _deque_flatten as _deque_flatten,
)
from pellucid.utils._pytree._nodes import (
    _deque_flatten_with_keys as _deque_flatten_with_keys,
)
from pellucid.utils._pytree._nodes import (
    _deque_unflatten as _deque_unflatten,
)
from pellucid.utils._pytree._nodes import (
    _dict_flatten as _dict_flatten,
)
from pellucid.utils._pytree._nodes import (
    _dict_flatten_with_keys as _dict_flatten_with_keys,
)
from pellucid.utils._pytree._nodes import (
    _dict_unflatten as _dict_unflatten,
)
from pellucid.utils._pytree._nodes import (
    _get_node_type as _get_node_type,
)
from pellucid.utils._pytree._nodes import (
    _list_flatten as _list_flatten,
)
from pellucid.utils._pytree._nodes import (
    _list_flatten_with_keys as _list_flatten_with_keys,
)
from pellucid.utils._pytree._nodes import (
    _list_unflatten as _list_unflatten,
)
from pellucid.utils._pytree._nodes import (
    _namedtuple_deserialize as _namedtuple_deserialize,
)
from pellucid.utils._pytree._nodes import (
    _namedtuple_flatten as _namedtuple_flatten,
)
from pellucid.utils._pytree._nodes import (
    _namedtuple_flatten_with_keys as _namedtuple_flatten_with_keys,
)
from pellucid.utils._pytree._nodes import (
    _namedtuple_serialize as _namedtuple_serialize,
)
from pellucid.utils._pytree._nodes import (
    _namedtuple_unflatten as _namedtuple_unflatten,
)
from pellucid.utils._pytree._nodes import (
    _ordereddict_flatten as _ordereddict_flatten,
)
from pellucid.utils._pytree._nodes import (
    _ordereddict_flatten_with_keys as _ordereddict_flatten_with_keys,
)
from pellucid.utils._pytree._nodes import (
    _ordereddict_unflatten as _ordereddict_unflatten,
)
from pellucid.utils._pytree._nodes import (
    _register_namedtuple as _register_namedtuple,
)
from pellucid.utils._pytree._nodes import (
    _tuple_flatten as _tuple_flatten,
)
from pellucid.utils._pytree._nodes import (
    _tuple_flatten_with_keys as _tuple_flatten_with_keys,
)
from pellucid.utils._pytree._nodes import (
    _tuple_unflatten as _tuple_unflatten,
)
from pellucid.utils._pytree._nodes import (
    is_constant_class as is_constant_class,
)
from pellucid.utils._pytree._nodes import (
    is_namedtuple as is_namedtuple,
)
from pellucid.utils._pytree._nodes import (
    is_namedtuple_class as is_namedtuple_class,
)
from pellucid.utils._pytree._nodes import (
    is_namedtuple_instance as is_namedtuple_instance,
)
from pellucid.utils._pytree._nodes import (
    is_structseq as is_structseq,
)
from pellucid.utils._pytree._nodes import (
    is_structseq_class as is_structseq_class,
)
from pellucid.utils._pytree._nodes import (
    is_structseq_instance as is_structseq_instance,
)
from pellucid.utils._pytree._nodes import (
    register_constant as register_constant,
)
from pellucid.utils._pytree._nodes import (
    register_dataclass as register_dataclass,
)
from pellucid.utils._pytree._nodes import (
    register_pytree_node as register_pytree_node,
)
from pellucid.utils._pytree._paths import (
    key_get as key_get,
)
from pellucid.utils._pytree._paths import (
    keystr as keystr,
)
from pellucid.utils._pytree._paths import (
    tree_flatten_with_path as tree_flatten_with_path,
)
from pellucid.utils._pytree._paths import (
    tree_leaves_with_path as tree_leaves_with_path,
)
from pellucid.utils._pytree._paths import (
    tree_map_with_path as tree_map_with_path,
)
from pellucid.utils._pytree._text import (
    DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL as DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL,
)
from pellucid.utils._pytree._text import (
    pytree_to_str as pytree_to_str,
)
from pellucid.utils._pytree._text import (
    str_to_pytree as str_to_pytree,
)
from pellucid.utils._pytree._text import (
    treespec_dumps as treespec_dumps,
)
from pellucid.utils._pytree._text import (
    treespec_loads as treespec_loads,
)
from pellucid.utils._pytree._trees import (
    LeafSpec as LeafSpec,
)
from pellucid.utils._pytree._trees import (
    TreeSpec as TreeSpec,
)
from pellucid.utils._pytree._trees import (
    _broadcast_to_and_flatten as _broadcast_to_and_flatten,
)
from pellucid.utils._pytree._trees import (
    arg_tree_leaves as arg_tree_leaves,
)
from pellucid.utils._pytree._trees import (
    map_only as map_only,
)
from pellucid.utils._pytree._trees import (
    tree_all as tree_all,
)
from pellucid.utils._pytree._trees import (
    tree_all_only as tree_all_only,
)
from pellucid.utils._pytree._trees import (
    tree_any as tree_any,
)
from pellucid.utils._pytree._trees import (
    tree_any_only as tree_any_only,
)
from pellucid.utils._pytree._trees import (
    tree_flatten as tree_flatten,
)
from pellucid.utils._pytree._trees import (
    tree_is_leaf as tree_is_leaf,
)
from pellucid.utils._pytree._trees import (
    tree_iter as tree_iter,
)
from pellucid.utils._pytree._trees import (
    tree_leaves as tree_leaves,
)
from pellucid.utils._pytree._trees import (
    tree_map as tree_map,
)
from pellucid.utils._pytree._trees import (
    tree_map_ as tree_map_,
)
from pellucid.utils._pytree._trees import (
    tree_map_only as tree_map_only,
)
from pellucid.utils._pytree._trees import (
    tree_map_only_ as tree_map_only_,
)
from pellucid.utils._pytree._trees import (
    tree_structure as tree_structure,
)
from pellucid.utils._pytree._trees import (
    tree_unflatten as tree_unflatten,
)
from pellucid.utils._pytree._trees import (
    treespec_dict as treespec_dict,
)
from pellucid.utils._pytree._trees import (
    treespec_leaf as treespec_leaf,
)
from pellucid.utils._pytree._trees import (
    treespec_pprint as treespec_pprint,
)
from pellucid.utils._pytree._trees import (
    treespec_tuple as treespec_tuple,
)

_register_pytree_node = _private_register_pytree_node = register_pytree_node

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "LeafSpec",
    "PyTree",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]
