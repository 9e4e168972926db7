"""``torch.library``: ops and kernels written in Python.

    library = Library("mine", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x + x, "CPU")
    torch.ops.mine.double(x)

A kernel's name may include an overload ("add.Tensor"). ``custom_op`` does all this for
one function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from pellucid import _C
from pellucid._library.custom_ops import CustomOpDef as CustomOpDef
from pellucid._library.custom_ops import custom_op as custom_op
from pellucid._library.fake_impl import get_ctx as get_ctx
from pellucid._library.kernels import get_kernel as get_kernel
from pellucid._library.op_checks import opcheck as opcheck
from pellucid._library.register import infer_schema as infer_schema
from pellucid._library.register import lasting_library
from pellucid._library.register import register_autocast as register_autocast
from pellucid._library.register import register_autograd as register_autograd
from pellucid._library.register import register_fake as register_fake
from pellucid._library.register import register_kernel as register_kernel
from pellucid._library.register import register_vmap as register_vmap
from pellucid._library.registration import Library as Library
from pellucid._library.registration import fallthrough_kernel as fallthrough_kernel
from pellucid._library.registration import (
    register_torch_dispatch as register_torch_dispatch,
)
from pellucid._library.registration import scoped_library

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]
_scoped_library = scoped_library


def define(
    qualname: str, schema: Any, *, lib: Library | None = None, tags: Any = ()
) -> Any:
    """Adds the op ``"namespace::name"`` with a schema ``"(Tensor x) -> Tensor"``.

    ValueError for a name without a namespace or a schema without parentheses. With a
    Library first, ``define(library, schema)`` is a decorator that also makes the
    function the op's kernel.

    Example::

        torch.library.define("mine::double", "(Tensor x) -> Tensor")
        torch.library.impl("mine::double", "cpu", lambda x: x + x)
    """
    if isinstance(qualname, Library):
        return _define_by_decorator(qualname, schema)
    if not isinstance(qualname, str):
        raise ValueError(
            "define(qualname, schema): expected qualname to be str, got "
            f"{type(qualname)}"
        )
    namespace, name = _parts(qualname)
    if not schema.lstrip().startswith("("):
        raise ValueError(
            f"define(qualname, schema): expected schema to look like (...) -> ... "
            f"without a name, got {schema!r}"
        )
    lasting_library(namespace, lib).define(name + schema, tags=tags)
    return None


def _define_by_decorator(library: Library, schema: str) -> Callable[..., Any]:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        library.impl(library.define(schema), function)
        return function

    return wrap


def impl(
    qualname: Any,
    types: Any,
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers ``func`` as the op's kernel for device types (``"default"``: all of
    them) or for dispatch keys; without ``func``, a decorator.

    With a Library first, ``impl(library, name, dispatch_key="")`` is a decorator.
    """
    if isinstance(qualname, Library):
        return _impl_by_decorator(qualname, types, func or "")
    namespace, name = _parts(qualname)
    library = lasting_library(namespace, lib)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in [types] if isinstance(types, str) else types:
            library.impl(name, function, _key(kind))
        return function

    return register if func is None else register(func)


def _impl_by_decorator(library: Library, name: Any, key: str) -> Callable[..., Any]:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        library.impl(name, function, key)
        return function

    return wrap


def _key(kind: str) -> str:
    if kind == "default":
        return "CompositeExplicitAutograd"
    is_key = kind in _C.DispatchKey.__members__
    return kind if is_key else _C._dispatch_key_for_device(kind)


impl_abstract = register_fake


def triton_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Sequence[str],
    schema: str | None = None,
) -> Any:
    """A ``custom_op`` whose function launches Triton kernels, by ``wrap_triton``.

    Here only other kernels of the op can run, such as one for the CPU: Triton compiles
    for GPUs. An op in ``pellucid.lang`` is compiled for every device.
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> NoReturn:
    """Refused: Triton kernels do not run here."""
    raise NotImplementedError(
        "wrap_triton: Triton kernels do not run here\nWrite the op in pellucid.lang, "
        "which compiles it for every device, or another kernel by register_kernel."
    )


def _parts(qualname: str) -> tuple[str, str]:
    namespace, _, name = qualname.partition("::")
    if not name:
        raise ValueError(
            f'Expected qualname to be "namespace::name", {qualname!r} was given'
        )
    return namespace, name
