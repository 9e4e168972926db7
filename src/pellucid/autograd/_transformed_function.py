"""Custom Functions under vmap and forward mode.

``Function.apply`` calls this module if an argument belongs to a running transform. At a
batch level the Function's ``vmap`` runs, or with ``generate_vmap_rule`` a Function made
of its batched forward and backward; at a forward level its ``jvp`` runs. The ops they
call run at the next outer level. Reverse mode is left to autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import _C
from pellucid._tensor import Tensor
from pellucid.autograd.function import BackwardCFunction, Function, FunctionCtx
from pellucid.func._levels import (
    Level,
    active_levels,
    examples,
    primal_and_tangent,
    unwrap,
)
from pellucid.func._vmap import vmap
from pellucid.utils._pytree import tree_flatten, tree_unflatten

_Function = type[Function]


class VmapInfo(NamedTuple):
    """What a Function's ``vmap`` receives about the batch."""

    batch_size: int
    randomness: str


def apply(function: _Function, *args: Any) -> Any:
    """``function.apply(*args)`` at the innermost level among the tensors."""
    level = _innermost(args)
    if level is None:
        return function.apply(*map(_alive, args))
    run = _apply_batched if level.kind == "batch" else _apply_dual
    return run(function, level, args)


def call_op(
    rule: Callable[..., Any],
    run: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
    """Runs a custom op's batching ``rule``; ``run`` is the op without it."""
    level = _innermost(args)
    if level is None:
        return run(*map(_alive, args), **kwargs)
    if level.kind != "batch":
        return run(*args, **kwargs)
    info = VmapInfo(level.size, level.randomness)
    dims, values = _batched_arguments(level, args)
    returned = rule(info, dims, *values, **kwargs)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            "a rule of register_vmap returns two values, the outputs and their dims; "
            f"it returned a {type(returned).__name__}"
        )
    return _wrapped(*returned, level)


def _innermost(args: Sequence[Any]) -> Level | None:
    """The innermost level among the tensors."""
    found = [w for a in args if isinstance(a, Tensor) and (w := unwrap(a)) is not None]
    if not found:
        return None
    number = max(w.level for w in found)
    return next(level for level in active_levels() if level.number == number)


def _alive(value: Any) -> Any:
    return _C._without_dead_levels(value) if isinstance(value, Tensor) else value


def _has(function: _Function, name: str) -> bool:
    """Whether the class defines the static method itself."""
    return getattr(function, name, None) is not getattr(Function, name, None)


# ------------------------------------------------------------------------ batch levels


def _apply_batched(function: _Function, level: Level, args: Sequence[Any]) -> Any:
    dims, values = _batched_arguments(level, args)
    generates = getattr(function, "generate_vmap_rule", False)
    if generates and _has(function, "vmap"):
        raise RuntimeError(
            f"{function.__name__} has both generate_vmap_rule=True and a vmap method: "
            "keep one of them"
        )
    if generates:
        _require_setup_context(function)
        output = _batched_function(function, dims, level.size).apply(*values)
        return _wrapped(output, 0, level)
    if not _has(function, "vmap"):
        raise RuntimeError(
            f"{function.__name__} was used inside vmap, but has no rule for it: add "
            "a static method vmap, or generate_vmap_rule=True"
        )
    rule: Any = function
    info = VmapInfo(level.size, level.randomness)
    returned = rule.vmap(info, dims, *values)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            f"{function.__name__}: the vmap static method returns two values, the "
            f"outputs and their dims; it returned a {type(returned).__name__}"
        )
    return _wrapped(*returned, level)


def _batched_arguments(
    level: Level, args: Sequence[Any]
) -> tuple[tuple[int | None, ...], list[Any]]:
    """(the batch dim of each, the unwrapped values)."""
    dims = tuple(_batch_dim(a, level) for a in args)
    values = [
        examples(a, level.number, level.size) if dim == 0 else a
        for a, dim in zip(args, dims, strict=True)
    ]
    return dims, values


def _batch_dim(value: Any, level: Level) -> int | None:
    found = unwrap(value) if isinstance(value, Tensor) else None
    return 0 if found is not None and found.level == level.number else None


def _require_setup_context(function: _Function) -> None:
    if not _has(function, "setup_context"):
        raise RuntimeError(
            f"{function.__name__} was used inside a function transform: split its "
            "forward into forward(*args) and setup_context(ctx, inputs, output)"
        )


