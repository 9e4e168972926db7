"""Custom differentiable functions: ``Function`` with its forward and backward.

``apply`` is C++ (``runtime/autograd/python_function.cpp``): it makes a context, runs
``forward`` with grad mode off and gives the outputs a node, whose context is what
``output.grad_fn`` returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import _C

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What forward tells backward."""

    to_save: tuple[Any, ...]
    dirty_tensors: tuple[Any, ...]
    non_differentiable: tuple[Any, ...]
    materialize_grads: bool

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors (or None) for backward: ``ctx.saved_tensors`` there.

        Tensors kept as plain attributes are neither checked for changes in place nor
        freed after backward.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for the ``jvp`` of this Function."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Says which arguments forward changed in place; it must return them."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Says which outputs have no gradient; backward still gets one for each."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward gets None, not zeros, for outputs without a gradient."""
        self.materialize_grads = value


class BackwardCFunction(_C._FunctionBase, FunctionCtx):
    """The context of one call; each Function has a subclass, ``<Name>Backward``."""

    _forward_cls: type[Function]


class FunctionMeta(type):
    """Makes each Function's context class."""

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
    ) -> None:
        contents = {"_forward_cls": cls, "__module__": cls.__module__}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), contents)
        super().__init__(name, bases, namespace)


class Function(metaclass=FunctionMeta):
    """Base of custom differentiable functions.

    >>> class Exp(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         result = x.exp()
    ...         ctx.save_for_backward(result)
    ...         return result
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (result,) = ctx.saved_tensors
    ...         return grad_output * result
    >>> y = Exp.apply(x)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{cls.__name__} is not to be instantiated: its methods are static; "
            f"call {cls.__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """``forward(ctx, *args)``, or ``forward(*args)`` beside a setup_context."""
        raise NotImplementedError("a custom Function needs a static method forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Fills the context when forward does not take it."""
        raise NotImplementedError("setup_context is not implemented")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient, or None, for each argument of forward."""
        raise NotImplementedError(
            "a custom Function needs a static method backward (or vjp) "
            "to be used with gradients"
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for backward."""
        raise NotImplementedError("vjp is not implemented")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, for forward mode."""
        raise NotImplementedError("a custom Function needs a jvp for forward mode")

    apply: Any = classmethod(_C._apply_function)


class _RefuseSecondOrder(Function):
    """Passes values on; differentiating it is an error."""

    @staticmethod
    def forward(ctx: Any, name: str, *values: Any) -> tuple[Any, ...]:
        ctx.name = name
        return tuple(value.detach() for value in values)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            f"{ctx.name} is marked @once_differentiable: its gradient was "
            "differentiated again. Write backward with differentiable ops and "
            "remove the mark"
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a ``backward`` whose results cannot be differentiated again."""

    def wrapper(ctx: Any, *grad_outputs: Any) -> Any:
        with _C.no_grad():
            result = backward(ctx, *grad_outputs)
        needs_grad = any(getattr(g, "requires_grad", False) for g in grad_outputs)
        if not _C.is_grad_enabled() or not needs_grad:
            return result
        single = not isinstance(result, tuple)
        results = [result] if single else list(result)
        places = [i for i, value in enumerate(results) if value is not None]
        # One gradient that requires grad makes the outputs of apply do so.
        anchor = next(g for g in grad_outputs if getattr(g, "requires_grad", False))
        name = type(ctx).__name__
        passed = _RefuseSecondOrder.apply(name, anchor, *(results[i] for i in places))
        for place, value in zip(places, passed[1:], strict=True):
            results[place] = value
        return results[0] if single else tuple(results)

    wrapper.__name__ = getattr(backward, "__name__", "backward")
    wrapper.__doc__ = backward.__doc__
    wrapper.__wrapped__ = backward  # type: ignore[attr-defined]
    return wrapper
