"""Custom differentiable functions: ``Function`` with its forward and backward.

``apply`` is C++ (``runtime/python/autograd/function.cpp``): it makes a context, runs
``forward`` with grad mode off and gives the outputs a node, whose context is what
``output.grad_fn`` returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import _C
from pellucid._tensor.copying import leaf_of

__all__ = [
    "Function",
    "FunctionCtx",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


class FunctionCtx:
    """What forward stores for backward."""

    to_save: tuple[Any, ...]
    dirty_tensors: tuple[Any, ...]
    non_differentiable: tuple[Any, ...]
    materialize_grads: bool

    def save_for_backward(self, *tensors: Any) -> None:
        """Saves tensors (or None) for backward, which reads ``ctx.saved_tensors``.

        Tensors stored as plain attributes are neither checked for changes in place nor
        freed after backward.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Saves tensors for the ``jvp`` of this Function."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Marks arguments that forward changed in place; it must return them."""
        self.dirty_tensors = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing: aliases are detected without it."""

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Marks outputs without a gradient; backward still gets one for each output."""
        for given in tensors:
            if not isinstance(given, _C.TensorBase):
                raise RuntimeError(
                    "mark_non_differentiable takes tensors that forward returns, not "
                    f"{type(given).__name__}"
                )
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """With False, backward gets None instead of zeros for undefined gradients."""
        self.materialize_grads = value


class BackwardCFunction(_C._FunctionBase, FunctionCtx):
    """The context of one call; each Function has a subclass, ``<Name>Backward``."""

    _forward_cls: type[Function]


class FunctionMeta(type):
    """Makes each Function's context class."""

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
    ) -> None:
        contents = {"_forward_cls": cls, "__module__": __name__}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), contents)
        super().__init__(name, bases, namespace)


class _SingleLevelFunction(FunctionCtx, metaclass=FunctionMeta):
    """The static methods that a custom Function may define."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """``forward(ctx, *args)``, or ``forward(*args)`` together with a
        setup_context.
        """
        raise NotImplementedError("a custom Function needs a static method forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Fills the context if forward does not take it."""
        raise NotImplementedError("setup_context is not implemented")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient, or None, for each argument of forward."""
        raise NotImplementedError(
            "a custom Function needs a static method backward (or vjp) "
            "to be used with gradients"
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, for forward mode."""
        raise NotImplementedError("a custom Function needs a jvp for forward mode")


class Function(_SingleLevelFunction):
    """Base of custom differentiable functions.

    `forward` computes with grad mode off; `backward` gets one gradient for each output
    and returns one, or None, for each argument of `forward`. With a `setup_context`,
    `forward` does not take the context; the function transforms need this form.

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

    generate_vmap_rule = False
    """Whether ``vmap`` may batch forward, backward and jvp by batching their ops."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self).__name__} is not meant to be instantiated: its methods are "
            f"static; call {type(self).__name__}.apply(...)",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "a Function with a non-static forward cannot be called: make forward and "
            f"backward static and call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """The outputs for batched arguments, and the dims they are batched along.

        `info` has ``batch_size`` and ``randomness``; `in_dims` holds the batch dim of
        each of `args`, or None.
        """
        raise NotImplementedError(
            "a custom Function needs a static method vmap, or generate_vmap_rule=True, "
            "to be used under vmap"
        )

    apply: Any = classmethod(_C._apply_function)


base_setup_context = Function.setup_context
base_backward = Function.backward


class InplaceFunction(Function):
    """A Function with an ``inplace`` attribute; a legacy base class."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A legacy base class with nested arguments; use Function."""


def bind_arguments(
    function: type[Function], args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments of forward by position; with a setup_context, defaults included."""
    from inspect import signature

    if function.setup_context is not base_setup_context:
        bound = signature(function.forward).bind(*args, **keywords)
        bound.apply_defaults()
        return bound.args
    return signature(function.forward).bind(None, *args, **keywords).args[1:]


class _RefuseSecondOrder(Function):
    """The identity; differentiating it is an error."""

    @staticmethod
    def forward(ctx: Any, name: str, *values: Any) -> tuple[Any, ...]:
        ctx.function_name = name
        return tuple(value.detach() for value in values)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            f"{ctx.function_name} is marked @once_differentiable: its gradient was "
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
        # Leaves that require grad, so that the results of apply refuse a second order.
        leaves = (leaf_of(results[i]) for i in places)
        passed = _RefuseSecondOrder.apply(type(ctx).__name__, *leaves)
        for place, value in zip(places, passed, strict=True):
            results[place] = value
        return results[0] if single else tuple(results)

    wrapper.__name__ = getattr(backward, "__name__", "backward")
    wrapper.__doc__ = backward.__doc__
    wrapper.__wrapped__ = backward  # type: ignore[attr-defined]
    return wrapper
