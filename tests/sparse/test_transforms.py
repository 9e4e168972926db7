"""Transforms over ops on sparse tensors: they see the ops on components."""

import pytest

import pellucid as torch
from pellucid.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from pellucid.nn import functional as F

LAYOUTS = [torch.sparse_coo, torch.sparse_csr]


def matrix(layout):
    torch.manual_seed(0)
    dense = torch.randn(3, 3).relu()
    dense[1] = 0
    return dense.to_sparse(layout=layout), dense


def vectors(*shape):
    return torch.randn(2, *shape)


MAPPED = {
    "mm": (lambda m, x: torch.mm(m, x), (3, 4)),
    "mv": (lambda m, x: m @ x, (3,)),
    "linear": (lambda m, x: F.linear(x, m), (3,)),
    "addmm": (lambda m, x: torch.addmm(x, m, x), (3, 4)),
    "scaled": (lambda m, x: (m * x).to_dense(), (3, 3)),
    "relu": (lambda m, x: (m * x).relu().to_dense(), (3, 3)),
    "sum": (lambda m, x: (m * x).sum(), (3, 3)),
    "dense + sparse": (lambda m, x: x + m, (3, 3)),
    "gradient": (lambda m, x: grad(lambda v: (m @ v).square().sum())(x), (3,)),
}


def strided(tensor):
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", MAPPED)
def test_vmap_over_dense_operands_is_the_loop(name, layout):
    function, shape = MAPPED[name]
    sparse, dense = matrix(layout)
    x = vectors(*shape)
    actual = vmap(lambda v: function(sparse, v))(x)
    expected = torch.stack([strided(function(dense, v)) for v in x])
    assert torch.allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_vmap_over_sparse_matrices_is_the_loop(layout):
    _, dense = matrix(layout)
    batch = torch.stack([dense, 2 * dense]).to_sparse(layout=layout)
    x = vectors(3)
    actual = vmap(lambda m, v: m @ v)(batch, x)
    assert torch.allclose(actual, torch.stack([dense @ x[0], 2 * dense @ x[1]]))
    actual = vmap(lambda m: m @ x[0], in_dims=0)(batch)
    assert torch.allclose(actual, torch.stack([dense @ x[0], 2 * dense @ x[0]]))


def test_vmap_over_values_makes_matrices_of_one_pattern():
    sparse, dense = matrix(torch.sparse_coo)
    x = torch.randn(3)
    both = torch.stack([sparse.values(), 2 * sparse.values()])

    def function(values):
        return torch.sparse_coo_tensor(sparse.indices(), values, (3, 3)) @ x

    expected = torch.stack([dense @ x, 2 * dense @ x])
    assert torch.allclose(vmap(function)(both), expected)


def test_a_sparse_result_with_values_per_example_is_refused():
    sparse, dense = matrix(torch.sparse_coo)
    with pytest.raises(NotImplementedError, match="differ between examples"):
        vmap(lambda x: sparse * x)(vectors(3, 3))
    same = vmap(lambda x: sparse * 2)(vectors(3))
    assert torch.equal(same.to_dense(), torch.stack([2 * dense] * 2))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_derivatives_of_products_in_every_mode(layout):
    sparse, dense = matrix(layout)
    x, tangent = vectors(3)

    def sine(m):
        return lambda v: (m @ v).sin()

    _, actual = jvp(sine(sparse), (x,), (tangent,))
    assert torch.allclose(actual, jvp(sine(dense), (x,), (tangent,))[1])
    for transform in (jacfwd, jacrev):
        actual, expected = transform(sine(sparse))(x), transform(sine(dense))(x)
        assert torch.allclose(actual, expected, atol=1e-6)
    actual = hessian(lambda v: sine(sparse)(v).sum())(x)
    expected = hessian(lambda v: sine(dense)(v).sum())(x)
    assert torch.allclose(actual, expected, atol=1e-6)
