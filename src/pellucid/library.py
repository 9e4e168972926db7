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

from pellucid._library.custom_ops import CustomOpDef as CustomOpDef
from pellucid._library.custom_ops import custom_op as custom_op
from pellucid._library.custom_ops import infer_schema as infer_schema
from pellucid._library.custom_ops import register_autograd as register_autograd
from pellucid._library.custom_ops import register_fake as register_fake
from pellucid._library.custom_ops import register_kernel as register_kernel
from pellucid._library.custom_ops import register_vmap as register_vmap
from pellucid._library.op_checks import opcheck as opcheck
from pellucid._library.registration import Library as Library
from pellucid._library.registration import (
    register_torch_dispatch as register_torch_dispatch,
)

_KEYS_OF_TYPES = {"cpu": "CPU", "default": "", "cuda": "CUDA", "meta": "Meta"}


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


def _parts(qualname: str) -> tuple[str, str]:
    namespace, _, name = qualname.partition("::")
    if not name:
        raise ValueError(f'a name is "namespace::name", {qualname!r} was given')
    return namespace, name
