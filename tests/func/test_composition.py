"""grad, vmap, jvp and their like in all orders, against formulas."""

import pytest

import pellucid as torch
from pellucid.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)


def near(result, expected):
    return result.shape == expected.shape and torch.allclose(
        result, expected, 1e-6, 1e-6
    )


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(5, dtype=torch.float64)


@pytest.fixture
def rows():
    torch.manual_seed(1)
    return torch.randn(4, 5, dtype=torch.float64)


def energy(x):
    return (x.exp() * x.roll(1)).sum()


def test_grad_nests(x):
    third = grad(grad(grad(torch.sin)))
    assert near(third(x[0]), -x[0].cos())


def test_grad_of_several_arguments_and_aux(x):
    def weighted(a, b):
        return (a * b).sum(), a

    (da, db), aux = grad(weighted, argnums=(0, 1), has_aux=True)(x, 2 * x)
    assert near(da, 2 * x) and near(db, x) and near(aux, x)
    gradient, value = grad_and_value(energy)(x)
    assert near(value, energy(x)) and near(gradient, grad(energy)(x))


def test_grad_takes_trees(x):
    actual = grad(lambda p: (p["a"] * p["b"][0]).sum())({"a": x, "b": [3 * x]})
    assert near(actual["a"], 3 * x) and near(actual["b"][0], x)


@pytest.mark.parametrize("outer", [jacfwd, jacrev])
@pytest.mark.parametrize("inner", [jacfwd, jacrev])
def test_second_derivatives_in_every_order(outer, inner, x):
    assert near(outer(inner(lambda x: x.sin().sum()))(x), (-x.sin()).diag())


def test_per_sample_gradients_are_each_samples_gradient(x, rows):
    def loss(weight, row):
        return torch.tanh(weight @ row)

    actual = vmap(grad(loss), (None, 0))(x, rows)
    assert near(actual, torch.stack([grad(loss)(x, row) for row in rows]))


def test_hessian_under_vmap(rows):
    actual = vmap(hessian(energy))(rows)
    assert near(actual, torch.stack([hessian(energy)(row) for row in rows]))


def test_products_with_the_hessian_agree(x, rows):
    matrix = hessian(energy)(x)
    tangent = rows[0]
    assert near(jvp(grad(energy), (x,), (tangent,))[1], matrix @ tangent)
    assert near(grad(lambda x: jvp(energy, (x,), (tangent,))[1])(x), matrix @ tangent)
    many = vmap(lambda t: jvp(grad(energy), (x,), (t,))[1])(rows)
    assert near(many, rows @ matrix)


def test_grad_of_vmap_of_jvp(x, rows):
    matrix = hessian(energy)(x)

    def total(x):
        return vmap(lambda t: jvp(energy, (x,), (t,))[1])(rows).sum()

    assert near(grad(total)(x), (rows @ matrix).sum(0))


def test_jvp_of_vmap(x, rows):
    def total(x):
        return vmap(lambda row: (x * row).exp().sum())(rows).sum()

    actual = jvp(total, (x,), (rows[0],))[1]
    assert near(actual, ((rows * x).exp() * rows * rows[0]).sum())


def test_a_pullback_can_be_mapped_and_differentiated(x):
    _, pullback = vjp(torch.sin, x)
    identity = torch.eye(5, dtype=torch.float64)
    assert near(vmap(lambda v: pullback(v)[0])(identity), x.cos().diag())
    actual = grad(lambda x: vjp(torch.sin, x)[1](torch.ones_like(x))[0].sum())(x)
    assert near(actual, -x.sin())


def test_a_pullback_may_free_the_graph(x):
    _, pullback = vjp(torch.sin, x)
    (actual,) = pullback(torch.ones_like(x), retain_graph=False)
    assert near(actual, x.cos())
    with pytest.raises(RuntimeError, match="second time"):
        pullback(torch.ones_like(x))


def test_jacobians_of_numbers():
    x = torch.tensor(1.0, dtype=torch.float64)
    assert near(jacfwd(torch.sin)(x), x.cos()) and near(jacrev(torch.sin)(x), x.cos())
    assert near(hessian(torch.sin)(x), -x.sin())


