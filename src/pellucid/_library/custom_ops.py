"""Custom ops: a Python function as an op with a schema, a name and a derivative.

``torch.library.custom_op``; ``register.py`` says more about such an op, or about one
that a Library defines. Public through ``library.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pellucid
from pellucid import _C
from pellucid._library.autocast_rules import autocast_kernel
from pellucid._library.fake_impl import fake_kernel
from pellucid._library.infer_schema import inferred_schema
from pellucid._library.recorded import Recorded, check_functional
from pellucid._library.registration import Library, register_torch_dispatch
from pellucid._tensor import Tensor
from pellucid.utils._pytree import tree_leaves

# Custom ops by their qualified names.
DEFINED: dict[str, CustomOpDef] = {}
_Kernel = Callable[..., Any]


class CustomOpDef:
    """An op whose meaning is a Python function; made by ``custom_op``."""

    def __init__(
        self, name: str, fn: _Kernel, schema: str, *, tags: Sequence[Any] = ()
    ) -> None:
        namespace, _, op_name = name.partition("::")
        if not op_name:
            raise ValueError(f"the name {name!r} has no namespace: 'mine::{name}'")
        if name in DEFINED:
            DEFINED.pop(name)._library._destroy()
        self._qualname = name
        self._namespace = namespace
        self._name = self.__name__ = op_name
        self._init_fn = fn
        self.__doc__ = fn.__doc__
        # By type of device; None: every type without a function of its own.
        self._functions: dict[str | None, _Kernel] = {None: fn}
        self._disabled: set[str] = set()
        self._fake: _Kernel | None = None
        self._recorded = Recorded(name)
        self._library: Library = Library(namespace, "FRAGMENT")
        self._library.define(op_name + schema, tags=tuple(tags))
        self._library.impl(op_name, self._run, "CompositeExplicitAutograd")
        self._library.impl(op_name, self._recorded.run, "Autograd")
        self._library.impl(op_name, self._run_fake, "Meta")
        self._written = tuple(
            a.name for a in self._opoverload._schema.arguments if a.is_write
        )
        DEFINED[name] = self

    @property
    def _opoverload(self) -> Any:
        return _C._overload(self._qualname)

    # ----------------------------------------------------------------- what a call runs

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function_for(args, kwargs)
        if _C._region_depth():  # of torch.compile, which the op is opaque to
            before = _C._exclude_recording(True)
            try:
                result = function(*args, **kwargs)
            finally:
                _C._exclude_recording(before)
        else:
            result = function(*args, **kwargs)
        _refuse_aliases(self._name, args, kwargs, result)
        if self._written:
            _count_writes(self._opoverload, self._written, args, kwargs)
        return result

    def _function_for(self, args: Any, kwargs: Any) -> _Kernel:
        kind = _device_type((*args, *kwargs.values()))
        if kind in self._functions and kind not in self._disabled:
            return self._functions[kind]
        if None in self._functions:
            return self._functions[None]
        known = ", ".join(str(k) for k in self._functions) or "no device"
        raise NotImplementedError(
            f"Could not run '{self._qualname}' with arguments from the "
            f"'{str(kind).upper()}' backend: it has functions for {known}\n"
            f"Give one by register_kernel({kind!r})."
        )

    def _run_fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._fake is None:
            if not self._opoverload._schema.returns:
                return None
            raise RuntimeError(
                f"There was no fake impl registered for {self}. Tensors without data "
                "(device='meta', torch.compile, export, fx tracing) need one\nGive it "
                f"by `{self._name}.register_fake`."
            )
        return fake_kernel(self._qualname, self._fake)(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    # ---------------------------------------------------------------- registrations

    def register_autograd(
        self, backward: _Kernel, /, *, setup_context: _Kernel | None = None
    ) -> None:
        """``backward(ctx, *grads)`` gives the gradients of the arguments; what it needs
        ``setup_context(ctx, inputs, output)`` saves, which gets arguments that are
        given by keyword alone as ``keyword_only_inputs``. RuntimeError for an op that
        writes its arguments.
        """
        check_functional(self._opoverload)
        self._recorded.backward = backward
        self._recorded.setup_context = setup_context

    def register_fake(self, fn: _Kernel, /) -> _Kernel:
        """What the op gives for tensors without data (``device="meta"``)."""
        self._fake = fn
        return fn

    def register_vmap(self, func: _Kernel | None = None) -> Any:
        """How the op runs under vmap: ``func(info, in_dims, *args)`` gives the outputs
        of all examples and the dims of the batch in them. Without it the op runs
        example by example. A decorator without ``func``.
        """

        def register(rule: _Kernel) -> _Kernel:
            kernel = self._recorded.batched_by(rule)
            self._library.impl(self._name, kernel, "Transforms")
            return rule

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: Any, /) -> None:
        """Casts floating-point arguments on ``device_type`` to the dtype
        ``cast_inputs`` within autocast regions. ValueError for a type of device
        without them.
        """
        key, kernel = autocast_kernel(self._opoverload, device_type, cast_inputs)
        self._library.impl(self._name, kernel, key)

    def register_torch_dispatch(
        self, torch_dispatch_class: Any, fn: _Kernel | None = None, /
    ) -> Any:
        """What the op is to a class of modes or tensors, in place of their
        ``__torch_dispatch__``: see ``torch.library.register_torch_dispatch``.
        """
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def register_kernel(self, device_types: Any, fn: _Kernel | None = None, /) -> Any:
        """The function for tensors of some types of devices, None: for all that have
        none of their own. A decorator without ``fn``.
        """
        is_one = device_types is None or isinstance(device_types, str)
        types = [device_types] if is_one else device_types

        def register(function: _Kernel) -> _Kernel:
            for kind in types:
                self._functions[kind] = function
            return function

        return register if fn is None else register(fn)

    @contextmanager
    def set_kernel_enabled(
        self, device_type: str, enabled: bool = True
    ) -> Iterator[None]:
        """Switches the function of one type of device on or off for a block; while it
        is off the op's first function runs.
        """
        if device_type not in self._functions:
            warnings.warn(
                f"Attempted to set kernel enabled of {self} for device type "
                f"{device_type}, but it has no kernel for this device type.",
                stacklevel=3,
            )
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def _device_type(values: tuple[Any, ...]) -> str:
    """Of the first tensor, else of the first device, among a call's arguments."""
    leaves = tree_leaves(values)
    for value in leaves:
        if isinstance(value, Tensor):
            return value.device.type
    for value in leaves:
        if isinstance(value, pellucid.device):
            return value.type
    return "cpu"


