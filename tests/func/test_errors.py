"""Every error of the function transforms and of autograd.functional: type, message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import Function, forward_ad, functional
from pellucid.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

two, rows = torch.ones(2), torch.ones(2, 3)
integers = torch.ones(2, dtype=torch.int64)


def same(x: Any) -> Any:
    return x


def total(x: Any, *others: Any) -> Any:
    return x.sum()


def function(**methods: Any) -> Any:
    """``apply`` of a Function that doubles, with further static methods."""
    members: dict[str, Any] = {
        "forward": lambda x: x * 2,
        "setup_context": lambda ctx, inputs, output: None,
        "backward": lambda ctx, g: g * 2,
        **methods,
    }
    fields = {n: staticmethod(m) if callable(m) else m for n, m in members.items()}
    return type("Doubled", (Function,), fields).apply


def with_dual(compute: Callable[[Any], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with forward_ad.dual_level():
            return compute(forward_ad.make_dual(torch.ones(2), torch.ones(2)))

    return run


def inside(compute: Callable[[], Any]) -> Callable[[], Any]:
    return with_dual(lambda dual: compute())


def shared_write() -> None:
    shared = torch.ones(3)
    vmap(lambda x: shared.add_(x))(rows)


def freed() -> None:
    _, pullback = vjp(lambda x: x**2, two)
    pullback(two, retain_graph=False)
    pullback(two)


def two_modes() -> None:
    train, evaluate = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).eval()
    stack_module_state([train, evaluate])


CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    # grad and vjp
    "grad of a vector": (lambda: grad(same)(two), RuntimeError, r"shape \[2\]"),
    "grad of a float": (lambda: grad(lambda x: 3.0)(two), RuntimeError, "a float"),
    "grad of a tuple": (
        lambda: grad(lambda x: (x.sum(), x))(two),
        RuntimeError,
        "single Tensor",
    ),
    "grad of a complex number": (
        lambda: grad(total)(two.to(torch.complex64)),
        RuntimeError,
        "only for real scalar outputs",
    ),
    "grad by integers": (lambda: grad(total)(integers), RuntimeError, "int64"),
    "grad by a number": (lambda: grad(total)(3.0), ValueError, "got a float"),
    "grad by a tree with a number": (
        lambda: grad(lambda d: d["a"].sum())({"a": two, "b": 3}),
        ValueError,
        "got a int",
    ),
    "aux that is missing": (
        lambda: grad(total, has_aux=True)(two),
        RuntimeError,
        r"tuple \(output, aux\)",
    ),
    "argnums beyond the arguments": (
        lambda: grad(total, argnums=5)(two, two),
        RuntimeError,
        "argument 5, but 2",
    ),
    "argnums of the wrong type": (
        lambda: grad(total, argnums="x")(two),
        RuntimeError,
        "got str",
    ),
    "no argnums": (lambda: grad(total, argnums=())(two), RuntimeError, "empty"),
    "argnums twice": (
        lambda: grad(total, argnums=(0, 0))(two),
        RuntimeError,
        "twice",
    ),
    "cotangents of another structure": (
        lambda: vjp(lambda x: (x, x), two)[1](two),
        RuntimeError,
        "have the structure",
    ),
    "cotangents of another shape": (
        lambda: vjp(lambda x: x * 2, two)[1](rows),
        RuntimeError,
        r"Mismatch in shape.*\[2, 3\].*\[2\]",
    ),
    "vjp of a word": (lambda: vjp(lambda x: "a", two), RuntimeError, "a str"),
    "vjp of nothing": (lambda: vjp(lambda x: None, two), RuntimeError, "a NoneType"),
    "a pullback that was freed": (freed, RuntimeError, "retain_graph=True"),
    # jvp, Jacobians, linearize
    "jvp of a tensor": (lambda: jvp(same, two, two), RuntimeError, "must be a tuple"),
    "too few tangents": (
        lambda: jvp(same, (two,), ()),
        RuntimeError,
        "same structure",
    ),
    "tangents of another shape": (
        lambda: jvp(same, (two,), (rows,)),
        RuntimeError,
        r"shape \[2, 3\]",
    ),
    "jvp of no argument": (
        lambda: jvp(lambda: two, (), ()),
        RuntimeError,
        "at least one tensor",
    ),
    "jvp of a number": (lambda: jvp(lambda x: 3, (two,), (two,)), RuntimeError, "int"),
    "an output that does not depend": (
        lambda: jvp(lambda x: torch.ones(3), (two,), (two,), strict=True),
        RuntimeError,
        "does not depend",
    ),
    "linearized at another shape": (
        lambda: linearize(torch.sin, two)[1](rows),
        RuntimeError,
        r"shape \[2, 3\]",
    ),
    "linearized with too many tangents": (
        lambda: linearize(torch.sin, two)[1](two, two),
        RuntimeError,
        "same structure",
    ),
    "jacrev in chunks of nothing": (
        lambda: jacrev(same, chunk_size=0)(two),
        ValueError,
        "must be positive",
    ),
    "jacrev of a number": (lambda: jacrev(lambda x: 3)(two), RuntimeError, "a int"),
    "jacrev by integers": (lambda: jacrev(same)(integers), RuntimeError, "int64"),
    "jacrev beyond the arguments": (
        lambda: jacrev(total, argnums=2)(two, two),
        RuntimeError,
        "argument 2, but 2",
    ),
    "jacfwd of None": (
        lambda: jacfwd(lambda x: (x, None))(two),
        RuntimeError,
        "a NoneType",
    ),
    "jacfwd of draws": (
        lambda: jacfwd(lambda x: x * torch.rand(2))(two),
        RuntimeError,
        "rand is random",
    ),
    # vmap
    "in_dims of another structure": (
        lambda: vmap(same, in_dims=(0, 0))(two),
        ValueError,
        "does not fit the structure",
    ),
    "in_dims beyond the dims": (
        lambda: vmap(same, in_dims=3)(two),
        ValueError,
        "3 for a tensor of 1 dim",
    ),
    "in_dims before the dims": (
        lambda: vmap(same, in_dims=-3)(rows),
        ValueError,
        "-3 for a tensor of 2 dim",
    ),
    "in_dims by a word": (
        lambda: vmap(same, in_dims="a")(rows),
        ValueError,
        "must be an int or a tree",
    ),
    "in_dims of a float": (
        lambda: vmap(same, in_dims=(1.0,))(rows),
        ValueError,
        "ints and None, got 1.0",
    ),
    "nothing to map": (lambda: vmap(same, in_dims=None)(rows), ValueError, "None"),
    "mapping a number": (lambda: vmap(same)(3), ValueError, "only tensors are mapped"),
    "mapping a 0-dimensional tensor": (
        lambda: vmap(same)(torch.tensor(1.0)),
        ValueError,
        "0 dimensions",
    ),
    "sizes that differ": (
        lambda: vmap(total)(two, torch.ones(3)),
        ValueError,
        r"\[2, 3\]; they must be equal",
    ),
    "vmap without arguments": (lambda: vmap(lambda: 3)(), ValueError, "without"),
    "vmap of a function of numbers": (
        lambda: vmap(lambda x: 3)(two),
        ValueError,
        "must return tensors",
    ),
    "vmap of a function of nothing": (
        lambda: vmap(lambda x: None)(two),
        ValueError,
        "NoneType",
    ),
    "out_dims None of what differs": (
        lambda: vmap(same, out_dims=None)(rows),
        ValueError,
        "differs between examples",
    ),
    "out_dims beyond the dims": (
        lambda: vmap(same, out_dims=3)(rows),
        IndexError,
        "out_dims is 3",
    ),
    "out_dims by a word": (
        lambda: vmap(same, out_dims="a")(rows),
        ValueError,
        "got 'a'",
    ),
    "too many out_dims": (
        lambda: vmap(lambda x: (x, x), out_dims=(0, 0, 0))(rows),
        ValueError,
        "does not fit the structure of the results",
    ),
    "an element's value": (lambda: vmap(torch.Tensor.item)(two), RuntimeError, "item"),
    "a condition": (
        lambda: vmap(lambda x: x if x > 0 else -x)(two),
        RuntimeError,
        "condition",
    ),
    "a list": (lambda: vmap(torch.Tensor.tolist)(rows), RuntimeError, "tolist"),
    "an array": (lambda: vmap(torch.Tensor.numpy)(rows), RuntimeError, "numpy"),
    "a comparison as a whole": (
        lambda: vmap(lambda x: torch.equal(x, x))(rows),
        RuntimeError,
        "cannot be read",
    ),
    "sizes that depend on values": (
        lambda: vmap(torch.nonzero)(rows),
        RuntimeError,
        "depends on the values",
    ),
    "a write to what is shared": (shared_write, RuntimeError, "shared by all examples"),
    "draws without a meaning": (
        lambda: vmap(lambda x: x + torch.rand(3))(rows),
        RuntimeError,
        "rand is random",
    ),
    "an unknown randomness": (
        lambda: vmap(same, randomness="some")(rows),
        RuntimeError,
        "'some'",
    ),
    "chunks of nothing": (
        lambda: vmap(same, chunk_size=0)(two),
        ValueError,
        "must be positive",
    ),
    # modules
    "functional_call with a number": (
        lambda: functional_call(torch.nn.Linear(2, 2), 3, (two,)),
        ValueError,
        "got int",
    ),
    "functional_call that is strict": (
        lambda: functional_call(
            torch.nn.Linear(2, 2), {"weight": torch.ones(2, 2)}, two, strict=True
        ),
        RuntimeError,
        r"missing names \['bias'\]",
    ),
    "names in two dictionaries": (
        lambda: functional_call(torch.nn.Linear(2, 2), ({"bias": two},) * 2, two),
        ValueError,
        "several of the dict",
    ),
    "no model to stack": (
        lambda: stack_module_state([]),
        RuntimeError,
        "at least one model",
    ),
    "models of two classes": (
        lambda: stack_module_state([torch.nn.Linear(2, 2), torch.nn.Tanh()]),
        RuntimeError,
        "same class",
    ),
    "models in two modes": (two_modes, RuntimeError, "same mode"),
    # Functions inside of transforms
    "a Function without a rule for vmap": (
        lambda: vmap(function())(rows),
        RuntimeError,
        "has no rule for it",
    ),
    "a Function with two rules for vmap": (
        lambda: vmap(
            function(generate_vmap_rule=True, vmap=lambda info, dims, x: (x, 0))
        )(rows),
        RuntimeError,
        "keep one of them",
    ),
    "a rule for vmap without out_dims": (
        lambda: vmap(function(vmap=lambda info, dims, x: x))(rows),
        RuntimeError,
        "two values",
    ),
    "a rule for vmap with too many out_dims": (
        lambda: vmap(function(vmap=lambda info, dims, x: ((x, x), (0, 0, 0))))(rows),
        RuntimeError,
        "2 outputs and 3 out_dims",
    ),
    "a Function without a jvp": (
        with_dual(function()),
        NotImplementedError,
        "needs a jvp",
    ),
    "a jvp with too many tangents": (
        with_dual(function(jvp=lambda ctx, t: (t, t))),
        RuntimeError,
        "2 tangents for 1 output",
    ),
    "a jvp of another shape": (
        with_dual(function(jvp=lambda ctx, t: t[:1])),
        RuntimeError,
        r"shape \[1\]",
    ),
    "a view with a tangent that is none": (
        with_dual(
            function(forward=lambda x: x.view_as(x), jvp=lambda ctx, t: t.clone())
        ),
        RuntimeError,
        "the same view of its tangent",
    ),
    # forward_ad
    "a dual tensor outside of a level": (
        lambda: forward_ad.make_dual(two, two),
        RuntimeError,
        r"inside of a dual_level\(\)",
    ),
    "levels that nest": (
        inside(forward_ad.enter_dual_level),
        RuntimeError,
        "cannot be nested",
    ),
    "leaving no level": (
        forward_ad.exit_dual_level,
        RuntimeError,
        "enter_dual_level",
    ),
    "a dual of integers": (
        inside(lambda: forward_ad.make_dual(integers, two)),
        ValueError,
        "floating-point or complex, got torch.int64",
    ),
    "a tangent of integers": (
        inside(lambda: forward_ad.make_dual(two, integers)),
        ValueError,
        "the tangent must be floating-point",
    ),
    "a tangent of another shape": (
        inside(lambda: forward_ad.make_dual(two, rows)),
        RuntimeError,
        r"shape \[2, 3\]",
    ),
    # autograd.functional
    "a result that is no tensor": (
        lambda: functional.jacobian(lambda x: 3, two),
        TypeError,
        "got int",
    ),
    "an input that is no tensor": (
        lambda: functional.jacobian(same, 3),
        TypeError,
        "got int",
    ),
    "no vector for several elements": (
        lambda: functional.vjp(same, two),
        RuntimeError,
        "output of one element",
    ),
    "no vector for several inputs": (
        lambda: functional.jvp(same, two),
        RuntimeError,
        "input of one element",
    ),
    "a vector of another shape": (
        lambda: functional.vjp(same, rows, two),
        RuntimeError,
        r"shape \[2\] for the output of shape \[2, 3\]",
    ),
    "an unknown strategy": (
        lambda: functional.jacobian(same, two, strategy="some"),
        AssertionError,
        "got 'some'",
    ),
    "an unknown outer strategy": (
        lambda: functional.hessian(total, two, outer_jacobian_strategy="some"),
        AssertionError,
        "got 'some'",
    ),
    "forward mode by loops": (
        lambda: functional.jacobian(same, two, strategy="forward-mode"),
        NotImplementedError,
        "vectorize=True",
    ),
    "strict and vectorized": (
        lambda: functional.jacobian(same, two, strict=True, vectorize=True),
        RuntimeError,
        "cannot be combined",
    ),
    "strict and independent": (
        lambda: functional.jacobian(lambda x: torch.ones(2), two, strict=True),
        RuntimeError,
        "does not depend on the inputs",
    ),
    "a Hessian of a vector": (
        lambda: functional.hessian(same, two),
        RuntimeError,
        r"shape \[2\]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_error(name: str) -> None:
    program, kind, message = CASES[name]
    with pytest.raises(kind, match=f"(?s){message}") as error:
        program()
    assert len(str(error.value).splitlines()) <= 10


def test_forward_derivatives_refuse_dtypes_by_a_value_error():
    x = torch.arange(3)
    for call in (
        lambda: jacfwd(lambda z: z)(x),
        lambda: hessian(lambda z: z.sum())(x),
        lambda: jvp(lambda z: z, (x,), (x,)),
        lambda: jvp(lambda z: z, (x.float(),), (x,)),
    ):
        with pytest.raises(ValueError, match=r"floating-point.*int64"):
            call()
