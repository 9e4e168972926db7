"""Reverse mode: vjp, grad and jacrev, at any depth inside other transforms.

Autograd records only plain tensors, so reverse mode has no level. ``fresh`` makes the
tensors to differentiate by: new nodes in the graph inside the wrappers of all running
levels. ``pull`` removes those wrappers, runs the engine on the plain tensors and wraps
the results again:

- at a batch level the gradients of the examples are one gradient over all examples,
  since no example's result depends on another's input. Tensors that the examples share
  are batched for it, but *uniform* (``runtime/transforms/wrapper.h``), so that their
  values can be read;
- at a forward level, with outputs ``(y, dy)`` and cotangents ``(v, dv)``, the gradient
  is ``J^T v`` and its tangent the gradient of ``<y, dv> + <dy, v>``.

Read ``_levels.py`` first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import pellucid
from pellucid import _C
from pellucid._tensor import Tensor
from pellucid._tensor.copying import leaf_of
from pellucid.func._arguments import (
    chosen_arguments,
    require_output_tensors,
    require_tensors,
    split_aux,
    with_arguments,
)
from pellucid.func._levels import (
    Level,
    active_levels,
    dual,
    examples,
    expanded,
    from_examples,
    innermost_level,
    is_uniform,
    plain,
    primal_and_tangent,
    unwrap,
    without_history,
)
from pellucid.func._vmap import vmap
from pellucid.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

_Gradients = list[Tensor | None]

# ------------------------------------------------------------- inputs to differentiate


def fresh(tensor: Tensor, is_recorded: bool) -> Tensor:
    """``tensor`` as a new node of the graph, batched at every running batch level.

    It is connected to the history of ``tensor`` if that is recorded.
    """
    return _fresh(tensor, active_levels(), is_recorded)


def _fresh(tensor: Tensor, levels: Sequence[Level], is_recorded: bool) -> Tensor:
    if not levels:
        if is_recorded and tensor.requires_grad:
            return tensor.view_as(tensor)
        return leaf_of(tensor)
    *outer, level = levels
    found = unwrap(tensor)
    is_wrapped = found is not None and found.level == level.number
    value = found.value if found is not None and is_wrapped else tensor
    if level.kind == "batch":
        rows = value if is_wrapped else expanded(value, level.size)
        uniform = not is_wrapped or (found is not None and found.uniform)
        inner = _fresh(rows, outer, is_recorded)
        return _C._make_batched(inner, level.number, uniform)
    inner = _fresh(value, outer, is_recorded)
    if found is None or found.tangent is None or not is_wrapped:
        return inner
    return _C._make_dual(inner, found.tangent, level.number)


def depends_on_others(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> bool:
    """Whether a gradient of ``outputs`` could be needed for tensors other than
    ``inputs``, which are those of a call and its inner calls and private to them.
    """
    return _C._depends_on_others(
        [plain(t) for t in outputs], [plain(t) for t in inputs]
    )


# ------------------------------------------------------------------------ the pullback


def pull(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    inputs: Sequence[Tensor],
    create_graph: bool,
) -> _Gradients:
    """The gradients of ``inputs``, None for those that no output depends on.

    All tensors may be wrapped. The graph is retained for further calls.
    """
    found = innermost_level([*outputs, *inputs], cotangents)
    if found is None:
        return _run_engine(outputs, cotangents, inputs, create_graph)
    level = next((n for n in active_levels() if n.number == found.level), None)
    if level is None:
        raise RuntimeError("gradients of tensors of a transform that has ended")
    pull_at = _pull_batched if level.kind == "batch" else _pull_dual
    return pull_at(outputs, cotangents, inputs, create_graph, level)


def _run_engine(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    inputs: Sequence[Tensor],
    create_graph: bool,
) -> _Gradients:
    pairs = [
        pair for pair in zip(outputs, cotangents, strict=True) if pair[0].requires_grad
    ]
    if not pairs:
        return [None] * len(inputs)
    roots, given = zip(*pairs, strict=True)
    return list(
        _C._run_backward(roots, given, True, create_graph, tuple(inputs), True, False)
    )


def _pull_batched(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    inputs: Sequence[Tensor],
    create_graph: bool,
    level: Level,
) -> _Gradients:
    def rows(tensors: Sequence[Tensor]) -> list[Tensor]:
        return [examples(t, level.number, level.size) for t in tensors]

    values = [_batched_value(t, level) for t in inputs]
    uniform = all(is_uniform(t, level.number) for t in (*outputs, *cotangents))
    grads = pull(rows(outputs), rows(cotangents), values, create_graph)
    return [
        None if g is None else from_examples(g, level.number, uniform) for g in grads
    ]


def _batched_value(tensor: Tensor, level: Level) -> Tensor:
    found = unwrap(tensor)
    if found is None or found.level != level.number:
        raise RuntimeError(
            "a result inside vmap was differentiated by a tensor from outside of it: "
            "the examples have one gradient each. Use torch.func.grad or vjp inside "
            "vmap, or differentiate outside of it"
        )
    return found.value


def _pull_dual(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    inputs: Sequence[Tensor],
    create_graph: bool,
    level: Level,
) -> _Gradients:
    primal_outputs, output_tangents = _split(outputs, level)
    primal_cotangents, cotangent_tangents = _split(cotangents, level)
    primal_inputs, _ = _split(inputs, level)
    grads = pull(primal_outputs, primal_cotangents, primal_inputs, create_graph)
    terms = [
        (out, given)
        for out, given in (
            *zip(primal_outputs, cotangent_tangents, strict=True),
            *zip(output_tangents, primal_cotangents, strict=True),
        )
        if out is not None and given is not None
    ]
    moved: _Gradients = [None] * len(inputs)
    if terms:
        roots, given_terms = zip(*terms, strict=True)
        moved = pull(roots, given_terms, primal_inputs, create_graph)
    return [
        _joined(grad, tangent, level)
        for grad, tangent in zip(grads, moved, strict=True)
    ]


def _split(
    tensors: Sequence[Tensor], level: Level
) -> tuple[list[Tensor], list[Tensor | None]]:
    pairs = [primal_and_tangent(t, level.number) for t in tensors]
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


def _joined(grad: Tensor | None, tangent: Tensor | None, level: Level) -> Tensor | None:
    if tangent is None:
        return grad
    primal = pellucid.zeros_like(tangent) if grad is None else grad
    return dual(primal, tangent, level.number)


# ------------------------------------------------------------------------- public: vjp


class _Leaves(threading.local):
    """The nodes made by ``fresh`` in the calls in progress and their inner calls."""

    def __init__(self) -> None:
        self.made: list[Tensor] = []
        self.depth = 0

    def run(self, func: Callable[[], Any], inputs: list[Tensor]) -> tuple[Any, Any]:
        """The result of ``func``, and ``inputs`` with the nodes made while it ran."""
        start = len(self.made)
        self.made += [plain(t) for t in inputs]  # while their levels are active
        self.depth += 1
        try:
            output = func()
            return output, self.made[start:]
        finally:
            self.depth -= 1
            if not self.depth:
                self.made.clear()


_leaves = _Leaves()


def _require_differentiable(outputs: Sequence[Tensor], *, real: bool = False) -> None:
    for output in outputs:
        if real and output.is_complex():
            raise RuntimeError(
                "jacrev: a Jacobian of complex results is not defined by one gradient "
                f"per element, but one of them has dtype {output.dtype}: return its "
                "real and imaginary parts, or use jacfwd"
            )
        if not output.is_floating_point() and not output.is_complex():
            raise RuntimeError(
                "the function must return floating-point or complex tensors, but one "
                f"of its results has dtype {output.dtype}: convert it, or return it as "
                "aux, with has_aux=True"
            )


class _Differentiated:
    """A call of a function and the graph nodes that it is differentiated by."""

    def __init__(
        self, func: Callable[..., Any], trees: tuple[Any, ...], has_aux: bool
    ) -> None:
        self.is_recorded = pellucid.is_grad_enabled()
        self.is_released = False
        given, self.spec = tree_flatten(trees)
        require_tensors(given, "differentiated arguments", ValueError)
        with pellucid.enable_grad():
            self.inputs = [fresh(t, self.is_recorded) for t in given]
            self.goes_on = self.is_recorded and any(t.requires_grad for t in given)
            trees = tree_unflatten(self.inputs, self.spec)
            output, self.leaves = _leaves.run(
                lambda: _C._call_transformed(func, *trees), self.inputs
            )
        self.aux: Any = None
        self.output: Any = output
        if has_aux:
            self.output, self.aux = split_aux(output)
        self.outputs, self.output_spec = tree_flatten(self.output)
        require_output_tensors(self.outputs)
        self.goes_on = self.goes_on or (self.is_recorded and self._has_other_sources())

    def _has_other_sources(self) -> bool:
        return depends_on_others(self.outputs, self.leaves)

    def release(self) -> None:
        """Frees the graph; the pullback cannot be called again."""
        self.outputs, self.inputs, self.leaves = [], [], []
        self.is_released = True

    def pull(self, cotangents: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
        if self.is_released:
            raise RuntimeError(
                "the pullback was called a second time, but the first call freed its "
                "saved tensors: pass retain_graph=True to the first call"
            )
        grads = pull(self.outputs, cotangents, self.inputs, create_graph)
        found = [
            pellucid.zeros_like(i) if g is None else g
            for g, i in zip(grads, self.inputs, strict=True)
        ]
        return found if create_graph else [without_history(g) for g in found]

    def result(self, tree: Any) -> Any:
        """Results without the history that leads to this call's inputs."""

        def finished(tensor: Tensor) -> Tensor:
            if not tensor.requires_grad or self.goes_on:
                return tensor
            if self.is_recorded and depends_on_others([tensor], self.leaves):
                return tensor
            return without_history(tensor)

        return tree_map_only(Tensor, finished, tree)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The output of ``func(*primals)`` and its pullback.

    The pullback takes one cotangent per output, in the outputs' structure, and returns
    a tuple with the gradient of each primal (trees of tensors). It may be called again,
    unless with ``retain_graph=False``, which frees the saved tensors. With ``has_aux``
    ``func`` returns ``(output, aux)`` and so ``(output, vjp_fn, aux)`` is returned.

    >>> output, pullback = vjp(torch.sin, x)
    >>> (gradient,) = pullback(torch.ones_like(output))   # cos(x)
    """
    call = _Differentiated(func, primals, has_aux)
    _require_differentiable(call.outputs)

    def pullback(
        *cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        given: Any = cotangents[0] if len(cotangents) == 1 else cotangents
        flat, spec = tree_flatten(given)
        if spec != call.output_spec:
            raise RuntimeError(
                f"the cotangents have the structure {spec}, the function's outputs "
                f"have {call.output_spec}: give one cotangent for each output"
            )
        recorded = pellucid.is_grad_enabled() and (
            call.goes_on or any(t.requires_grad for t in flat)
        )
        grads = call.pull(flat, recorded if create_graph is None else create_graph)
        if not retain_graph:
            call.release()
        return tree_unflatten(grads, call.spec)

    output = call.result(call.output)
    return (output, pullback, call.result(call.aux)) if has_aux else (output, pullback)


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Like ``grad``, but the result is ``(gradients, output)``, or with ``has_aux``
    ``(gradients, (output, aux))``.
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = chosen_arguments(args, argnums)
        call = _Differentiated(
            lambda *trees: func(*with_arguments(args, argnums, trees), **kwargs),
            chosen,
            has_aux,
        )
        output = call.output
        if not isinstance(output, Tensor):
            raise RuntimeError(
                "grad: the function must return a single Tensor, got a "
                f"{type(output).__name__}"
            )
        if output.is_complex():
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs; the "
                f"function returned {output.dtype}: use vjp with a cotangent"
            )
        if output.dim() != 0:
            raise RuntimeError(
                "grad: the function must return a 0-dimensional tensor, got the shape "
                f"{list(output.shape)}: reduce it, or use vjp or jacrev"
            )
        one = pellucid.ones((), dtype=output.dtype)
        grads = call.result(tree_unflatten(call.pull([one], call.goes_on), call.spec))
        gradients = grads[0] if isinstance(argnums, int) else grads
        value = call.result(output)
        return gradients, (value, call.result(call.aux)) if has_aux else value

    return wrapper


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that computes the gradient of ``func``, which returns a scalar.

    Args:
        argnums: the argument, or arguments, to differentiate by; each may be a tree of
            tensors.
        has_aux: ``func`` returns ``(output, aux)`` and the result is
            ``(gradients, aux)``.

    Composes with itself and with the other transforms. Raises RuntimeError when the
    output is not a 0-dimensional tensor.

    >>> grad(torch.sin)(x)          # cos(x)
    >>> grad(grad(torch.sin))(x)    # -sin(x)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func`` by rows, in reverse mode.

    The result has the structure of the output; each tensor is replaced by the
    structure of the argument (a tuple for several ``argnums``) with tensors of the
    shape ``output.shape + input.shape``. ``chunk_size`` rows are computed at a time.
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = chosen_arguments(args, argnums)
        call = _Differentiated(
            lambda *trees: func(*with_arguments(args, argnums, trees), **kwargs),
            chosen,
            has_aux,
        )
        _require_differentiable(call.outputs, real=True)
        blocks = _rows(call, chunk_size)
        trees = []
        for row in blocks:
            found = tree_unflatten(row, call.spec)
            trees.append(found[0] if isinstance(argnums, int) else found)
        jacobian = call.result(tree_unflatten(trees, call.output_spec))
        return (jacobian, call.result(call.aux)) if has_aux else jacobian

    return wrapper


def _rows(call: _Differentiated, chunk_size: int | None) -> list[list[Tensor]]:
    """One block of the Jacobian per output and input."""
    outputs = call.outputs

    def pull_rows(*cotangents: Tensor) -> list[Tensor]:
        return call.pull(cotangents, call.goes_on)

    rows = vmap(pull_rows, chunk_size=chunk_size)(*basis(outputs))
    sizes = [t.numel() for t in outputs]
    blocks: list[list[Tensor]] = [[] for _ in outputs]
    for gradient, given in zip(rows, call.inputs, strict=True):
        parts = gradient.split(sizes)
        for block, part, output in zip(blocks, parts, outputs, strict=True):
            block.append(part.reshape((*output.shape, *given.shape)))
    return blocks


def basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """One-hot vectors over all elements of ``tensors``, a batch for each tensor."""
    total = sum(t.numel() for t in tensors)
    result, start = [], 0
    for tensor in tensors:
        ones = pellucid.eye(total, dtype=tensor.dtype)
        columns = ones.narrow(1, start, tensor.numel())
        result.append(columns.reshape(total, *tensor.shape))
        start += tensor.numel()
    return result
