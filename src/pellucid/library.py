"""``torch.library``: ops and kernels written in Python.

    library = Library("mine", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x + x, "CPU")
    torch.ops.mine.double(x)

A kernel's name may carry an overload ("add.Tensor"). Kernels live as long as the
process. ``custom_op`` does all this for one function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pellucid import _C
from pellucid._custom_op import CustomOpDef as CustomOpDef
from pellucid._custom_op import custom_op as custom_op
from pellucid._custom_op import infer_schema as infer_schema
from pellucid._custom_op import register_autograd as register_autograd
from pellucid._custom_op import register_fake as register_fake
from pellucid._custom_op import register_kernel as register_kernel

_KINDS = ("DEF", "FRAGMENT", "IMPL")
# Keys that stand for "whatever has no kernel of its own".
_KEYS_OF_TYPES = {"cpu": "CPU", "default": "", "cuda": "CUDA", "meta": "Meta"}
_CATCH_ALL = ("", "CompositeImplicitAutograd", "CompositeExplicitAutograd")


class Library:
    """A namespace to which ops and kernels are added."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"kind must be one of {', '.join(_KINDS)}, not {kind!r}")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key

    def define(self, schema: str) -> str:
        """Adds an op; returns its name."""
        full_name: str = _C._define_op(schema, self.ns)
        return full_name.partition("::")[2]

    def impl(
        self, op_name: str, fn: Callable[..., Any], dispatch_key: str = ""
    ) -> None:
        """Makes `fn` the op's kernel for a dispatch key."""
        name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        key = dispatch_key or self.dispatch_key
        _C._register_kernel(name, "" if key in _CATCH_ALL else key, fn)


def define(
    qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()
) -> None:
    """Adds the op "namespace::name" with arguments and results as in
    "(Tensor x, int n) -> Tensor".
    """
    namespace, separator, name = qualname.partition("::")
    if not separator:
        raise ValueError(f'define: a name is "namespace::name", {qualname!r} was given')
    (lib or Library(namespace, "FRAGMENT")).define(name + schema)


def impl(
    qualname: str,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Makes ``func`` what the op of that name computes, for tensors of the device types
    or for "default"; a decorator without ``func``.
    """
    names = [types] if isinstance(types, str) else types
    library = lib or Library(qualname.partition("::")[0], "FRAGMENT")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            key = _KEYS_OF_TYPES.get(name.lower(), name)
            library.impl(qualname, function, key)
        return function

    return register if func is None else register(func)


impl_abstract = register_fake