def _tensors(values: Any) -> list[Tensor]:
    return [v for v in tree_leaves(values) if isinstance(v, Tensor)]


def _refuse_aliases(name: str, args: Any, kwargs: Any, result: Any) -> None:
    if result is None:
        return
    seen = {t.untyped_storage()._cdata for t in _tensors((args, kwargs))}
    for tensor in _tensors(result):
        storage = tensor.untyped_storage()._cdata
        if storage in seen and tensor.untyped_storage().nbytes():
            raise RuntimeError(
                f"{name}: The output of this custom operator (1) must not also be an "
                "input to this custom operator and (2) may not alias any inputs to "
                "this custom operator or other returns: one shares their memory\n"
                "Return a clone of it, or return nothing and name what is written in "
                "mutates_args."
            )
        seen.add(storage)


def _count_writes(op: Any, written: Iterable[str], args: Any, kwargs: Any) -> None:
    names = [argument.name for argument in op._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    for name in written:
        for tensor in _tensors(given.get(name)):
            if not tensor.is_inference():
                _C._increment_version(tensor)


def custom_op(
    name: str,
    fn: _Kernel | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Sequence[Any] = (),
) -> Any:
    """Makes a function the op ``name`` ("namespace::name"), which autograd, modes and
    ``torch.ops`` know; a decorator without ``fn``.

    The schema is read from the annotations unless given. ``mutates_args`` names the
    arguments that the function writes, "unknown" all tensors. ``device_types`` says
    for which devices the function is; ``register_kernel`` gives others. Results must
    not share memory with arguments. Raises ValueError for a function whose annotations
    do not tell the schema.

    Example::

        @torch.library.custom_op("mine::double", mutates_args=())
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        double.register_autograd(lambda ctx, grad: grad * 2)
    """

    def define(function: _Kernel) -> CustomOpDef:
        known = schema or inferred_schema(function, mutates_args)
        made = CustomOpDef(name, function, known, tags=tags)
        if device_types is not None:
            del made._functions[None]
            made.register_kernel(device_types, function)
        return made

    return define if fn is None else define(fn)
