"""Every error of differentiation: its type, and that the message says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import Function, forward_ad, grad, gradcheck
from pellucid.autograd.gradcheck import GradcheckError


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def custom(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """``apply`` of a Function with these static methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (Function,), methods).apply


def passes(ctx: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 1.0


def same(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
    return gradient


def backward_twice() -> None:
    y = (leaf(1.0) * leaf(2.0)).sum()
    y.backward()
    y.backward()


def overwrite_what_exp_saved() -> None:
    y = leaf(1.0).exp()
    y.add_(1.0)
    y.backward()


def overwrite_what_mul_saved() -> None:
    y = leaf(1.0).clone()
    z = y * y
    y.add_(1.0)
    z.backward()


def overwrite_through_detach() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    x.detach().mul_(2.0)
    y.sum().backward()


def overwrite_what_a_function_saved() -> None:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * 2.0

    x = leaf(1.0).clone()
    y = custom(forward, lambda ctx, g: g * ctx.saved_tensors[0])(x)
    x.add_(1.0)
    y.backward()


def tangent_of_a_dual() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        forward_ad.make_dual(dual, torch.ones(2))


def detach_what_sin_saved() -> None:
    y = leaf(1.0).exp()
    z = y.sin()
    y.detach_()
    z.backward()


def write_to_part() -> None:
    leaf(1.0, 2.0).clone().unbind(0)[0].mul_(2.0)


def use_part_after_a_write() -> None:
    x = leaf(1.0, 2.0).clone()
    part = x.split(1)[0]
    x.mul_(2.0)
    part.sum().backward()


def write_to_no_grad_view() -> None:
    x = leaf(1.0, 2.0).clone()
    with torch.no_grad():
        view = x[0:1]
    view.mul_(2.0)


def write_to_function_view() -> None:
    custom(lambda ctx, x: x[:1], same)(leaf(1.0, 2.0).clone()).add_(1.0)


def inference_tensor() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(2)


def one_gradient_too_many() -> None:
    custom(passes, lambda ctx, g: (g, g))(leaf(1.0)).backward()


def gradient_of_a_number() -> None:
    custom(lambda ctx, x, n: x * n, lambda ctx, g: (g, g))(leaf(1.0), 3).backward()


def save(value: Any) -> Callable[[], Any]:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(value)
        return x * 1.0

    return lambda: custom(forward, same)(leaf(1.0))


def mark(value: Any) -> Callable[[], Any]:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x if value is None else value)
        return x * 1.0

    return lambda: custom(forward, same)(leaf(1.0).clone())


def set_gradient(value: Any) -> Callable[[], Any]:
    def assign() -> None:
        leaf(1.0).grad = value

    return assign


def retain_then(value: Any) -> Callable[[], Any]:
    def run() -> None:
        y = leaf(1.0) * 2.0
        y.register_hook(lambda gradient: value)
        y.backward()

    return run


def node_hook(value: Any) -> Callable[[], Any]:
    def run() -> None:
        y = leaf(1.0) * 2.0
        y.grad_fn.register_hook(lambda inputs, outputs: value)
        y.backward()

    return run


CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "non-scalar backward": (
        lambda: (leaf(1.0, 2.0) * 2.0).backward(),
        RuntimeError,
        r"only for scalar outputs.*shape \[2\].*\.sum\(\)",
    ),
    "non-scalar edge": (
        lambda: torch.autograd.backward(
            torch.autograd.graph.get_gradient_edge(leaf(1.0, 2.0) * 2.0)
        ),
        RuntimeError,
        "only for scalar outputs",
    ),
    "no grad_fn": (
        lambda: torch.ones(1).backward(),
        RuntimeError,
        "does not require grad and does not have a grad_fn",
    ),
    "freed buffers": (backward_twice, RuntimeError, "second time.*retain_graph=True"),
    "wrong shape of gradient": (
        lambda: (leaf(1.0) * 2.0).backward(torch.ones(3)),
        RuntimeError,
        r"Mismatch in shape.*\[3\].*\[1\]",
    ),
    "wrong number of gradients": (
        lambda: torch.autograd.backward([leaf(1.0), leaf(2.0)], [torch.ones(1)]),
        RuntimeError,
        "2 tensors and 1 gradients",
    ),
    "gradient of another type": (
        lambda: grad(leaf(1.0) * 2.0, leaf(1.0), grad_outputs=(3,)),
        TypeError,
        "Tensors or None",
    ),
    "both names of gradients": (
        lambda: torch.autograd.backward(
            leaf(1.0), torch.ones(1), grad_variables=torch.ones(1)
        ),
        RuntimeError,
        "grad_variables",
    ),
    "unused input": (
        lambda: grad(leaf(1.0) * 2.0, leaf(1.0)),
        RuntimeError,
        "to not have been used.*allow_unused=True",
    ),
    "input without gradient": (
        lambda: grad(leaf(1.0) * 2.0, torch.ones(1)),
        RuntimeError,
        "input 0 of tensors does not require grad",
    ),
    "no inputs": (
        lambda: (leaf(1.0) * 2.0).backward(inputs=[]),
        RuntimeError,
        "cannot be empty",
    ),
    "no inputs of grad": (
        lambda: grad(leaf(1.0) * 2.0, []),
        (RuntimeError, ValueError),
        "cannot be empty",
    ),
    "zeros and errors for unused": (
        lambda: grad(
            leaf(1.0) * 2.0, leaf(1.0), allow_unused=False, materialize_grads=True
        ),
        ValueError,
        "allow_unused must not be False",
    ),
    "version of a result": (
        overwrite_what_exp_saved,
        RuntimeError,
        r"modified by an inplace operation.*at version 1; expected version 0",
    ),
    "version of an argument": (
        overwrite_what_mul_saved,
        RuntimeError,
        "modified by an inplace operation.*output 0 of AddBackward0",
    ),
    "version through detach": (
        overwrite_through_detach,
        RuntimeError,
        "modified by an inplace operation",
    ),
    "version in a Function": (
        overwrite_what_a_function_saved,
        RuntimeError,
        "modified by an inplace operation.*CustomBackward saved",
    ),
    "write to a leaf": (
        lambda: leaf(1.0).add_(1.0),
        RuntimeError,
        "a leaf Variable that requires grad.*no_grad",
    ),
    "write to a view of a leaf": (
        lambda: leaf(1.0, 2.0)[0:1].add_(1.0),
        RuntimeError,
        "a view of a leaf Variable that requires grad",
    ),
    "write to one of several views": (write_to_part, RuntimeError, "several views"),
    "several views after a write": (
        use_part_after_a_write,
        RuntimeError,
        "several views cannot be used.*modified inplace",
    ),
    "write to a view made without gradients": (
        write_to_no_grad_view,
        RuntimeError,
        "created in no_grad mode",
    ),
    "write to a view of a Function": (
        write_to_function_view,
        RuntimeError,
        "custom Function",
    ),
    "detach_ of a saved tensor": (
        detach_what_sin_saved,
        RuntimeError,
        "detached in-place",
    ),
    "detach_ of a view": (
        lambda: leaf(1.0, 2.0).clone()[0:1].detach_(),
        RuntimeError,
        "called on a view",
    ),
    "out= with gradients": (
        lambda: torch.add(leaf(1.0), leaf(1.0), out=torch.ones(1)),
        RuntimeError,
        "with out=, gradients cannot be recorded",
    ),
    "integers that require gradients": (
        lambda: torch.tensor([1]).requires_grad_(),
        RuntimeError,
        "only Tensors of floating point",
    ),
    "requires_grad of a result": (
        lambda: (leaf(1.0) * 2.0).requires_grad_(False),
        RuntimeError,
        "only leaves",
    ),
    "numpy with gradients": (lambda: leaf(1.0).numpy(), RuntimeError, "detach"),
    "grad of another shape": (
        set_gradient(torch.ones(2)),
        RuntimeError,
        r"size \[2\].*size \[1\]",
    ),
    "grad of another dtype": (
        set_gradient(torch.ones(1, dtype=torch.float64)),
        RuntimeError,
        "dtype float64",
    ),
    "grad that is no tensor": (set_gradient(3), TypeError, "Tensor or None"),
    "inference tensor that requires gradients": (
        lambda: inference_tensor().requires_grad_(),
        RuntimeError,
        "inference tensor",
    ),
    "write to an inference tensor": (
        lambda: inference_tensor().add_(1.0),
        RuntimeError,
        "Inplace update to inference tensor",
    ),
    "saving an inference tensor": (
        lambda: leaf(1.0, 2.0) * inference_tensor(),
        RuntimeError,
        "Inference tensors cannot be saved",
    ),
    "version of an inference tensor": (
        lambda: inference_tensor()._version,
        RuntimeError,
        "do not track version",
    ),
    "hook on a constant": (
        lambda: torch.ones(1).register_hook(same),
        RuntimeError,
        "doesn't require gradient",
    ),
    "retain_grad of a constant": (
        lambda: torch.ones(1).retain_grad(),
        RuntimeError,
        "requires_grad=False",
    ),
    "hook after accumulation of a result": (
        lambda: (leaf(1.0) * 2.0).register_post_accumulate_grad_hook(same),
        RuntimeError,
        "only leaves",
    ),
    "hook that returns a number": (retain_then(3), TypeError, "returned 'int'"),
    "hook that changes the shape": (
        retain_then(torch.ones(2)),
        RuntimeError,
        "changed the size",
    ),
    "hook that changes the dtype": (
        retain_then(torch.ones(1, dtype=torch.float64)),
        RuntimeError,
        "changed the type",
    ),
    "node hook that returns a number": (node_hook(3), TypeError, "tuple"),
    "node hook of another length": (
        node_hook((torch.ones(1),)),
        RuntimeError,
        "returned 1 gradients; there are 2",
    ),
    "too many gradients from backward": (
        one_gradient_too_many,
        RuntimeError,
        r"incorrect number of gradients \(expected 1, got 2\)",
    ),
    "gradient of an argument that is no tensor": (
        gradient_of_a_number,
        RuntimeError,
        "different from None at position 2",
    ),
    "backward that returns a number": (
        lambda: custom(passes, lambda ctx, g: 3)(leaf(1.0)).backward(),
        RuntimeError,
        "expected Variable or None",
    ),
    "backward of another shape": (
        lambda: (
            custom(passes, lambda ctx, g: torch.ones(5))(leaf(1.0, 2.0))
            .sum()
            .backward()
        ),
        RuntimeError,
        r"does not fit.*\[5\].*\[2\]",
    ),
    "saving a number": (save(3), TypeError, "can only save tensors"),
    "marking a number": (mark(3), RuntimeError, "mark_dirty takes tensors"),
    "marking what is not returned": (mark(None), RuntimeError, "not returned"),
    "callback outside of backward": (
        lambda: torch.autograd.Variable._execution_engine.queue_callback(print),
        RuntimeError,
        "only during a backward pass",
    ),
    "a count of changes of a number": (
        lambda: torch.autograd.graph.increment_version(3),
        RuntimeError,
        "takes a tensor or several, not a int",
    ),
    "anomaly mode by a word": (
        lambda: torch.autograd.set_detect_anomaly("on"),
        TypeError,
        "must be True or False",
    ),
    "a second tangent": (tangent_of_a_dual, RuntimeError, "has a tangent"),
    "a gradient with respect to a number": (
        lambda: torch.func.grad(lambda x: x)(3.0),
        ValueError,
        "expected tensors, got a float",
    ),
    "gradcheck of what hides its gradient": (
        lambda: gradcheck(torch.Tensor.detach, leaf(1.0).double()),
        GradcheckError,
        "expected to be zero",
    ),
    "edge of a constant": (
        lambda: torch.autograd.graph.get_gradient_edge(torch.ones(1)),
        RuntimeError,
        "no gradient edge",
    ),
    "unknown mode of a multi-gradient hook": (
        lambda: torch.autograd.graph.register_multi_grad_hook(
            [leaf(1.0)], same, mode="some"
        ),
        ValueError,
        "'all' or 'any'",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_error(name: str) -> None:
    program, kind, message = CASES[name]
    with pytest.raises(kind, match=f"(?s){message}") as error:
        program()
    assert len(str(error.value).splitlines()) <= 10
