"""Functions that depend on values, under transforms that map equal values.

jacfwd maps only tangents, and vmap does not map shared arguments: values computed only
from these are equal for all examples, so they can be read and used in decisions.
"""

from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch
from pellucid.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vmap
from pellucid.testing import assert_close

X = torch.tensor([0.5, -1.2, 2.0], dtype=torch.float64)


def zeros(*shape: int) -> Any:
    return torch.zeros(shape, dtype=torch.float64)


def written(x: Any) -> Any:
    out = zeros(3)
    out[0] = x[0] * x[1]
    out[1:] = x[:2] ** 3
    return (out**2).sum()


def written_through_views(x: Any) -> Any:
    out = zeros(2, 3)
    first, second = out[0], out[1]
    second.copy_(x**3)
    first.add_(x**2)
    second.mul_(x)
    return (out * out.sin()).sum()


def written_where_transposed(x: Any) -> Any:
    out = zeros(2, 3).t()
    out[:, 1] = x**2
    out[0] += x[:2]
    return (out.t() ** 3).sum()


def added_up(x: Any) -> Any:
    total = zeros()
    for value in x:
        total += value**2 * total.clone().cos()
    return total


def put(x: Any) -> Any:
    out = zeros(5)
    out.index_put_((torch.tensor([0, 2, 4]),), x**3)
    out.index_add_(0, torch.tensor([1, 2, 1]), x.sin())
    return (out**2).sum()


def halved(x: Any) -> Any:
    while (x * x).sum() > 1:
        x = x / 2
    return (x**3).sum()


VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "item": (
        lambda x: (x.sin() * x[0].detach().item()).sum(),
        lambda x: x.sin().sum() / 2,
    ),
    "condition": (
        lambda x: (x**3).sum() if x.sum() > 0 else x.exp().sum(),
        lambda x: (x**3).sum(),
    ),
    "loop": (halved, lambda x: ((x / 4) ** 3).sum()),
    "nonzero": (
        lambda x: (x[(x > 0).nonzero().squeeze(1)] ** 3).sum(),
        lambda x: x[0] ** 3 + x[2] ** 3,
    ),
    "mask": (lambda x: (x[x > 0] ** 3).prod(), lambda x: (x[0] * x[2]) ** 3),
    "masked_select": (
        lambda x: (x.masked_select(x > 0) ** 3).prod(),
        lambda x: (x[0] * x[2]) ** 3,
    ),
    "assignment to a mask": (
        lambda x: (lambda y: (y.__setitem__(x < 0, 0.0), (y**2).sum())[1])(x**2),
        lambda x: x[0] ** 4 + x[2] ** 4,
    ),
    "place": (lambda x: x[int(x.argmax())] ** 3, lambda x: x[2] ** 3),
    "sorted": (
        lambda x: sum((k + 1) * v**3 for k, v in enumerate(sorted(x, key=float))),
        lambda x: x[1] ** 3 + 2 * x[0] ** 3 + 3 * x[2] ** 3,
    ),
    "tolist": (
        lambda x: (x**3 * torch.tensor(x.tolist()).sign()).sum(),
        lambda x: x[0] ** 3 - x[1] ** 3 + x[2] ** 3,
    ),
    "equal": (
        lambda x: (x**3).sum() if torch.equal(x, x.clone()) else x.sum(),
        lambda x: (x**3).sum(),
    ),
    "written": (
        written,
        lambda x: (x[0] * x[1]) ** 2 + x[0] ** 6 + x[1] ** 6,
    ),
    "written through views": (
        written_through_views,
        lambda x: (x**2 * (x**2).sin() + x**4 * (x**4).sin()).sum(),
    ),
    "written where transposed": (
        written_where_transposed,
        lambda x: (x[0]) ** 3 + (x[0] ** 2 + x[1]) ** 3 + x[1] ** 6 + x[2] ** 6,
    ),
    "added up": (
        added_up,
        lambda x: (
            lambda a: (lambda b: b + x[2] ** 2 * b.cos())(a + x[1] ** 2 * a.cos())
        )(x[0] ** 2),
    ),
    "put": (
        put,
        lambda x: (
            x[0] ** 6
            + (x[0].sin() + x[2].sin()) ** 2
            + (x[1] ** 3 + x[1].sin()) ** 2
            + x[2] ** 6
        ),
    ),
    "gradient inside": (
        lambda x: (lambda g: (g**2).sum() if g.sum() > 0 else g.sum())(
            grad(lambda v: (v**3).sum())(x)
        ),
        lambda x: (9 * x**4).sum(),
    ),
}

