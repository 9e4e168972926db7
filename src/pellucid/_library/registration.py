"""``Library``: what adds ops and kernels to the dispatcher.

Public through ``library.py``; ``custom_ops.py`` builds on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from pellucid import _C

# The kernels of ops that a Library defines: what custom ops have in `_function`.
LIBRARY_KERNELS: dict[str, Callable[..., Any]] = {}
# The dispatch keys for which an op got kernels.
KERNEL_KEYS: defaultdict[str, set[str]] = defaultdict(set)
_KINDS = ("DEF", "FRAGMENT", "IMPL")
# Keys that stand for "whatever has no kernel of its own".
_DECOMPOSED = ("", "CompositeImplicitAutograd")  # modes see what the kernel calls
_CATCH_ALL = (*_DECOMPOSED, "CompositeExplicitAutograd")
# PyTorch's keys of the one device that computes, and the runtime's for all devices.
_OF_THE_CPU = {"AutocastCPU": "Autocast", "AutogradCPU": "Autograd"}
# Keys of devices that are not here: a kernel for one of them never runs.
_ABSENT = ("CUDA", "XPU", "MPS", "HPU", "XLA")


class Library:
    """A namespace to which ops and kernels are added."""

    __module__ = "pellucid.library"

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
            LIBRARY_KERNELS[name.removesuffix(".default")] = fn
        KERNEL_KEYS[name.removesuffix(".default")].add(key)
        if key.endswith(_ABSENT):
            return
        key = _OF_THE_CPU.get(key, key)
        _C._register_kernel(name, "" if key in _CATCH_ALL else key, fn)
        if key in _DECOMPOSED:
            _C._register_decomposition(name, fn)


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
