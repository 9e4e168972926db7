"""``torch.library.register_*``: more about an op, custom or of a Library.

Each takes a custom op, an overload, or "namespace::name", and a Library whose life the
registration shares; without one it lasts. Public through ``library.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pellucid import _C
from pellucid._library.autocast_rules import autocast_kernel
from pellucid._library.custom_ops import DEFINED, CustomOpDef
from pellucid._library.fake_impl import fake_kernel
from pellucid._library.infer_schema import inferred_schema
from pellucid._library.recorded import Recorded, check_functional
from pellucid._library.registration import KERNEL_KEYS, Library

_Kernel = Callable[..., Any]
# Libraries of registrations that name none.
LASTING: list[Library] = []


def lasting_library(namespace: str, lib: Library | None = None) -> Library:
    """`lib`, or one that ends with the process."""
    if lib is None:
        lib = Library(namespace, "FRAGMENT")
        LASTING.append(lib)
    return lib


def _name_of(op: Any) -> str:
    name = getattr(op, "_qualname", None) or getattr(op, "_full_name", op)
    if not isinstance(name, str) or "::" not in name:
        raise ValueError(f"{op!r} is not an op: give an overload or 'namespace::name'")
    return name.removesuffix(".default")


def _custom(op: Any) -> CustomOpDef | None:
    return op if isinstance(op, CustomOpDef) else DEFINED.get(_name_of(op))


def _library_of(op: Any, lib: Library | None) -> tuple[Library, str]:
    namespace, _, name = _name_of(op).partition("::")
    return lasting_library(namespace, lib), name


def _existing(op: Any) -> str:
    name = _name_of(op)
    if not _C._overloads(name.partition(".")[0]):
        raise AttributeError(f"there is no op {name}: define it first")
    return name


def register_fake(
    op: Any,
    func: _Kernel | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """What the op gives for tensors without data: ``func`` gets its arguments on
    ``device="meta"`` and returns tensors of the right shapes, strides and dtypes there;
    a decorator without ``func``. RuntimeError for an op that is not defined.

    Example::

        @torch.library.register_fake("mine::double")
        def _(x):
            return torch.empty_like(x)
    """

    def register(function: _Kernel) -> _Kernel:
        custom = _custom(op)
        if custom is not None:
            return custom.register_fake(function)
        if not _C._overloads(_name_of(op).partition(".")[0]):
            raise RuntimeError(
                f"operator {_name_of(op)} does not exist: define it first"
            )
        library, name = _library_of(op, lib)
        kernel = fake_kernel(_name_of(op), function)
        library.impl(name, kernel, "Meta", allow_override=allow_override)
        return function

    return register if func is None else register(func)


def register_kernel(
    op: Any,
    device_types: Any,
    func: _Kernel | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """The op's function for types of devices (a str, several, or None: all without one
    of their own); a decorator without ``func``.
    """

    def register(function: _Kernel) -> _Kernel:
        custom = _custom(op)
        if custom is not None:
            custom.register_kernel(device_types, function)
            return function
        library, name = _library_of(op, lib)
        if device_types is None:
            library.impl(name, function, "CompositeExplicitAutograd")
            return function
        for kind in [device_types] if isinstance(device_types, str) else device_types:
            library.impl(name, function, _C._dispatch_key_for_device(kind))
        return function

    return register if func is None else register(func)


def register_autograd(
    op: Any,
    backward: _Kernel,
    /,
    *,
    setup_context: _Kernel | None = None,
    lib: Library | None = None,
) -> None:
    """``backward(ctx, *grads)`` gives the gradients of the op's arguments; what it
    needs ``setup_context(ctx, inputs, output)`` saves. RuntimeError for an op that
    writes its arguments.
    """
    custom = _custom(op)
    if custom is not None:
        return custom.register_autograd(backward, setup_context=setup_context)
    recorded = Recorded(_existing(op))
    check_functional(recorded.op())
    recorded.backward, recorded.setup_context = backward, setup_context
    library, name = _library_of(op, lib)
    library.impl(name, recorded.run, "Autograd")
    return None


def register_vmap(
    op: Any, func: _Kernel | None = None, /, *, lib: Library | None = None
) -> Any:
    """How the op runs under vmap: ``func(info, in_dims, *args)`` gives the outputs of
    all examples and the dims of the batch in them; a decorator without ``func``.

    Example::

        @torch.library.register_vmap("mine::double")
        def double_batched(info, in_dims, x):
            return double(x), in_dims[0]
    """

    def register(rule: _Kernel) -> _Kernel:
        custom = _custom(op)
        if custom is not None:
            custom.register_vmap(rule)
            return rule
        kernel = Recorded(_existing(op)).batched_by(rule)
        library, name = _library_of(op, lib)
        library.impl(name, kernel, "Transforms")
        return rule

    return register if func is None else register(func)


def register_autocast(
    op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None
) -> None:
    """Casts the op's floating-point arguments on ``device_type`` to the dtype
    ``cast_inputs`` within autocast regions. ValueError for a type of device without
    them.
    """
    custom = _custom(op)
    if custom is not None:
        return custom.register_autocast(device_type, cast_inputs)
    overload = Recorded(_existing(op)).op()
    key, kernel = autocast_kernel(overload, device_type, cast_inputs)
    library, name = _library_of(op, lib)
    library.impl(name, kernel, key)
    return None


def gives_shapes(name: str) -> bool:
    """Whether an op of a library says what it gives for tensors without data.

    One that returns nothing has nothing to say.
    """
    name = name.removesuffix(".default")
    if name in DEFINED:
        custom = DEFINED[name]
        return custom._fake is not None or not custom._opoverload._schema.returns
    keys = KERNEL_KEYS.get(name, ())
    return not keys or any(map(_serves_meta, keys))


def _serves_meta(key: str) -> bool:
    return key in ("", "Meta") or _C._dispatch_key_is_composite(key)


def infer_schema(
    prototype_function: _Kernel,
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema that a function's annotations tell: ``"(Tensor x) -> Tensor"``."""
    return (op_name or "") + inferred_schema(prototype_function, mutates_args)
