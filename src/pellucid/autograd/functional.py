"""Products with Jacobians and Hessians of functions of tensors.

These use only autograd; ``pellucid.func`` has the composable transforms. In all of them
``create_graph`` makes the results differentiable, and ``strict`` raises RuntimeError if
an output does not depend on an input instead of returning zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid._tensor import Tensor
from pellucid.autograd import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_Tensors = tuple[Tensor, ...]
_Result = Tensor | _Tensors


def _as_tuple(given: Any, what: str) -> tuple[_Tensors, bool]:
    """The tensors of an argument or result, and whether it was a tuple."""
    is_tuple = isinstance(given, tuple | list)
    tensors = tuple(given) if is_tuple else (given,)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{what} must be a Tensor or a tuple of Tensors, got "
                f"{type(tensor).__name__}"
            )
    return tensors, is_tuple


def _like_given(tensors: Sequence[Tensor], is_tuple: bool) -> _Result:
    return tuple(tensors) if is_tuple else tensors[0]


class _Call:
    """A call of the function on inputs to be differentiated."""

    def __init__(
        self, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool
    ) -> None:
        given, self.input_is_tuple = _as_tuple(inputs, "inputs")
        self.create_graph, self.strict = create_graph, strict
        self.inputs = tuple(self._place(t) for t in given)
        outputs = func(*self.inputs)
        self.outputs, self.output_is_tuple = _as_tuple(outputs, "the function's result")
        if strict and not all(t.requires_grad for t in self.outputs):
            raise RuntimeError(
                "strict=True: an output of the function does not depend on the inputs"
            )

    def _place(self, tensor: Tensor) -> Tensor:
        if self.create_graph and tensor.requires_grad:
            return tensor.view_as(tensor)
        return tensor.detach().requires_grad_()

    def grads(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        vectors: Sequence[Tensor] | None,
        create_graph: bool,
    ) -> _Tensors:
        return _pulled(outputs, inputs, vectors, create_graph, self.strict)

    def finished(self, tensors: Sequence[Tensor]) -> _Tensors:
        if self.create_graph:
            return tuple(tensors)
        return tuple(t.detach() for t in tensors)


def _pulled(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    vectors: Sequence[Tensor] | None,
    create_graph: bool,
    strict: bool,
) -> _Tensors:
    """The vector-Jacobian product, with zeros where there is no dependence."""
    given: Sequence[Tensor | None] = vectors or [None] * len(outputs)
    pairs = [p for p in zip(outputs, given, strict=True) if p[0].requires_grad]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if pairs:
        roots, vector = zip(*pairs, strict=True)
        found = grad(
            roots,
            tuple(inputs),
            vector,
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    if strict and any(g is None for g in found):
        raise RuntimeError(
            "strict=True: the outputs of the function do not depend on all inputs"
        )
    return tuple(
        pellucid.zeros_like(i) if g is None else g
        for g, i in zip(found, inputs, strict=True)
    )


def _vectors(v: Any, like: Sequence[Tensor], what: str) -> _Tensors:
    """``v`` as one tensor per tensor of ``like``; None means 1 for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"v can only be left out for a single {what} of one element"
            )
        return (pellucid.ones_like(like[0]),)
    given, _ = _as_tuple(v, "v")
    if len(given) != len(like):
        raise RuntimeError(f"v has {len(given)} tensors; there are {len(like)} {what}s")
    for vector, tensor in zip(given, like, strict=True):
        if vector.shape != tensor.shape:
            raise RuntimeError(
                f"v has a tensor of shape {list(vector.shape)} for the {what} of shape "
                f"{list(tensor.shape)}"
            )
    return given


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[_Result, _Result]:
    """``(func(*inputs), v^T J)``; ``v`` has the outputs' shapes."""
    with pellucid.enable_grad():
        call = _Call(func, inputs, create_graph, strict)
        vectors = _vectors(v, call.outputs, "output")
        found = call.grads(call.outputs, call.inputs, vectors, create_graph)
    outputs = _like_given(call.finished(call.outputs), call.output_is_tuple)
    return outputs, _like_given(call.finished(found), call.input_is_tuple)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[_Result, _Result]:
    """``(func(*inputs), J v)``, by reverse mode twice; ``v`` has the inputs' shapes."""
    with pellucid.enable_grad():
        call = _Call(func, inputs, create_graph, strict)
        vectors = _vectors(v, call.inputs, "input")
        found = _push(call, call.outputs, call.inputs, vectors)
    outputs = _like_given(call.finished(call.outputs), call.output_is_tuple)
    return outputs, _like_given(call.finished(found), call.output_is_tuple)


def _push(
    call: _Call,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    vectors: Sequence[Tensor],
) -> _Tensors:
    """``J v``: the pullback is linear in its vectors, so its transpose is J."""
    places = tuple(pellucid.zeros_like(o).requires_grad_() for o in outputs)
    pulled = call.grads(outputs, inputs, places, create_graph=True)
    return call.grads(pulled, places, vectors, call.create_graph)


