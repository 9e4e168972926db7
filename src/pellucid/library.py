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
from pellucid._library.custom_ops import KERNEL_KEYS as _KERNEL_KEYS
from pellucid._library.custom_ops import LIBRARY_KERNELS as _LIBRARY_KERNELS
from pellucid._library.custom_ops import CustomOpDef as CustomOpDef
from pellucid._library.custom_ops import custom_op as custom_op
from pellucid._library.custom_ops import infer_schema as infer_schema
from pellucid._library.custom_ops import register_autograd as register_autograd
from pellucid._library.custom_ops import register_fake as register_fake
from pellucid._library.custom_ops import register_kernel as register_kernel
from pellucid._library.custom_ops import register_vmap as register_vmap
from pellucid._library.op_checks import opcheck as opcheck

_KINDS = ("DEF", "FRAGMENT", "IMPL")
_KEYS_OF_TYPES = {"cpu": "CPU", "default": "", "cuda": "CUDA", "meta": "Meta"}
# Keys that stand for "whatever has no kernel of its own".
_DECOMPOSED = ("", "CompositeImplicitAutograd")  # modes see what the kernel calls
_CATCH_ALL = (*_DECOMPOSED, "CompositeExplicitAutograd")


class Library:
    """A namespace to which ops and kernels are added."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"kind must be one of {', '.join(_KINDS)}, not {kind!r}")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Adds an op; returns its name. Aliases are read from the schema."""
        full_name: str = _C._define_op(schema, self.ns)
        return full_name.partition("::")[2]

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Makes `fn` the op's kernel for a dispatch key.

        The op is named, or given as an overload. NotImplementedError for
        `with_keyset`: kernels are not told the dispatcher's keys.
        """
        if with_keyset:
            raise NotImplementedError(
                "with_keyset: kernels are not told the dispatcher's keys"
            )
        given = getattr(op_name, "_full_name", op_name)
        name = given if "::" in given else f"{self.ns}::{given}"
        key = dispatch_key or self.dispatch_key
        if key == "CPU" or key in _CATCH_ALL:
            _LIBRARY_KERNELS[name.removesuffix(".default")] = fn
        _KERNEL_KEYS[name.removesuffix(".default")].add(key)
        _C._register_kernel(name, "" if key in _CATCH_ALL else key, fn)
        if key in _DECOMPOSED:
            _C._register_decomposition(name, fn)


def define(
    qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()
) -> None:
    """Adds the op ``"namespace::name"`` with a schema ``"(Tensor x) -> Tensor"``.

    ValueError for a name without a namespace.

    Example::

        torch.library.define("mine::double", "(Tensor x) -> Tensor")
        torch.library.impl("mine::double", "cpu", lambda x: x + x)
    """
    namespace, name = _parts(qualname)
    (lib or Library(namespace, "FRAGMENT")).define(name + schema, tags=tags)


def impl(
    qualname: str,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Makes ``func`` the op's kernel for types of devices, for ``"default"`` all of
    them, or for dispatch keys; a decorator without ``func``.
    """
    namespace, name = _parts(qualname)
    library = lib or Library(namespace, "FRAGMENT")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in [types] if isinstance(types, str) else types:
            library.impl(name, function, _KEYS_OF_TYPES.get(kind.lower(), kind))
        return function

    return register if func is None else register(func)


impl_abstract = register_fake


def register_torch_dispatch(
    op: Any,
    torch_dispatch_class: type,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """What one op is to the tensors of one subclass, or under one mode, in place of its
    ``__torch_dispatch__``: ``func(mode or class, op, types, args, kwargs)``; a
    decorator without ``func``.

    Example::

        @torch.library.register_torch_dispatch("mine::double", MyMode)
        def double_in_my_mode(mode, func, types, args, kwargs):
            return func(*args, **kwargs) + 1
    """
    name = getattr(op, "_qualname", None) or getattr(op, "_full_name", op)
    if not isinstance(name, str) or not _C._overloads(name.partition(".")[0]):
        raise ValueError(
            f"register_torch_dispatch: {op!r} is no op that is defined: give an "
            "overload, a custom op or 'namespace::name'"
        )

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _C._register_dispatch_rule(name, torch_dispatch_class, function)
        return function

    return register if func is None else register(func)


def _parts(qualname: str) -> tuple[str, str]:
    namespace, _, name = qualname.partition("::")
    if not name:
        raise ValueError(f'a name is "namespace::name", {qualname!r} was given')
    return namespace, name