def _wrapped(output: Any, dims: Any, level: Level) -> Any:
    leaves, spec = tree_flatten(output)
    places = [dims] * len(leaves) if isinstance(dims, int | None) else list(dims)
    if len(places) != len(leaves):
        raise RuntimeError(
            f"the vmap static method returned {len(leaves)} outputs and {len(places)} "
            "out_dims: give one dim (or None) for each output, or one for all"
        )
    results = [
        leaf if dim is None else _C._make_batched(leaf.movedim(dim, 0), level.number)
        for leaf, dim in zip(leaves, places, strict=True)
    ]
    return tree_unflatten(results, spec)


class _ExampleContext(FunctionCtx):
    """The context passed to forward and backward of one example, or to jvp."""

    def __init__(self, saved_tensors: tuple[Any, ...] = ()) -> None:
        self.saved_tensors = self.to_save = saved_tensors
        self.saved_for_forward: tuple[Any, ...] = ()
        self.materialize_grads = True
        self.needs_input_grad: tuple[bool, ...] = ()


def _sum_to(grad: Tensor, shape: Any) -> Tensor:
    """`grad` summed over the dims along which an input of `shape` was broadcast."""
    leading = grad.dim() - len(shape)
    dims = [
        *range(leading),
        *(
            leading + i
            for i, n in enumerate(shape)
            if n == 1 != grad.shape[leading + i]
        ),
    ]
    return grad.sum(dims, keepdim=True).reshape(tuple(shape)) if dims else grad


def _place(tensor: Tensor | None, given: Sequence[Any]) -> int | None:
    """The index of this tensor, by identity, in ``given``."""
    return next((i for i, value in enumerate(given) if value is tensor), None)


def _is_new(tensor: Tensor | None, given: Sequence[Any]) -> bool:
    return _place(tensor, given) is None


def _batched_function(
    function: _Function, dims: tuple[int | None, ...], size: int
) -> _Function:
    """The Function over all examples, with forward and backward batched by vmap."""

    class Batched(Function):
        generate_vmap_rule = True  # vmap nests

        @staticmethod
        def forward(*values: Any) -> Any:
            return vmap(function.forward, dims)(*values)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            example = _ExampleContext()
            given = [*inputs, *tree_flatten(output)[0]]
            given_dims = [*dims, *[0] * (len(given) - len(dims))]
            places: list[list[int | None]] = []

            def saved(inputs: Any, output: Any) -> tuple[Any, ...]:
                ctx.shapes = [getattr(value, "shape", None) for value in inputs]
                function.setup_context(example, inputs, output)
                shown = [*inputs, *tree_flatten(output)[0], None]
                both = (example.to_save, example.saved_for_forward)
                places[:] = [[_place(t, shown) for t in part] for part in both]
                return tuple(t for part in both for t in part if _is_new(t, shown))

            # Arguments and results are saved by position, since they have a history.
            rows = iter(vmap(saved, (dims, 0))(inputs, output))
            given, given_dims = [*given, None], [*given_dims, None]
            for_backward, for_forward = (
                [next(rows) if k is None else given[k] for k in part] for part in places
            )
            ctx.save_for_backward(*for_backward)
            ctx.save_for_forward(*for_forward)
            ctx.dims = [
                [0 if k is None else given_dims[k] for k in part] for part in places
            ]
            ctx.example = example

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            def single(saved: Any, tangents: Any) -> Any:
                ctx.example.saved_tensors = tuple(saved)
                rule: Any = function
                return rule.jvp(ctx.example, *tangents)

            moving = [
                None if tangent is None else dim
                for tangent, dim in zip(tangents, dims, strict=True)
            ]
            run = vmap(single, (ctx.dims[1], moving))
            return run(list(ctx.saved_tensors), list(tangents))

        @staticmethod
        def backward(ctx: Any, *grad_outputs: Any) -> Any:
            example = ctx.example
            missing: list[bool] = []

            def single(saved: Any, grads: Any) -> tuple[Any, ...]:
                example.saved_tensors = tuple(saved)
                example.needs_input_grad = ctx.needs_input_grad
                found = function.backward(example, *grads)
                found = found if isinstance(found, tuple) else (found,)
                missing[:] = [g is None for g in found]
                return tuple(
                    _sum_to(g, shape)
                    for g, shape in zip(found, ctx.shapes, strict=False)
                    if g is not None
                )

            run = vmap(single, (ctx.dims[0], 0))
            found = iter(run(list(ctx.saved_tensors), list(grad_outputs)))
            grads = [None if is_none else next(found) for is_none in missing]
            return tuple(
                g if g is None or dim == 0 else g.sum(0)
                for g, dim in zip(grads, dims, strict=True)
            )

    Batched.__name__ = f"{function.__name__}Batched"
    return Batched


