"""The bodies of PyTorch's gradient ops, ``gelu_backward`` and its kin.

A declaration names its gradient op (``backward=``); the name stores no formula. The
body of that op is made here: its arguments tell those of the forward op
(``gradient_arguments.py``), and the derivative that the forward op has gives the
gradients. Where modes watch, ``_decomp`` does the reverse. Found by composites.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import _C, Tensor
from pellucid._C._runtime.gradient_arguments import (
    declared_reads,
    forward_argument,
    is_mask,
    of_size,
    result_number,
)
from pellucid._ops import OpOverload
from pellucid_compiler.composites.gradients import recorded_gradients

_record: Callable[..., Sequence[Tensor | None]] = recorded_gradients


def overload_of(full_name: str) -> OpOverload:
    """The op overload ``max.dim``; of aten, where the name says no namespace."""
    name, _, overload = full_name.partition(".")
    found: OpOverload = _C._overloads(name)[overload or "default"]
    return found


class _Given(NamedTuple):
    """A gradient op's call as one of the forward op."""

    grad: Tensor
    values: list[Any]
    results: tuple[Any, ...]
    wanted: list[bool]


def _given(
    forward: OpOverload, arguments: Sequence[Any], args: Sequence[Any], count: int
) -> _Given:
    """The call of ``forward`` whose gradients the gradient op gives, ``count`` of them
    unless its mask says otherwise.
    """
    grad, *rest = args
    declared = forward._schema.arguments
    reads = declared_reads(forward.name().removeprefix("aten::"))
    found: dict[str, Any] = {}
    results: dict[int, Any] = {}
    mask = [True] * count
    for argument, value in zip(arguments[1:], rest, strict=True):
        read = reads.get(argument.name)
        if is_mask(argument):
            mask = value
        elif read is None:
            found[argument.name] = value
        elif (number := result_number(read)) is not None:
            results[number] = value
        elif (told := forward_argument(read, grad, value)) is not None:
            found[told[0]] = told[1]
    first = next(a.name for a in declared if "Tensor" in a.type)
    if first not in found:  # of the result's size
        found[first] = of_size(grad, results[0].shape)
    values = [found[a.name] if a.name in found else _unread(a, grad) for a in declared]
    tensors = [a.name for a in declared if "Tensor" in a.type]
    wanted = [bool(k < len(mask) and mask[k]) for k in range(len(tensors))]
    return _Given(grad, values, (results.get(0), results.get(1)), wanted)


def _unread(argument: Any, grad: Tensor) -> Any:
    """For an argument that the gradient does not depend on, or that its size tells."""
    if argument.has_default_value():
        return argument.default
    if argument.N:  # sizes of the result
        return list(grad.shape[-argument.N :])
    return {"Scalar": 0, "bool": False}.get(argument.type)


def derived(forward_name: str, name: str) -> Callable[..., Any]:
    """The body of the gradient op ``name``, by the forward op's derivative."""
    return _body(forward_name, name, _derived_gradients)


def recorded(forward_name: str, name: str) -> Callable[..., Any]:
    """The body by what autograd records of the forward op, which has no kernel."""
    return _body(forward_name, name, _recorded_gradients)


def _body(
    forward_name: str, name: str, gradients: Callable[[OpOverload, _Given], list[Any]]
) -> Callable[..., Any]:
    forward = overload_of(forward_name)
    schema = overload_of(name)._schema
    keyword_only = [a.name for a in schema.arguments if a.kwarg_only]

    def body(*args: Any, **kwargs: Any) -> Any:
        ordered = (*args, *(kwargs[n] for n in keyword_only))
        count = len(schema.returns)
        found = gradients(forward, _given(forward, schema.arguments, ordered, count))
        if count == 1:
            return _required(found[0], forward, ordered[0])
        return tuple(found[:count])

    return body


def _required(found: Any, forward: OpOverload, grad: Tensor) -> Any:
    if found is None:
        raise RuntimeError(
            f"the op {forward} has no gradient for arguments of {grad.dtype}"
        )
    return found


