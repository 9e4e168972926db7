"""Custom ops: a Python function as an op with a schema, a name and a derivative.

``torch.library.custom_op`` and what registers more about the op. Public through
``library.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pellucid
from pellucid import _C
from pellucid._library.infer_schema import inferred_schema
from pellucid._library.registration import (
    KERNEL_KEYS,
    LIBRARY_KERNELS,
    Library,
    register_torch_dispatch,
)
from pellucid.autograd import Function

_DEFINED: dict[str, CustomOpDef] = {}


class _Recorded(Function):
    """A call of a custom op as one node of the graph."""

    @staticmethod
    def forward(
        ctx: Any, op: CustomOpDef, keywords: tuple[str, ...], *values: Any
    ) -> Any:
        count = len(values) - len(keywords)
        args, named = values[:count], dict(zip(keywords, values[count:], strict=True))
        output = op._function(*args, **named)
        ctx._custom_op = op
        ctx._count = len(values)
        if op._setup_context is not None:
            only = {"keyword_only_inputs": named} if named else {}
            op._setup_context(ctx, args, output=output, **only)
        return output

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        op: CustomOpDef = ctx._custom_op
        if op._backward is None:
            raise RuntimeError(
                f"the custom op {op._qualname} has no derivative: give one by "
                "register_autograd"
            )
        found = op._backward(ctx, *grads)
        if not isinstance(found, tuple):
            found = (found,)
        return None, None, *found, *[None] * (ctx._count - len(found))


class CustomOpDef:
    """An op whose meaning is a Python function; made by ``custom_op``.

    Without a ``schema`` a Library defines the op, which gets a derivative here.
    """

    def __init__(self, name: str, fn: Callable[..., Any], schema: str | None) -> None:
        namespace, _, op_name = name.partition("::")
        if not op_name:
            raise ValueError(f"the name {name!r} has no namespace: 'mine::{name}'")
        self._qualname = name
        self._function = fn
        self._setup_context: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self.__name__ = op_name
        self.__doc__ = fn.__doc__
        self._library = Library(namespace, "FRAGMENT")
        if schema is None:
            self._library.impl(op_name, self._run, "Autograd")
        else:
            self._library.define(op_name + schema)
            self._library.impl(op_name, self._run, "CompositeExplicitAutograd")
        _DEFINED[name] = self

    @property
    def _opoverload(self) -> Any:
        namespace, _, name = self._qualname.partition("::")
        return getattr(getattr(pellucid.ops, namespace), name).default

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return _Recorded.apply(self, tuple(kwargs), *args, *kwargs.values())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_autograd(
        self,
        backward: Callable[..., Any],
        /,
        *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        """``backward(ctx, *grads)`` gives the gradients of the arguments; what it needs
        ``setup_context(ctx, inputs, output)`` keeps, which gets arguments that are
        given by keyword alone as ``keyword_only_inputs``.
        """
        self._backward, self._setup_context = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """What the op gives for tensors without data (``device="meta"``)."""
        self._library.impl(self.__name__, fn, "Meta")
        return fn

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """How the op runs under vmap: ``func(info, in_dims, *args)`` gives the outputs
        of all examples and the dims of the batch in them. Without it the op runs
        example by example. A decorator without ``func``.
        """

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **kwargs: Any) -> Any:
                from pellucid.autograd._transformed_function import call_op

                return call_op(rule, self._run, args, kwargs)

            self._library.impl(self.__name__, run, "Transforms")
            return rule

        return register if func is None else register(func)

    def register_torch_dispatch(
        self,
        torch_dispatch_class: Any,
        fn: Callable[..., Any] | None = None,
        /,
    ) -> Any:
        """What the op is to a class of modes or tensors, in place of their
        ``__torch_dispatch__``: see ``torch.library.register_torch_dispatch``.
        """
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def register_kernel(
        self, device_types: Any, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Another meaning for tensors of some kinds of devices; ``"cpu"`` is here."""
        names = [device_types] if isinstance(device_types, str) else device_types

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if names is None or "cpu" in names:
                self._function = function
            return function

        return register if fn is None else register(fn)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
) -> Any:
    """Makes a function the op ``name`` ("namespace::name"), which autograd, modes and
    ``torch.ops`` know; a decorator without ``fn``.

    The schema is read from the annotations unless given. ``mutates_args`` names the
    arguments that the function writes. Raises ValueError for a function whose
    annotations do not tell it.

    Example::

        @torch.library.custom_op("mine::double", mutates_args=())
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        double.register_autograd(lambda ctx, grad: grad * 2)
    """

    def define(function: Callable[..., Any]) -> CustomOpDef:
        known = schema or inferred_schema(function, mutates_args)
        return CustomOpDef(name, function, known)

    return define if fn is None else define(fn)


def gives_shapes(name: str) -> bool:
    """Whether an op of a library says what it gives for tensors without data.

    One that returns nothing has nothing to say.
    """
    name = name.removesuffix(".default")
    keys = KERNEL_KEYS.get(name)
    if keys is None or "Meta" in keys:
        return True
    if name in _DEFINED:
        return not _DEFINED[name]._opoverload._schema.returns
    composed = {"", "CompositeImplicitAutograd", "CompositeExplicitAutograd"}
    return not composed.isdisjoint(keys)


def _defined(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    name = getattr(op, "_full_name", op)
    if not isinstance(name, str) or "::" not in name:
        raise ValueError(f"{op!r} is not an op: give an overload or 'namespace::name'")
    if name not in _DEFINED:
        if not _C._overloads(name):
            raise AttributeError(f"there is no op {name}: define it first")
        CustomOpDef(
            name, lambda *args, **kwargs: LIBRARY_KERNELS[name](*args, **kwargs), None
        )
    return _DEFINED[name]


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Any = None,
) -> None:
    """``register_autograd`` of the custom op of that name."""
    _defined(op).register_autograd(backward, setup_context=setup_context)


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """``register_fake`` of the custom op of that name; a decorator without ``func``."""
    found = _defined(op)
    return found.register_fake if func is None else found.register_fake(func)


def register_kernel(
    op: Any,
    device_types: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
) -> Any:
    """``register_kernel`` of the custom op of that name; a decorator without
    ``func``.
    """
    return _defined(op).register_kernel(device_types, func)


def register_vmap(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """``register_vmap`` of the custom op of that name; a decorator without ``func``.

    Example::

        @torch.library.register_vmap("mine::double")
        def double_batched(info, in_dims, x):
            return double(x), in_dims[0]
    """
    return _defined(op).register_vmap(func)


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema that a function's annotations tell: ``"(Tensor x) -> Tensor"``."""
    return (op_name or "") + inferred_schema(prototype_function, mutates_args)


__all__ = [
    "CustomOpDef",
    "custom_op",
    "infer_schema",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
