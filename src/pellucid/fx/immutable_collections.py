"""``torch.fx.immutable_collections``: the lists and dicts in the arguments of a Node.

Users of nodes are derived from arguments, so these change only by assigning ``args`` or
``kwargs`` as a whole. They compare and hash by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from pellucid.utils import _pytree as pytree

T = TypeVar("T")


def _refusal(kind: str, method: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"{kind!r} object does not support mutation. If you are attempting to "
            "modify the kwargs or args of a torch.fx.Node object, instead create a "
            "new copy of it and assign the copy to the node:\n"
            "    new_args = ...  # copy and mutate args\n"
            "    node.args = new_args"
        )

    refuse.__name__ = method
    return refuse


class immutable_list(list[T]):
    """A list that refuses every change."""

    for _method in (
        *("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear"),
        *("extend", "insert", "pop", "remove", "reverse", "sort"),
    ):
        locals()[_method] = _refusal("immutable_list", _method)
    del _method

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[T, ...]]]:
        return (immutable_list, (tuple(self),))


class immutable_dict(dict[Any, T]):
    """A dict that refuses every change."""

    for _method in (
        *("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem"),
        *("setdefault", "update"),
    ):
        locals()[_method] = _refusal("immutable_dict", _method)
    del _method

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type, tuple[tuple[tuple[Any, T], ...]]]:
        return (immutable_dict, (tuple(self.items()),))


def _flatten_list(values: Iterable[Any]) -> tuple[list[Any], None]:
    return list(values), None


def _flatten_dict(values: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    return list(values.values()), list(values)


pytree.register_pytree_node(
    immutable_list, _flatten_list, lambda children, _: immutable_list(children)
)
pytree.register_pytree_node(
    immutable_dict,
    _flatten_dict,
    lambda children, keys: immutable_dict(zip(keys, children, strict=True)),
)