# ---------------------------------------------------------------------- forward levels


def _apply_dual(function: _Function, level: Level, args: Sequence[Any]) -> Any:
    pairs = [
        primal_and_tangent(a, level.number) if isinstance(a, Tensor) else (a, None)
        for a in args
    ]
    primals = [primal for primal, _ in pairs]
    output, context = _with_context(function, primals)
    moving = [
        pellucid.zeros_like(primal)
        if tangent is None and context.materialize_grads and _moves(primal)
        else tangent
        for primal, tangent in pairs
    ]
    if isinstance(context, _ExampleContext):
        context.saved_tensors = context.saved_for_forward
    tangents = function.jvp(context, *moving)
    outputs, spec = tree_flatten(output)
    given = tangents if isinstance(tangents, tuple | list) else (tangents,)
    if len(given) != len(outputs):
        raise RuntimeError(
            f"{function.__name__}: jvp returned {len(given)} tangents for "
            f"{len(outputs)} outputs"
        )
    for value, tangent in zip(outputs, given, strict=True):
        _check_aliasing(function, primals, moving, value, tangent)
    results = [
        _dual_output(function, value, tangent, level)
        for value, tangent in zip(outputs, given, strict=True)
    ]
    return tree_unflatten(results, spec)


def _check_aliasing(
    function: _Function,
    primals: Sequence[Any],
    moving: Sequence[Any],
    value: Any,
    tangent: Any,
) -> None:
    """Checks that the tangent of an output that aliases an argument aliases that
    argument's tangent: otherwise a later write would change only one of the two.
    """
    if not isinstance(value, Tensor) or not isinstance(tangent, Tensor):
        return
    for primal, moved in zip(primals, moving, strict=True):
        if not isinstance(primal, Tensor) or moved is None:
            continue
        if value is primal and tangent is not moved and primal._version:
            raise RuntimeError(
                f"{function.__name__}: forward changed an argument in place and "
                "returned it, so jvp must change its tangent in place and return that"
            )
        is_view = value._is_view() and value._base is (primal._base or primal)
        if is_view and not tangent._is_view():
            raise RuntimeError(
                f"{function.__name__}: forward returned a view of an argument, so jvp "
                "must return the same view of its tangent"
            )


def _dual_output(function: _Function, value: Any, tangent: Any, level: Level) -> Any:
    if tangent is None:
        return value
    if not isinstance(tangent, Tensor) or tangent.shape != value.shape:
        what = (
            f"a tangent of shape {list(tangent.shape)} for an output of shape "
            f"{list(value.shape)}"
            if isinstance(tangent, Tensor)
            else f"a {type(tangent).__name__}; expected a tensor or None"
        )
        raise RuntimeError(f"{function.__name__}: jvp returned {what}")
    return _C._make_dual(value, tangent.to(value.dtype), level.number)


def _moves(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _with_context(function: _Function, primals: Sequence[Any]) -> tuple[Any, Any]:
    """The outputs, and the context that the Function fills.

    If forward takes the context, this is the context of its node, so that forward runs
    only once.
    """
    context = _ExampleContext()
    if _has(function, "setup_context"):
        output = function.apply(*primals)
        function.setup_context(context, tuple(primals), output)
        return output, context
    tensors = [p for p in primals if isinstance(p, Tensor)]
    if any(unwrap(t) is not None for t in tensors):
        _require_setup_context(function)
    if pellucid.is_grad_enabled() and any(t.requires_grad for t in tensors):
        output = function.apply(*primals)
        nodes = [getattr(leaf, "grad_fn", None) for leaf in tree_flatten(output)[0]]
        recorded = next((n for n in nodes if isinstance(n, BackwardCFunction)), None)
        if recorded is not None:
            return output, recorded
    with pellucid.no_grad():
        return function.forward(context, *primals), context
