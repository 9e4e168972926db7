"""Checks gradients against finite differences: ``gradcheck`` and ``gradgradcheck``.

Jacobians are small and compared as Python numbers, so that a check uses few ops besides
those it checks. Slow mode compares every entry; fast mode compares one random
projection ``u^T J v``. The real and imaginary parts of a complex tensor are separate
elements; with PyTorch's gradients, which are conjugate to the Wirtinger derivatives,
the Jacobian is that of a real function. Imported by ``pellucid.autograd`` at first use;
forward mode and batched gradients are in ``gradcheck_modes.py``.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pellucid
from pellucid import _C, autograd
from pellucid._tensor import Tensor
from pellucid.autograd.function import Function
from pellucid.autograd.gradcheck_elements import (
    GradcheckError,
    close,
    count,
    differentiable,
    elements,
    from_elements,
    moved,
    requiring_grad,
)

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_Function = Callable[..., Any]
_Matrix = list[list[float]]  # rows: elements of the output; columns: of the input


@dataclass(frozen=True)
class _Options:
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool


def gradcheck(
    func: _Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of ``func(*inputs)`` agree with central differences.

    Entries must satisfy ``|analytical - numerical| <= atol + rtol * |numerical|``. The
    default tolerances suit float64. `check_forward_ad` compares forward mode as well,
    the two ``check_batched`` options compare gradients under ``vmap`` with a loop.
    Raises GradcheckError on disagreement, or returns False with
    ``raise_exception=False``.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "gradcheck has nothing to check: pass check_backward_ad=True, "
            "check_forward_ad=True, or both"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("check_batched_grad=True needs check_backward_ad=True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "check_batched_forward_grad=True needs check_forward_ad=True"
        )
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    options = _Options(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes
    )
    try:
        _check_inputs(arguments)
        if check_forward_ad or check_batched_grad:
            from pellucid.autograd import gradcheck_modes as modes
        if check_backward_ad:
            _check_backward(func, arguments, options, fast_mode)
        if check_forward_ad:
            modes.check_forward(func, arguments, eps, atol, rtol, fast_mode)
        if check_batched_forward_grad:
            modes.check_batched_forward(func, arguments)
        if check_batched_grad:
            modes.check_batched_backward(func, arguments)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: _Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Checks the second derivatives: gradcheck of the gradients of ``func``.

    `grad_outputs` default to random tensors of the outputs' shapes.
    """
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError(
            "check_undefined_grad=True checks reverse over reverse mode: pass "
            "check_undefined_grad=False with check_rev_over_rev=False"
        )
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError(
            "check_batched_grad=True checks reverse over reverse mode: it cannot be "
            "combined with check_rev_over_rev=False"
        )
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable(func(*arguments))
        generator = random.Random(0)
        weights = tuple(
            _random_like(output, generator, gen_non_contig_grad_outputs)
            for output in outputs
        )
    else:
        single = isinstance(grad_outputs, Tensor)
        weights = (grad_outputs,) if single else tuple(grad_outputs)  # type: ignore[assignment]
    count = len(weights)

    def gradients(*values: Any) -> tuple[Tensor, ...]:
        points, grads = values[:-count], values[-count:]
        wanted = requiring_grad(points)
        outputs = differentiable(func(*points))
        found = autograd.grad(
            outputs, wanted, grads, create_graph=True, allow_unused=True
        )
        return tuple(grad for grad in found if grad is not None)

    return gradcheck(
        gradients,
        (*arguments, *weights),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _check_inputs(arguments: tuple[Any, ...]) -> None:
    checked = requiring_grad(arguments)
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, "
            "but none of them has requires_grad=True"
        )
    for number, tensor in enumerate(checked):
        if tensor.dtype not in (_C.float64, _C.complex128):
            warnings.warn(
                f"input {number} requires gradients and is {tensor.dtype}: finite "
                "differences need float64 or complex128, so that this check will "
                "likely fail",
                stacklevel=4,
            )
        sizes, strides = tensor.shape, tensor.stride()
        if any(n > 1 and s == 0 for n, s in zip(sizes, strides, strict=True)):
            raise RuntimeError(
                f"input {number} has a dimension with stride 0: gradcheck changes "
                "elements one by one, which needs inputs without repeated elements"
            )
        tensor.retain_grad()