def _derived_gradients(forward: OpOverload, given: _Given) -> list[Any]:
    _require_shapes(forward, given)
    return gradients_of(
        forward, given.wanted, [given.grad], given.values, given.results
    )


def _require_shapes(forward: OpOverload, given: _Given) -> None:
    """The derivative trusts that gradient and results have the shapes that the forward
    op gives: autograd's always have.
    """
    declared = forward._schema.arguments
    values = {a.name: _on_meta(v) for a, v in zip(declared, given.values, strict=True)}
    named = {a.name: values.pop(a.name) for a in declared if a.kwarg_only}
    with pellucid.no_grad():
        found = forward(*values.values(), **named)
    results = [found] if isinstance(found, Tensor) else list(found)
    for tensor, result in zip(
        (given.grad, *given.results), (results[0], *results), strict=False
    ):
        if tensor is not None and tensor.shape != result.shape:
            raise RuntimeError(
                f"the op {forward} gives shape "
                f"{tuple(result.shape)} for these arguments; its gradient was given a "
                f"tensor of shape {tuple(tensor.shape)}"
            )


def _on_meta(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.to("meta")
    return [_on_meta(v) for v in value] if isinstance(value, list) else value


def _recorded_gradients(forward: OpOverload, given: _Given) -> list[Any]:
    places = [k for k, a in enumerate(forward._schema.arguments) if "Tensor" in a.type]
    wanted = [
        place
        for place, is_wanted in zip(places, given.wanted, strict=True)
        if is_wanted and isinstance(given.values[place], Tensor)
    ]

    def run(*leaves: Tensor) -> Tensor:
        values = list(given.values)
        for place, leaf in zip(wanted, leaves, strict=True):
            values[place] = leaf
        result = forward(*values)
        first: Tensor = result if isinstance(result, Tensor) else result[0]
        return first

    operands = (given.values[place] for place in wanted)
    found = dict(zip(wanted, _record(run, given.grad, *operands), strict=True))
    return [found.get(place) for place in places]


def gradients_of(
    op: OpOverload,
    wanted: Sequence[bool],
    grads: Sequence[Tensor],
    args: Sequence[Any],
    results: Sequence[Tensor | None] = (),
) -> list[Tensor | None]:
    """The gradients of the tensors among ``args``, None for those not ``wanted``.

    ``args`` are all arguments of the op, ``grads`` the gradients of its results, and
    ``results`` those that the derivative may read.
    """
    declared = op._schema.arguments
    count = sum(not a.kwarg_only for a in declared)
    named = {a.name: v for a, v in zip(declared[count:], args[count:], strict=True)}
    mask = sum(1 << k for k, is_wanted in enumerate(wanted) if is_wanted)
    found = _C._derivative_of(op.name(), mask, results, *args[:count], **named)
    gradients: list[Tensor | None] = [None] * len(wanted)
    if found is None:
        return gradients
    derivative, sizes = found
    _, _, sources, _, numbers = _C._derived_from(derivative.name())

    def value(source: str, index: int, element: int) -> Any:
        if source == "argument":
            return args[index] if element < 0 else args[index][element]
        if source == "sizes":
            return [_tensor_at(args, a, e).shape[d] for a, e, d in sizes]
        if source == "gradients":
            return list(grads)
        return (results if source == "result" else grads)[index]

    given = derivative(*(value(*source) for source in sources))
    given = [given] if isinstance(given, Tensor) else given
    tensors = [v for a, v in zip(declared, args, strict=True) if "Tensor" in a.type]
    for number, gradient in zip(numbers, given, strict=True):
        gradients[number] = summed(gradient, tensors[number].shape)
    return gradients


def _tensor_at(args: Sequence[Any], index: int, element: int) -> Tensor:
    found: Tensor = args[index] if element < 0 else args[index][element]
    return found


def summed(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """The sum of ``x`` over the dims that broadcasting to its shape repeated."""
    if x.shape == sizes:
        return x
    missing = x.dim() - len(sizes)
    dims = [
        d
        for d in range(x.dim())
        if d < missing or (sizes[d - missing] == 1 and x.shape[d] != 1)
    ]
    return x.sum(dims, True).view(sizes)