TRANSFORMS: dict[str, Callable[..., Any]] = {
    "jacfwd": lambda f: jacfwd(f)(X),
    "jacrev": lambda f: jacrev(f)(X),
    "hessian": lambda f: hessian(f)(X),
    "twice forward": lambda f: jacfwd(jacfwd(f))(X),
    "twice reverse": lambda f: jacrev(jacrev(f))(X),
    "reverse over forward": lambda f: jacrev(jacfwd(f))(X),
    "third": lambda f: jacfwd(jacfwd(grad(f)))(X),
    "linearize": lambda f: linearize(grad(f), X)[1](torch.ones_like(X)),
    "mapped tangents": lambda f: vmap(lambda t: jvp(grad(f), (X,), (t,))[1])(
        torch.eye(3, dtype=torch.float64)
    ),
    "mapped factors": lambda f: vmap(lambda b: grad(lambda x: f(x) * b)(X))(X),
    "of autograd": lambda f: torch.autograd.functional.hessian(
        f, X, vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", VALUES)
def test_values_decide(function: str, transform: str) -> None:
    depends, same = VALUES[function]
    run = TRANSFORMS[transform]
    assert_close(run(depends), run(same))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item() * x.sum(),
        lambda x: x.sum() if x.sum() > 0 else x.prod(),
        lambda x: x[x > 0].sum(),
    ],
)
def test_values_of_examples_are_still_refused(read: Callable[[Any], Any]) -> None:
    rows = torch.stack([X, -X])
    for run in (vmap(read), vmap(grad(read)), jacfwd(vmap(read)), vmap(hessian(read))):
        with pytest.raises(RuntimeError, match=r"inside vmap|vmap: "):
            run(rows)


def test_what_examples_share_takes_no_example() -> None:
    def function(x: Any) -> Any:
        weight = grad(lambda w: (w**2).sum())(X)
        return weight.add_(x).sum()

    with pytest.raises(RuntimeError, match="shared by all examples"):
        vmap(function)(torch.stack([X, -X]))


def test_a_shared_result_may_leave() -> None:
    actual = vmap(lambda x: (grad(lambda w: (w**2).sum())(X), x), out_dims=(None, 0))(X)
    assert_close(actual, (2 * X, X))


def test_a_captured_tensor_is_plain_again() -> None:
    kept = zeros(3)

    def function(x: Any) -> Any:
        kept.copy_(x**2)
        return (kept**2).sum()

    assert_close(hessian(function)(X), (12 * X**2).diag())
    assert kept.shape == (3,) and kept.tolist() == (X**2).tolist()
    assert (kept + 1).tolist() == (X**2 + 1).tolist()


def test_saved_views_of_what_is_written_are_refused() -> None:
    def function(x: Any) -> Any:
        out = zeros(2, 3)
        product = out[0] * x
        out[1] = x**2
        return product.sum() + out.sum()

    for run in (grad, hessian):
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            run(function)(X)


def test_writes_through_views_of_batched_tensors_keep_tangents() -> None:
    def of_example(b: Any) -> Any:
        def function(t: Any) -> Any:
            out = torch.zeros_like(b)
            row = out[0]
            row.copy_(t[1] ** 2)
            return out.sum()

        return jvp(function, (b,), (X,))[1]

    assert_close(
        vmap(of_example)(torch.stack([X, 2 * X])), 2 * X[1] ** 2 * X.new([1, 2])
    )


def test_forward_mode_can_be_switched_off() -> None:
    from pellucid.autograd import forward_ad

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, torch.ones_like(X))
        with forward_ad._set_fwd_grad_enabled(False):
            off = dual.sin()
        assert forward_ad.unpack_dual(off).tangent is None
        assert_close(forward_ad.unpack_dual(dual.sin()).tangent, X.cos())


def test_views_made_before_a_write_see_it() -> None:
    def function(x: Any) -> Any:
        out = zeros(2, 3)
        row = out[0]
        out.copy_(x**2)
        return (row * x).sum()

    assert_close(jvp(function, (X,), (X,))[1], 3 * (X**3).sum())
    assert_close(jacfwd(function)(X), 3 * X**2)
    assert_close(hessian(function)(X), (6 * X).diag())
