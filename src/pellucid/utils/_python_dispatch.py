"""``torch.utils._python_dispatch``: modes and subclasses that see ops below autograd.

A mode's ``__torch_dispatch__(func, types, args, kwargs)`` receives every op of the
thread, such as ``torch.ops.aten.add.Tensor``, after autograd has recorded it; so does
the ``__torch_dispatch__`` of a Tensor subclass for ops on its tensors. A mode with
``_dispatch_key=DispatchKey.PreDispatch`` receives the program's calls, with composites
undecomposed. The runtime's parts are ``runtime/python/dispatch_protocol.cpp`` and
``pre_dispatch.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from pellucid import _C
from pellucid._ops import OpOverload
from pellucid._package.calls.captured import enter_capture, leave_capture
from pellucid._package.calls.mode import Mode
from pellucid._tensor import Tensor

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode(Mode):
    """A scope in which every op goes through ``__torch_dispatch__`` of the mode.

    The mode is not active inside that method, so ``func(*args, **kwargs)`` runs the op
    for the enclosing modes; ``with self:`` activates it again.

    Example::

        class Count(TorchDispatchMode):
            calls = 0

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                self.calls += 1
                return func(*args, **(kwargs or {}))

        with Count() as count:
            model(x).sum().backward()
    """

    _push = staticmethod(_C._push_torch_dispatch_mode)
    _pop = staticmethod(_C._pop_torch_dispatch_mode)
    _dispatch_key: Any = None

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            _require_pre_dispatch(_dispatch_key)
            self._dispatch_key = _dispatch_key

    def __enter__(self) -> Self:
        _push_mode(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        _pop_mode(self._dispatch_key)

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} must define __torch_dispatch__ to be a mode"
        )


def _require_pre_dispatch(key: Any) -> None:
    if key != _C.DispatchKey.PreDispatch:
        raise ValueError(
            f"a mode's _dispatch_key is None, where it sees ops below autograd, or "
            f"DispatchKey.PreDispatch, not {key}"
        )


def _push_mode(mode: TorchDispatchMode) -> None:
    """Activates a mode: below autograd, or at its ``_dispatch_key``."""
    if mode._dispatch_key is None:
        mode._push(mode)
        return
    _C._push_pre_dispatch_mode(mode)
    enter_capture()


def _pop_mode(k: Any = None) -> Any:
    """Deactivates the innermost mode below autograd, or at a dispatch key."""
    if k is None:
        return _C._pop_torch_dispatch_mode()
    _require_pre_dispatch(k)
    mode = _C._pop_pre_dispatch_mode()
    leave_capture()
    return mode


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost active mode below autograd."""
    stack = _C._torch_dispatch_modes()
    return stack[-1] if stack else None


def _first_to_see() -> TorchDispatchMode | None:
    """The mode that receives a call first: one at PreDispatch, if there is one."""
    captures = _C._pre_dispatch_modes()
    return captures[-1] if captures else _get_current_dispatch_mode()


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The active modes, the innermost last."""
    return _C._torch_dispatch_modes()


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """A scope that disables the active modes."""
    count = len(_C._torch_dispatch_modes())
    taken = [_C._pop_torch_dispatch_mode() for _ in range(count)][::-1]
    try:
        yield taken
    finally:
        for mode in taken:
            _C._push_torch_dispatch_mode(mode)


@contextmanager
def _without_modes(kind: type[TorchDispatchMode]) -> Iterator[list[TorchDispatchMode]]:
    """A scope that disables the active modes of a class; its value are these modes."""
    with _disable_current_modes() as modes:
        kept = [mode for mode in modes if not isinstance(mode, kind)]
        for mode in kept:
            _C._push_torch_dispatch_mode(mode)
        try:
            yield [mode for mode in modes if isinstance(mode, kind)]
        finally:
            for _ in kept:
                _C._pop_torch_dispatch_mode()


@contextmanager
def _pop_mode_temporarily() -> Iterator[TorchDispatchMode]:
    """A scope that disables the innermost mode; its value is the mode."""
    mode = _C._pop_torch_dispatch_mode()
    try:
        yield mode
    finally:
        _C._push_torch_dispatch_mode(mode)


def is_in_torch_dispatch_mode() -> bool:
    """Whether a mode is active in this thread."""
    return bool(_C._torch_dispatch_modes())


@contextmanager
def no_dispatch() -> Iterator[None]:
    """A scope that disables every ``__torch_dispatch__``, of modes and of classes."""
    before = _C._exclude_torch_dispatch(True)
    try:
        yield
    finally:
        _C._exclude_torch_dispatch(before)


# Wrapper subclasses


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether it is a Tensor subclass that can be flattened and unflattened.

    Such a class has ``__tensor_flatten__(self)``, which returns the names of its inner
    tensors and a context, and ``__tensor_unflatten__(inner, context, size, stride)``.
    """
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """`is_traceable_wrapper_subclass` of the objects of a class."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any,
    callback: Callable[[str, Tensor], Tensor],
    outer_size: Sequence[int] | None = None,
    outer_stride: Sequence[int] | None = None,
) -> Any:
    """The same wrapper around ``callback(name, tensor)`` of each inner tensor."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if made.shape != tuple(size) or made.stride() != tuple(stride):
        raise RuntimeError(
            f"{type(t).__name__}.__tensor_unflatten__ gave a tensor of size "
            f"{tuple(made.shape)} and stride {made.stride()}; expected {tuple(size)} "
            f"and {tuple(stride)}"
        )
    return made


def return_and_correct_aliasing(
    func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
) -> Any:
    """The result of a wrapper's ``__torch_dispatch__`` with the aliases of the op.

    An in-place or ``out=`` op returns the tensors that it wrote; a view's result shares
    the storage of the viewed tensor. Call it last::

        return return_and_correct_aliasing(func, args, kwargs, wrapped_out)
    """
    schema = func._schema
    given = {a.name: v for a, v in zip(schema.arguments, args, strict=False)}
    given.update(kwargs)
    results = out if isinstance(out, tuple | list) else [out]
    corrected = []
    for place, result in enumerate(results):
        declared = schema.returns[min(place, len(schema.returns) - 1)]
        source = _aliased_argument(schema, declared, given)
        if source is None or not isinstance(result, Tensor):
            corrected.append(result)
        elif declared.is_write:
            corrected.append(source)
        else:
            if isinstance(source, Tensor) and result is not source:
                _C._share_storage(result, source)
            corrected.append(result)
    if isinstance(out, tuple | list):
        return type(out)(corrected)
    return corrected[0]


def _aliased_argument(schema: Any, declared: Any, given: dict[str, Any]) -> Any:
    """The argument whose memory a result has, or None."""
    if declared.alias_info is None:
        return None
    for argument in schema.arguments:
        info = argument.alias_info
        if info and info.before_set & declared.alias_info.before_set:
            return given.get(argument.name)
    return None
