"""``torch.library``: ops and kernels written in Python.

    library = Library("mine", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x + x, "CPU")
    torch.ops.mine.double(x)

A kernel's name may carry an overload ("add.Tensor"). Kernels live as long as the
process. ``custom_op`` does all this for one function.
"""

from __future__ import annotations

from collections.abc import Callable
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
