"""Forward mode: jvp, jacfwd, hessian and linearize.

A jvp is a forward level: the primals become dual tensors, every op computes its tangent
by a rule derived from its declaration (``runtime/transforms/forward.cpp``), and the
output's tangent is the result. Read ``_levels.py`` first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import pellucid
from pellucid import _C
from pellucid._tensor import Tensor
from pellucid.func._arguments import (
    chosen_arguments,
    require_output_tensors,
    require_tensors,
    split_aux,
    with_arguments,
)
from pellucid.func._levels import forward_level, primal_and_tangent, wrappers
from pellucid.func._reverse import basis, jacrev, vjp
from pellucid.func._vmap import vmap
from pellucid.utils._pytree import tree_flatten, tree_map_only, tree_unflatten


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """The output of ``func(*primals)`` and its derivative along ``tangents``.

    Both are tuples of one structure. With ``has_aux`` ``func`` returns
    ``(output, aux)`` and ``(output, tangent, aux)`` is returned; with ``strict`` an
    output that does not depend on the primals is an error instead of a zero tangent.
    Raises RuntimeError for tangents that do not match the primals.

    >>> jvp(torch.sin, (x,), (torch.ones_like(x),))   # sin(x), cos(x)
    """
    flat, spec = tree_flatten(primals)
    moving, tangent_spec = tree_flatten(tangents)
    _check(primals, flat, moving, spec == tangent_spec)
    if any(each.is_nested for each in flat):
        return _jvp_by_reverse(func, primals, tangents, has_aux)
    with forward_level() as level:
        duals = [
            _C._make_dual(primal, _beside(tangent, primal), level)
            for primal, tangent in zip(flat, moving, strict=True)
        ]
        output = _C._call_transformed(func, *tree_unflatten(duals, spec))
        aux = None
        if has_aux:
            output, aux = split_aux(output)
            aux = tree_map_only(Tensor, lambda t: primal_and_tangent(t, level)[0], aux)
        outputs, output_spec = tree_flatten(output)
        require_output_tensors(outputs)
        pairs = [primal_and_tangent(t, level) for t in outputs]
    values = tree_unflatten([primal for primal, _ in pairs], output_spec)
    moved = tree_unflatten([_tangent(*pair, strict) for pair in pairs], output_spec)
    return (values, moved, aux) if has_aux else (values, moved)


def _jvp_by_reverse(
    func: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool
) -> Any:
    """``jvp`` of nested tensors, which only have reverse-mode rules: the pullback is
    linear, and its own pullback is the derivative along a tangent.
    """
    output, pullback, *aux = vjp(func, *primals, has_aux=has_aux)
    zeros = tree_map_only(Tensor, pellucid.zeros_like, output)
    _, push = vjp(lambda given: pullback(given, create_graph=True), zeros)
    every = tree_flatten((primals, tangents))[0]
    recorded = pellucid.is_grad_enabled() and any(t.requires_grad for t in every)
    return (output, *push(tangents, create_graph=recorded), *aux)


def _beside(tangent: Tensor, primal: Tensor) -> Tensor:
    """``tangent`` in the primal's dtype, and batched if the primal is: an in-place
    write to the dual tensor needs memory for all examples in both parts.
    """
    tangent = tangent.to(primal.dtype)
    batches = (
        {w.level for w in wrappers(t) if w.tangent is None} for t in (primal, tangent)
    )
    needed, found = batches
    return tangent + pellucid.zeros_like(primal) if needed - found else tangent


def _tangent(primal: Tensor, tangent: Tensor | None, strict: bool) -> Tensor:
    if tangent is not None:
        return tangent
    if strict:
        raise RuntimeError(
            "jvp with strict=True: an output does not depend on the primals"
        )
    return pellucid.zeros_like(primal)


def _check(
    primals: Any, flat: Sequence[Any], moving: Sequence[Any], same: bool
) -> None:
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"jvp: primals must be a tuple of arguments, got {type(primals).__name__}"
        )
    require_tensors(flat, "jvp's primals", dtype_error=ValueError)
    if not same:
        raise RuntimeError(
            "jvp: primals and tangents must have the same structure: one tangent for "
            "each primal"
        )
    require_tensors(moving, "jvp's tangents", dtype_error=ValueError)
    for primal, tangent in zip(flat, moving, strict=True):
        if primal.shape != tangent.shape or tangent.is_complex() > primal.is_complex():
            raise RuntimeError(
                f"jvp: a tangent of {tangent.dtype} and shape {list(tangent.shape)} "
                f"was given for a primal of {primal.dtype} and shape "
                f"{list(primal.shape)}"
            )


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func`` by columns, in forward mode.

    The result has the structure of ``jacrev``'s. ``randomness`` is that of ``vmap``
    over the columns; ``chunk_size`` columns are computed at a time.
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        primals = chosen_arguments(args, argnums)
        flat, spec = tree_flatten(primals)
        require_tensors(flat, "jacfwd's arguments", dtype_error=ValueError)

        def inner(*trees: Any) -> Any:
            return func(*with_arguments(args, argnums, trees), **kwargs)

        def push(*moving: Tensor) -> Any:
            tangents = tree_unflatten(moving, spec)
            found = jvp(inner, primals, tangents, has_aux=has_aux)
            return (found[1], found[2]) if has_aux else (found[1], ())

        mapped = vmap(push, randomness=randomness, chunk_size=chunk_size)
        columns, aux = mapped(*basis(flat))
        outputs, output_spec = tree_flatten(columns)
        trees = []
        for output in outputs:
            block = tree_unflatten(_columns(output, flat), spec)
            trees.append(block[0] if isinstance(argnums, int) else block)
        jacobian = tree_unflatten(trees, output_spec)
        if not has_aux:
            return jacobian
        return jacobian, tree_map_only(Tensor, lambda t: t[0], aux)

    return wrapper


def _columns(output: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """One output's columns, along dim 0, as a block for each input."""
    parts = output.movedim(0, -1).split([t.numel() for t in inputs], -1)
    return [
        part.reshape((*output.shape[1:], *given.shape))
        for part, given in zip(parts, inputs, strict=True)
    ]


def hessian(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0
) -> Callable[..., Any]:
    """The function that computes the second derivatives, forward over reverse.

    >>> hessian(lambda x: x.sin().sum())(x)   # -x.sin().diag()
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Any]:
    """The output of ``func(*primals)`` and the linear function of its tangents.

    The function is evaluated once: each call of the linear function transposes the
    pullback, which is linear in its cotangents.
    """
    output, pullback = vjp(func, *primals)
    zeros = tree_map_only(Tensor, pellucid.zeros_like, output)
    _, push = vjp(lambda given: pullback(given, create_graph=True), zeros)

    def linear(*tangents: Any) -> Any:
        flat, moving, matches = _flat(primals, tangents)
        _check(primals, flat, moving, matches)
        recorded = pellucid.is_grad_enabled() and any(t.requires_grad for t in moving)
        return push(tangents, create_graph=recorded)[0]

    return output, linear


def _flat(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], bool]:
    flat, spec = tree_flatten(primals)
    moving, tangent_spec = tree_flatten(tangents)
    return flat, moving, spec == tangent_spec