def _unit(index: int, like: Tensor, value: float = 1.0) -> Tensor:
    values = [0.0] * count(like)
    values[index] = value
    return from_elements(values, like)


def _random_like(tensor: Tensor, generator: random.Random, strided: bool) -> Tensor:
    made = from_elements(
        [generator.uniform(-1, 1) for _ in range(count(tensor))], tensor
    )
    if strided and tensor.dim():
        made = pellucid.stack((made, made), -1).select(-1, 0).detach()
    made.requires_grad_()
    return made


def _difference(
    func: _Function, arguments: tuple[Any, ...], target: Tensor, step: Tensor
) -> list[list[float]]:
    """Per output: the elements' change from ``target - step`` to ``target + step``."""
    above = differentiable(func(*moved(arguments, target, step)))
    below = differentiable(func(*moved(arguments, target, -step)))
    return [
        [p - q for p, q in zip(elements(a), elements(b), strict=True)]
        for a, b in zip(above, below, strict=True)
    ]


def _numerical(
    func: _Function, arguments: tuple[Any, ...], target: Tensor, eps: float
) -> list[_Matrix]:
    """Per output the Jacobian with respect to `target`, by central differences."""
    columns = [
        _difference(func, arguments, target, _unit(i, target, eps))
        for i in range(count(target))
    ]
    if not columns:
        return []
    return [
        [[column[k][row] / (2 * eps) for column in columns] for row in range(length)]
        for k, length in enumerate(len(part) for part in columns[0])
    ]


def _analytical(output: Tensor, inputs: list[Tensor]) -> list[_Matrix]:
    """Per input the Jacobian of `output`, by one backward pass per element of it."""
    rows: list[_Matrix] = [[] for _ in inputs]
    for index in range(count(output)):
        grads = autograd.grad(
            output, inputs, _unit(index, output), retain_graph=True, allow_unused=True
        )
        for matrix, grad, tensor in zip(rows, grads, inputs, strict=True):
            zeros = [0.0] * count(tensor)
            matrix.append(zeros if grad is None else elements(grad))
    return rows


def _first_difference(
    analytical: _Matrix, numerical: _Matrix, atol: float, rtol: float
) -> tuple[int, int] | None:
    for row, (given, expected) in enumerate(zip(analytical, numerical, strict=True)):
        for column, (a, b) in enumerate(zip(given, expected, strict=True)):
            if not close(a, b, atol, rtol):
                return row, column
    return None


def _check_backward(
    func: _Function, arguments: tuple[Any, ...], options: _Options, fast_mode: bool
) -> None:
    outputs = differentiable(func(*arguments))
    inputs = requiring_grad(arguments)
    if not outputs:
        _check_constant(func, arguments, inputs, options)
        return
    if options.check_grad_dtypes:
        _check_dtypes(outputs, inputs)
    if fast_mode:
        _check_projections(func, arguments, outputs, inputs, options)
    else:
        _check_jacobians(func, arguments, outputs, inputs, options)
    if options.check_undefined_grad:
        _check_undefined(func, arguments, inputs)


def _check_constant(
    func: _Function,
    arguments: tuple[Any, ...],
    inputs: list[Tensor],
    options: _Options,
) -> None:
    """Checks that outputs that do not require gradients are constant in the inputs."""

    def floats(result: Any) -> list[float]:
        values = (result,) if isinstance(result, Tensor) else tuple(result)
        tensors = [v for v in values if isinstance(v, Tensor)]
        known = [v for v in tensors if v.is_floating_point() or v.is_complex()]
        return [element for value in known for element in elements(value)]

    for number, target in enumerate(inputs):
        for place in range(count(target)):
            step = _unit(place, target, options.eps)
            above = floats(func(*moved(arguments, target, step)))
            below = floats(func(*moved(arguments, target, -step)))
            for high, low in zip(above, below, strict=True):
                if not close(high, low, options.atol * options.eps, 0.0):
                    raise GradcheckError(
                        "no output requires gradients, but one changes with input "
                        f"{number}, element {place}: the numerical gradient was "
                        "expected to be zero"
                    )