def test_linearize_evaluates_once(x):
    calls = []

    def counted(x):
        calls.append(1)
        return x.sin()

    output, push = linearize(counted, x)
    assert near(push(x), x.cos() * x) and near(push(2 * x), 2 * x.cos() * x)
    assert near(output, x.sin()) and len(calls) == 1


def test_two_steps_of_maml(x):
    def inner(w):
        return ((w * x) ** 2).sum()

    def adapted_loss(w):
        for _ in range(2):
            w = w - 0.1 * grad(inner)(w)
        return inner(w)

    w = torch.ones(5, dtype=torch.float64)
    factor = (1 - 0.2 * x * x) ** 2
    assert near(grad(adapted_loss)(w), 2 * w * factor**2 * x * x)


def test_jacobians_of_trees_have_the_structure_of_both(x):
    def two(a, b):
        return {"sum": a + b, "product": a * b}

    actual = jacrev(two, argnums=(0, 1))(x, 2 * x)
    assert near(actual["sum"][1], torch.eye(5, dtype=torch.float64))
    assert near(actual["product"][0], (2 * x).diag())
    forward = jacfwd(two, argnums=(0, 1))(x, 2 * x)
    assert near(forward["product"][0], (2 * x).diag())


@pytest.mark.parametrize("chunk_size", [1, 2, 5, 100])
def test_chunks_do_not_change_the_result(chunk_size, x, rows):
    assert near(jacrev(torch.sin, chunk_size=chunk_size)(x), x.cos().diag())
    assert near(jacfwd(torch.sin, chunk_size=chunk_size)(x), x.cos().diag())
    mapped = vmap(energy, chunk_size=chunk_size)(rows)
    assert near(mapped, vmap(energy)(rows))


def test_results_belong_to_the_graph_around_them():
    p = torch.randn(5, dtype=torch.float64, requires_grad=True)
    x = torch.randn(5, dtype=torch.float64)
    assert not grad(lambda x: (x**3).sum())(x).requires_grad
    grad(lambda x: (x**3 * p).sum())(x).sum().backward()
    assert near(p.grad, 3 * x**2)
    p.grad = None
    grad(lambda x: (x**3).sum())(p).sum().backward()
    assert near(p.grad, 6 * p.detach())


def test_results_of_nested_grads_have_no_history(x):
    def slope(y):
        return vmap(grad(lambda x, y: x * x * y), (0, None))(x, y).sum()

    actual = grad(slope)(torch.tensor(5.0, dtype=torch.float64))
    assert near(actual, 2 * x.sum()) and not actual.requires_grad
    actual = grad(lambda y: jacrev(lambda x: x * x * y)(x).sum())(x[0])
    assert near(actual, 2 * x.sum()) and not actual.requires_grad
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    actual = grad(lambda y: grad(lambda x: x * x * y)(x[0]) * scale)(x[0])
    assert near(torch.autograd.grad(actual, scale)[0], 2 * x[0])


def test_errors_of_grad(x):
    with pytest.raises(RuntimeError, match="0-dimensional"):
        grad(torch.sin)(x)
    with pytest.raises(RuntimeError, match="must return tensors"):
        grad(lambda x: 1.0)(x)
    with pytest.raises(RuntimeError, match="floating-point"):
        grad(torch.sum)(torch.arange(3))
    with pytest.raises(RuntimeError, match="argnums"):
        grad(energy, argnums=2)(x)
    with pytest.raises(RuntimeError, match="has_aux"):
        grad(energy, has_aux=True)(x)


def test_errors_of_jvp_and_vjp(x):
    with pytest.raises(RuntimeError, match="shape"):
        jvp(torch.sin, (x,), (x[:2],))
    with pytest.raises(RuntimeError, match="tuple"):
        jvp(torch.sin, x, x)
    with pytest.raises(RuntimeError, match="does not depend"):
        jvp(lambda x: torch.ones(2), (x,), (x,), strict=True)
    with pytest.raises(RuntimeError, match="structure"):
        vjp(torch.sin, x)[1]((x, x))
