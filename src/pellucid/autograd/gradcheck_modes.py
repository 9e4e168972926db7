"""gradcheck of forward mode, and of gradients under vmap.

Called by ``gradcheck.py``, whose numerical Jacobians it compares forward mode with.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pellucid
from pellucid import Tensor, autograd
from pellucid.autograd import forward_ad
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
from pellucid.func._vmap import vmap

_Function = Callable[..., Any]
_Row = list[float]

_BATCH = 2


def _outputs(result: Any) -> list[Tensor]:
    """The tensors of differentiable dtype among what the function returned."""
    values = (result,) if isinstance(result, Tensor) else tuple(result)
    return [v for v in values if isinstance(v, Tensor) and _is_differentiable(v)]


def _is_differentiable(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _with_tangent(
    func: _Function, arguments: Sequence[Any], target: Tensor, tangent: Tensor
) -> list[Tensor]:
    """The tangents of the outputs when `target` moves along `tangent`."""
    with forward_ad.dual_level():
        moved = [
            forward_ad.make_dual(a, tangent) if a is target else a for a in arguments
        ]
        found = [forward_ad.unpack_dual(o) for o in _outputs(func(*moved))]
        return [
            (pellucid.zeros_like(primal) if tangent is None else tangent).detach()
            for primal, tangent in found
        ]


def check_forward(
    func: _Function,
    arguments: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    fast_mode: bool,
) -> None:
    """Raises GradcheckError where tangents and central differences disagree."""
    generator = random.Random(0)
    inputs = requiring_grad(arguments)
    for number, target in enumerate(inputs):
        directions = (
            [[generator.uniform(-1, 1) for _ in range(count(target))]]
            if fast_mode
            else [
                [float(i == k) for i in range(count(target))]
                for k in range(count(target))
            ]
        )
        for direction in directions:
            _check_direction(
                func, arguments, target, number, direction, eps, atol, rtol
            )


def _check_direction(
    func: _Function,
    arguments: tuple[Any, ...],
    target: Tensor,
    number: int,
    direction: _Row,
    eps: float,
    atol: float,
    rtol: float,
) -> None:
    tangent = from_elements(direction, target)
    given = _with_tangent(func, arguments, target, tangent)
    step = tangent * eps
    above = _outputs(func(*moved(arguments, target, step)))
    below = _outputs(func(*moved(arguments, target, -step)))
    # Allows an error of atol in every entry of the Jacobian.
    allowed = atol * max(1.0, sum(abs(v) for v in direction))
    for output, (found, high, low) in enumerate(zip(given, above, below, strict=True)):
        expected = elements((high - low) / (2 * eps))
        for element, (a, b) in enumerate(zip(elements(found), expected, strict=True)):
            if not close(a, b, allowed, rtol):
                raise GradcheckError(
                    "Jacobian mismatch computed with forward mode for output "
                    f"{output} with respect to input {number} at output element "
                    f"{element}:\nanalytical: {a!r}\nnumerical:  {b!r}"
                )


def _random_batch(like: Tensor, generator: random.Random) -> Tensor:
    return pellucid.stack(
        [
            from_elements([generator.uniform(-1, 1) for _ in range(count(like))], like)
            for _ in range(_BATCH)
        ]
    )


@contextmanager
def _under_vmap() -> Iterator[None]:
    """Turns errors of batching into failed checks."""
    try:
        yield
    except RuntimeError as error:
        raise GradcheckError(
            f"the batched gradient could not be computed: {error}"
        ) from error


def _agree(batched: Tensor, looped: Tensor) -> bool:
    return bool(pellucid.allclose(batched, looped, rtol=1e-5, atol=1e-8))


def check_batched_backward(func: _Function, arguments: tuple[Any, ...]) -> None:
    """Raises GradcheckError where vmap over backward differs from a loop."""
    generator = random.Random(0)
    inputs = requiring_grad(arguments)
    for number, output in enumerate(differentiable(func(*arguments))):
        weights = _random_batch(output, generator)

        def gradients(weight: Tensor, batched: bool, output: Tensor = output) -> Any:
            return autograd.grad(
                output,
                inputs,
                weight,
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=batched,
            )

        rows = [gradients(weight, False) for weight in weights]
        with _under_vmap():
            found = gradients(weights, True)
        for place, batched in enumerate(found):
            looped = [row[place] for row in rows]
            if batched is None or looped[0] is None:
                continue
            if not _agree(batched, pellucid.stack(looped)):
                raise GradcheckError(
                    f"the batched gradient of output {number} with respect to input "
                    f"{place} differs from a loop: does func, or its backward, work "
                    "under vmap?"
                )


def check_batched_forward(func: _Function, arguments: tuple[Any, ...]) -> None:
    """Raises GradcheckError where vmap over forward mode differs from a loop."""
    generator = random.Random(0)
    for number, target in enumerate(requiring_grad(arguments)):
        tangents = _random_batch(target, generator)

        def push(tangent: Tensor, target: Tensor = target) -> tuple[Tensor, ...]:
            return tuple(_with_tangent(func, arguments, target, tangent))

        with _under_vmap():
            batched = vmap(push)(tangents)
        rows = [push(tangent) for tangent in tangents]
        for output, values in enumerate(batched):
            if not _agree(values, pellucid.stack([row[output] for row in rows])):
                raise GradcheckError(
                    f"the batched tangent of output {output} for input {number} "
                    "differs from a loop: does func work under vmap?"
                )
