"""Errors of attributes, writes, hooks, saved values, Functions, checkpoints, checks.

Errors of the engine and of versions are in ``test_errors.py``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import Function, backward, grad, gradcheck, gradgradcheck, graph
from pellucid.autograd.function import once_differentiable
from pellucid.autograd.gradcheck import GradcheckError
from pellucid.utils.checkpoint import CheckpointError, checkpoint


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def point() -> torch.Tensor:
    return torch.rand(3, dtype=torch.float64, requires_grad=True)


def assign(name: str, value: Any, make: Callable[[], Any] = leaf) -> Callable[[], Any]:
    return lambda: setattr(make(), name, value)


def write(name: str, *arguments: Any) -> Callable[[], Any]:
    return lambda: getattr(leaf(), name)(*arguments)


def function(forward: Any, backward: Any = None, **others: Any) -> Any:
    """A Function of these static methods."""
    methods = {"forward": forward, "backward": backward, **others}
    fields = {n: staticmethod(m) for n, m in methods.items() if m is not None}
    return type("Custom", (Function,), fields)


def double(ctx: Any, x: Any) -> Any:
    return x * 2.0


def saving(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x * 2.0


def changing(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2.0)


def passing(ctx: Any, *gradients: Any) -> Any:
    return gradients[0]


def inference() -> Any:
    with torch.inference_mode():
        return torch.ones(2)


def of_exp(use: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    def run() -> None:
        y = leaf().exp()
        use(y, y.grad_fn)

    return run


def hooked(register: str, hook: Any) -> Callable[[], Any]:
    def run() -> None:
        y = leaf() * 2.0
        getattr(y.grad_fn, register)(hook)
        y.sum().backward()

    return run


def freed(y: Any, node: Any) -> Any:
    y.sum().backward()
    return node._saved_result


def after_a_post_hook(hook: Any) -> Callable[[], Any]:
    def run() -> None:
        x = leaf()
        x.register_post_accumulate_grad_hook(hook)
        (x * 2.0).sum().backward()

    return run


def view_without_gradients() -> torch.Tensor:
    x = leaf()
    with torch.no_grad():
        return x[:1]


def second_derivative_of_once() -> None:
    custom = function(double, once_differentiable(lambda ctx, g: g * 2.0))
    x = leaf()
    (first,) = grad((custom.apply(x) ** 2).sum(), x, create_graph=True)
    first.sum().backward()


def saved_twice() -> None:
    custom = function(saving, lambda ctx, g: g * ctx.saved_tensors[0])
    y = custom.apply(leaf())
    node = y.grad_fn
    y.sum().backward()
    _ = node.saved_tensors


def changed_output() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    y = function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf())
    y.add_(1.0)
    y.sum().backward()


def two_views() -> None:
    custom = function(lambda ctx, x: (x.view(-1), x.view(-1)), passing)
    first, _ = custom.apply(leaf().clone())
    first.add_(1.0)


def fewer_the_second_time() -> None:
    calls: list[int] = []

    def compute(x: Any) -> Any:
        calls.append(1)
        return x.sin().exp() if len(calls) == 1 else x.exp()

    checkpoint(compute, leaf(), use_reentrant=False).sum().backward()


def wrong_gradient(ctx: Any, g: Any) -> Any:
    return g * 3.0


def wobbling() -> Any:
    calls = [0]

    def backward(ctx: Any, g: Any) -> Any:
        calls[0] += 1
        return g * (2.0 + calls[0] * 1e-7)

    return function(double, backward).apply


READ_ONLY = ("is_leaf", "grad_fn", "retains_grad", "output_nr", "_version")
WRITES = {
    "add_": (1,),
    "zero_": (),
    "copy_": (torch.ones(2),),
    "normal_": (),
    "unsqueeze_": (0,),
    "t_": (),
    "set_": (torch.ones(3),),
    "__setitem__": (0, 1.0),
    "__iadd__": (1,),
}

CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    **{
        f"assigning {name}": (assign(name, 1), AttributeError, name)
        for name in READ_ONLY
    },
    **{
        f"{name} of a leaf": (write(name, *arguments), RuntimeError, "leaf Variable")
        for name, arguments in WRITES.items()
    },
    "resizing a leaf": (write("resize_", 3), RuntimeError, "cannot resize variables"),
    "resizing a result": (
        lambda: (leaf() * 2.0).resize_(3),
        RuntimeError,
        "cannot resize variables",
    ),
    "out= that requires gradients": (
        lambda: torch.add(torch.ones(2), 1, out=leaf()),
        RuntimeError,
        "with out=",
    ),
    "requires_grad by a number": (
        assign("requires_grad", 1),
        RuntimeError,
        "must be set to a bool",
    ),
    "requires_grad of a result": (
        assign("requires_grad", True, lambda: leaf() * 2.0),
        RuntimeError,
        "only leaves",
    ),
    "requires_grad of new integers": (
        lambda: torch.ones(2, dtype=torch.int32, requires_grad=True),
        RuntimeError,
        "int32",
    ),
    "requires_grad_ by a number": (write("requires_grad_", 1), TypeError, "bool"),
    "its own gradient": (
        lambda: (lambda x: setattr(x, "grad", x))(leaf()),
        RuntimeError,
        "own gradient",
    ),
    "a complex gradient": (
        assign("grad", torch.ones(2, dtype=torch.complex64)),
        RuntimeError,
        "dtype complex64",
    ),
    "data of integers": (
        assign("data", torch.ones(2, dtype=torch.int64)),
        RuntimeError,
        "floating-point or complex tensor, not int64",
    ),
    "data that is no tensor": (assign("data", 3), TypeError, "not int"),
    "deleting data": (lambda: delattr(leaf(), "data"), RuntimeError, "deleted"),
    "a deep copy of a result": (
        lambda: copy.deepcopy(leaf() * 2.0),
        RuntimeError,
        r"detach\(\)",
    ),
    # backward and grad
    "backward of a number": (lambda: backward(3), TypeError, "Tensors.*int"),
    "backward of nothing": (lambda: backward(None), TypeError, "Tensors.*NoneType"),
    "a number as gradient": (
        lambda: grad(leaf() * 2.0, leaf(), 3),
        TypeError,
        "Tensors.*int",
    ),
    "a keyword of another function": (
        lambda: (leaf() * 2.0).backward(grad=torch.ones(2)),
        TypeError,
        "keyword",
    ),
    "a complex gradient of a real result": (
        lambda: (leaf() * 2.0).backward(torch.ones(2, dtype=torch.complex64)),
        RuntimeError,
        "complex64, the output float32",
    ),
    "a complex result without a gradient": (
        lambda: leaf().to(torch.complex64).sum().backward(),
        RuntimeError,
        "only for real scalar outputs",
    ),
    "rows of gradients without gradients": (
        lambda: grad(leaf() * 2.0, leaf(), is_grads_batched=True),
        RuntimeError,
        "only for scalar outputs",
    ),
    # views
    "a write to a view made without gradients": (
        lambda: view_without_gradients().add_(1.0),
        RuntimeError,
        "created in no_grad mode",
    ),
    "a write to what is iterated over": (
        lambda: [part.add_(1.0) for part in leaf().clone()],
        RuntimeError,
        "several views",
    ),
    "a write to repeated elements": (
        lambda: torch.ones(1).expand(3).add_(1.0),
        RuntimeError,
        "refers to a single",
    ),
    "accumulating into an inference tensor": (
        lambda: (lambda x: (setattr(x, "grad", inference()), x.sum().backward()))(
            leaf()
        ),
        RuntimeError,
        "Inplace update to inference tensor",
    ),
    "out= of an inference tensor": (
        lambda: torch.add(torch.ones(2), 1, out=inference()),
        RuntimeError,
        "Inplace update to inference tensor",
    ),
    # nodes, hooks, saved values
    "a node without gradients": (
        lambda: (leaf() * 2.0).grad_fn(),
        TypeError,
        "takes 1 gradients",
    ),
    "a node with a number": (
        lambda: (leaf() * 2.0).grad_fn(3),
        TypeError,
        "a int, not a tensor",
    ),
    "a prehook of another length": (
        hooked("register_prehook", lambda g: (torch.ones(2), torch.ones(2))),
        RuntimeError,
        "returned 2 gradients; there are 1",
    ),
    "a prehook that returns a number": (
        hooked("register_prehook", lambda g: 3),
        TypeError,
        "returned 'int'",
    ),
    "a prehook of another shape": (
        hooked("register_prehook", lambda g: (torch.ones(5),)),
        RuntimeError,
        "changed the size",
    ),
    "a post-accumulate hook that returns a number": (
        after_a_post_hook(lambda x: 3),
        TypeError,
        "returned 'int'",
    ),
    "a post-accumulate hook that returns a tensor": (
        after_a_post_hook(lambda x: x.detach()),
        RuntimeError,
        "returns None",
    ),
    "a post-accumulate hook of a constant": (
        lambda: torch.ones(2).register_post_accumulate_grad_hook(print),
        RuntimeError,
        "doesn't require gradient",
    ),
    "a hook that is no function": (write("register_hook", 3), TypeError, "callable"),
    "a saved value that was freed": (of_exp(freed), RuntimeError, "second time"),
    "a saved value that was changed": (
        of_exp(lambda y, node: (y.add_(1.0), node._saved_result)),
        RuntimeError,
        "modified by an inplace operation",
    ),
    "assigning a saved value": (
        of_exp(lambda y, node: setattr(node, "_saved_result", 1)),
        AttributeError,
        "_saved_result",
    ),
    "hooks that are no functions": (
        of_exp(lambda y, node: node._raw_saved_result.register_hooks(1, 2)),
        TypeError,
        "callable",
    ),
    "an edge of a number": (
        lambda: graph.get_gradient_edge(3),
        (AttributeError, TypeError),
        "int",
    ),
    # Functions
    "no forward": (function(None).apply, NotImplementedError, "static method forward"),
    "no backward": (
        lambda: function(double).apply(leaf()).sum().backward(),
        NotImplementedError,
        "static method backward",
    ),
    "backward and vjp": (
        lambda: function(double, passing, vjp=passing).apply(leaf()).sum().backward(),
        RuntimeError,
        "not both",
    ),
    "a write to a leaf": (
        lambda: function(changing, passing).apply(leaf()),
        RuntimeError,
        "a leaf Variable that requires grad",
    ),
    "a write to a view beside another output": (
        lambda: function(lambda ctx, x: (changing(ctx, x), x.clone()), passing).apply(
            leaf().clone()[:1]
        ),
        RuntimeError,
        "only one tensor",
    ),
    "a change of a saved output": (changed_output, RuntimeError, "modified by an inp"),
    "saved tensors that were freed": (saved_twice, RuntimeError, "second time"),
    "a second derivative of once_differentiable": (
        second_derivative_of_once,
        RuntimeError,
        "once_differentiable",
    ),
    "too few gradients": (
        lambda: (
            function(lambda ctx, x, y: x + y, passing)
            .apply(leaf(), leaf())
            .sum()
            .backward()
        ),
        RuntimeError,
        r"\(expected 2, got 1\)",
    ),
    "a complex gradient of a real argument": (
        lambda: function(double, lambda ctx, g: g * 1j).apply(leaf()).sum().backward(),
        RuntimeError,
        "complex gradient for input 0",
    ),
    "a write to one of two views": (two_views, RuntimeError, "custom Function"),
    # checkpoints and checks
    "fewer saved tensors": (fewer_the_second_time, CheckpointError, "1, at first 2"),
    "nothing to check": (
        lambda: gradcheck(torch.sin, torch.rand(3, dtype=torch.float64)),
        ValueError,
        "requires_grad=True",
    ),
    "a wrong gradient": (
        lambda: gradcheck(function(double, wrong_gradient).apply, point()),
        GradcheckError,
        "Jacobian mismatch",
    ),
    "a wrong gradient, fast": (
        lambda: gradcheck(
            function(double, wrong_gradient).apply, point(), fast_mode=True
        ),
        GradcheckError,
        "fast mode",
    ),
    "a gradient that is never twice the same": (
        lambda: gradcheck(wobbling(), point()),
        GradcheckError,
        "not reentrant",
    ),
    "elements that share memory": (
        lambda: gradcheck(torch.sin, torch.rand(1).double().expand(3).requires_grad_()),
        RuntimeError,
        "stride 0",
    ),
    "no mode to check": (
        lambda: gradcheck(torch.sin, point(), check_backward_ad=False),
        AssertionError,
        "nothing to check",
    ),
    "batched gradients without backward": (
        lambda: gradcheck(
            torch.sin,
            point(),
            check_forward_ad=True,
            check_backward_ad=False,
            check_batched_grad=True,
        ),
        AssertionError,
        "check_backward_ad=True",
    ),
    "undefined gradients without reverse over reverse": (
        lambda: gradgradcheck(torch.sin, point(), check_rev_over_rev=False),
        AssertionError,
        "check_undefined_grad",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_error(name: str) -> None:
    program, kind, message = CASES[name]
    with pytest.raises(kind, match=f"(?s){message}") as error:
        program()
    assert len(str(error.value).splitlines()) <= 10