def _check_jacobians(
    func: _Function,
    arguments: tuple[Any, ...],
    outputs: list[Tensor],
    inputs: list[Tensor],
    options: _Options,
) -> None:
    analytical = [_analytical(output, inputs) for output in outputs]
    again = [_analytical(output, inputs) for output in outputs]
    for j, target in enumerate(inputs):
        numerical = _numerical(func, arguments, target, options.eps)
        for k, expected in enumerate(numerical):
            given = analytical[k][j]
            if _first_difference(again[k][j], given, options.nondet_tol, 0.0):
                raise GradcheckError(
                    f"backward is not reentrant: two passes for output {k} and input "
                    f"{j} differ by more than nondet_tol={options.nondet_tol}"
                )
            place = _first_difference(given, expected, options.atol, options.rtol)
            if place is not None:
                row, column = place
                raise GradcheckError(
                    f"Jacobian mismatch for output {k} with respect to input {j} at "
                    f"output element {row}, input element {column}:\n"
                    f"analytical: {given[row][column]!r}\n"
                    f"numerical:  {expected[row][column]!r}\n"
                    f"allowed: atol={options.atol} + rtol={options.rtol} * |numerical|"
                )


def _check_projections(
    func: _Function,
    arguments: tuple[Any, ...],
    outputs: list[Tensor],
    inputs: list[Tensor],
    options: _Options,
) -> None:
    generator = random.Random(0)
    for j, target in enumerate(inputs):
        direction = [generator.uniform(-1, 1) for _ in range(count(target))]
        length = sum(v * v for v in direction) ** 0.5 or 1.0
        direction = [v / length for v in direction]
        step = from_elements([v * options.eps for v in direction], target)
        changes = _difference(func, arguments, target, step)
        for k, output in enumerate(outputs):
            weights = [generator.uniform(0, 1) for _ in range(count(output))]
            (grad,) = autograd.grad(
                output,
                [target],
                from_elements(weights, output),
                retain_graph=True,
                allow_unused=True,
            )
            slopes = [0.0] * count(target) if grad is None else elements(grad)
            given = sum(g * v for g, v in zip(slopes, direction, strict=True))
            total = sum(w * c for w, c in zip(weights, changes[k], strict=True))
            expected = total / (2 * options.eps)
            # Allows an error of atol in every entry, as slow mode does.
            atol = options.atol * sum(weights) * sum(abs(v) for v in direction)
            if not close(given, expected, atol, options.rtol):
                raise GradcheckError(
                    f"Jacobian mismatch in fast mode for output {k} with respect to "
                    f"input {j}: a random projection is\nanalytical: {given!r}\n"
                    f"numerical:  {expected!r}\nRun with fast_mode=False to see where"
                )


def _check_dtypes(outputs: list[Tensor], inputs: list[Tensor]) -> None:
    for output in outputs:
        weight = from_elements([1.0] * count(output), output)
        grads = autograd.grad(
            output, inputs, weight, retain_graph=True, allow_unused=True
        )
        for grad, tensor in zip(grads, inputs, strict=True):
            if grad is not None and grad.dtype != tensor.dtype:
                raise GradcheckError(
                    f"a gradient is {grad.dtype}, its input {tensor.dtype}"
                )


class _Undefined(Function):
    """The identity, with an undefined gradient."""

    @staticmethod
    def forward(ctx: Any, *values: Tensor) -> tuple[Tensor, ...]:
        return values

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, ...]:
        return (None,) * len(grads)


def _check_undefined(
    func: _Function, arguments: tuple[Any, ...], inputs: list[Tensor]
) -> None:
    """Checks that undefined gradients of outputs give undefined or zero gradients."""
    outputs = _Undefined.apply(*differentiable(func(*arguments)))
    weights = [from_elements([1.0] * count(o), o) for o in outputs]
    grads = autograd.grad(outputs, inputs, weights, allow_unused=True)
    for number, grad in enumerate(grads):
        if grad is not None and any(elements(grad)):
            raise GradcheckError(
                f"backward computes a gradient for input {number} from undefined ones; "
                "it should treat them as zeros, or call ctx.set_materialize_grads(True)"
            )