def _scalar(output: Any) -> Tensor:
    if not isinstance(output, Tensor):
        raise RuntimeError("the function must return a single Tensor")
    if output.numel() != 1:
        raise RuntimeError(
            "the function must return a single element, got the shape "
            f"{list(output.shape)}"
        )
    return output


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, _Result]:
    """``(func(*inputs), v^T H)`` for a function that returns one element."""
    with pellucid.enable_grad():
        call = _Call(func, inputs, create_graph, strict)
        output = _scalar(_like_given(call.outputs, call.output_is_tuple))
        vectors = _vectors(v, call.inputs, "input")
        slopes = call.grads((output,), call.inputs, None, create_graph=True)
        found = call.grads(slopes, call.inputs, vectors, create_graph)
    value = call.finished((output,))[0]
    return value, _like_given(call.finished(found), call.input_is_tuple)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, _Result]:
    """``(func(*inputs), H v)`` for a function that returns one element."""
    with pellucid.enable_grad():
        call = _Call(func, inputs, create_graph, strict)
        output = _scalar(_like_given(call.outputs, call.output_is_tuple))
        vectors = _vectors(v, call.inputs, "input")
        slopes = call.grads((output,), call.inputs, None, create_graph=True)
        found = _push(call, slopes, call.inputs, vectors)
    value = call.finished((output,))[0]
    return value, _like_given(call.finished(found), call.input_is_tuple)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for each output and input a tensor with the concatenation of both
    shapes.

    A single output or input is not wrapped in a tuple. With ``vectorize`` all rows are
    computed in one pass by vmap; ``strategy`` "forward-mode" computes columns and
    needs ``vectorize``.
    """
    _check_strategy(strategy)
    if strict and vectorize:
        raise RuntimeError("strict=True and vectorize=True cannot be combined")
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, vectorize)
    with pellucid.enable_grad():
        call = _Call(func, inputs, create_graph, strict)
        rows = _all_rows if vectorize else _row_by_row
        blocks = [call.finished(rows(call, k)) for k in range(len(call.outputs))]
    found = [_like_given(block, call.input_is_tuple) for block in blocks]
    return tuple(found) if call.output_is_tuple else found[0]


def _row_by_row(call: _Call, position: int) -> _Tensors:
    output = call.outputs[position]
    rows: list[list[Tensor]] = [[] for _ in call.inputs]
    for element in output.reshape(-1):
        found = call.grads((element,), call.inputs, None, call.create_graph)
        for row, gradient in zip(rows, found, strict=True):
            row.append(gradient)
    pairs = zip(rows, call.inputs, strict=True)
    return tuple(
        pellucid.stack(row).reshape(*output.shape, *i.shape)
        if row
        else pellucid.zeros(*output.shape, *i.shape, dtype=i.dtype)
        for row, i in pairs
    )


def _all_rows(call: _Call, position: int) -> _Tensors:
    from pellucid.func._vmap import vmap

    output = call.outputs[position]
    count = output.numel()
    vectors = pellucid.eye(count, dtype=output.dtype).reshape(count, *output.shape)
    found = vmap(lambda v: call.grads((output,), call.inputs, (v,), call.create_graph))(
        vectors
    )
    pairs = zip(found, call.inputs, strict=True)
    return tuple(rows.reshape(*output.shape, *i.shape) for rows, i in pairs)


def _check_strategy(strategy: str) -> None:
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            f"strategy must be 'reverse-mode' or 'forward-mode', got {strategy!r}"
        )


def _forward_jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool, vectorize: bool
) -> Any:
    from pellucid.func._forward import jacfwd

    if not vectorize:
        raise NotImplementedError(
            "strategy='forward-mode' computes all columns at once: pass vectorize=True"
        )
    given, is_tuple = _as_tuple(inputs, "inputs")
    if not create_graph:
        given = tuple(t.detach() for t in given)
    with pellucid.enable_grad():
        found = jacfwd(func, tuple(range(len(given))))(*given)
    if isinstance(found[0], Tensor):
        return _like_given(found, is_tuple)
    return tuple(_like_given(block, is_tuple) for block in found)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function that returns one element: for each pair of
    inputs a tensor with the concatenation of both shapes.
    """
    _, is_tuple = _as_tuple(inputs, "inputs")
    _check_strategy(outer_jacobian_strategy)
    if outer_jacobian_strategy == "forward-mode":
        return _forward_hessian(func, inputs, create_graph, strict, vectorize)

    def slopes(*given: Tensor) -> _Result:
        output = _scalar(func(*given))
        found = _pulled((output,), given, None, True, strict)
        if strict and not all(g.requires_grad for g in found):
            raise RuntimeError("strict=True: a gradient does not depend on the inputs")
        return _like_given(found, is_tuple)

    return jacobian(slopes, inputs, create_graph, strict, vectorize)


def _forward_hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool,
    strict: bool,
    vectorize: bool,
) -> Any:
    from pellucid.func._reverse import grad as gradient_of

    if strict:
        raise RuntimeError("strict=True needs outer_jacobian_strategy='reverse-mode'")
    given, is_tuple = _as_tuple(inputs, "inputs")
    numbers = tuple(range(len(given)))
    slopes = gradient_of(lambda *t: func(*t).reshape(()), numbers)
    return jacobian(
        slopes if is_tuple else lambda x: slopes(x)[0],
        inputs,
        create_graph,
        vectorize=vectorize,
        strategy="forward-mode",
    )
