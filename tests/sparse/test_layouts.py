"""CSR, CSC, BSR and BSC, hybrids and batches, and all ways between layouts."""

import numpy as np
import pytest

import pellucid as torch
from tests.sparse.samples import assert_same, numbers, sparse

WHOLE = numbers(0, 4, 6) * (np.random.default_rng(1).random((4, 6)) > 0.6)
DENSE = torch.tensor(WHOLE)
LAYOUTS = {
    "coo": DENSE.to_sparse(),
    "csr": DENSE.to_sparse_csr(),
    "csc": DENSE.to_sparse_csc(),
    "bsr": DENSE.to_sparse_bsr((2, 3)),
    "bsc": DENSE.to_sparse_bsc((2, 3)),
}


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_every_layout_becomes_every_other(source, target):
    x = LAYOUTS[source]
    layout = getattr(torch, f"sparse_{target}")
    block = (2, 3) if target[0] == "b" else None
    y = x.to_sparse(layout=layout, blocksize=block)
    assert y.layout is layout
    assert_same(y, WHOLE)


def test_rows_are_divided_by_pointers():
    x = LAYOUTS["csr"]
    rows, columns = WHOLE.nonzero()
    borders = np.searchsorted(rows, np.arange(5))
    np.testing.assert_array_equal(x.crow_indices().numpy(), borders)
    np.testing.assert_array_equal(x.col_indices().numpy(), columns)
    np.testing.assert_array_equal(x.values().numpy(), WHOLE[rows, columns])
    y = LAYOUTS["csc"]
    assert y.ccol_indices().shape == (7,) and y.row_indices().dtype is torch.int64
    with pytest.raises(RuntimeError, match=r"column compressed.*SparseCsr"):
        x.ccol_indices()


def test_blocks_have_an_element_that_is_not_zero():
    x = LAYOUTS["bsr"]
    assert x.values().shape[1:] == (2, 3)
    assert (x.values() != 0).any(-1).any(-1).all()
    with pytest.raises(RuntimeError, match="must be divisible by given blocksize"):
        DENSE.to_sparse_bsr((3, 3))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ops_on_any_layout(layout):
    x = LAYOUTS[layout]
    right = torch.tensor(numbers(4, 6, 3))
    assert_same(x @ right, WHOLE @ right.numpy())
    assert_same(x.t(), WHOLE.T)
    assert_same(x * 2 + x.sin(), WHOLE * 2 + np.sin(WHOLE))
    assert_same(x * DENSE, WHOLE * WHOLE)
    assert_same(-x.double(), -WHOLE)
    assert_same(x.sum(), WHOLE.sum())
    assert (x * 2).layout is x.layout


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_gradients_have_the_layout_and_the_pattern(layout):
    x = LAYOUTS[layout].clone().requires_grad_()
    right = torch.tensor(numbers(4, 6, 3))
    (x @ right).sum().backward()
    assert x.grad.layout is x.layout and x.grad.values().shape == x.values().shape
    stored = x.detach() * 0 + x.detach().sign().abs()
    wanted = np.broadcast_to(right.numpy().sum(1), (4, 6))
    at = stored.to_dense().numpy() != 0
    np.testing.assert_allclose(x.grad.to_dense().numpy()[at], wanted[at], 1e-5)


def test_two_patterns_of_compressed_tensors_are_joined():
    other = np.roll(WHOLE, 1, 1)
    for layout in ("csr", "csc"):
        x = LAYOUTS[layout]
        y = torch.tensor(other).to_sparse(layout=x.layout)
        assert_same(x + y, WHOLE + other)
        assert_same(x * y, WHOLE * other)
        assert (x + y).layout is x.layout


def test_constructors_of_compressed_layouts():
    x = torch.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0])
    assert_same(x, np.array([[0, 1], [2, 0]], "float32"))
    y = torch.sparse_csc_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2))
    assert_same(y, np.array([[0, 2], [1, 0]], "float32"))
    z = torch.sparse_bsr_tensor([0, 1], [0], torch.ones(1, 2, 2), (2, 2))
    assert_same(z, np.ones((2, 2), "float32"))
    named = torch.sparse_csr_tensor(
        crow_indices=[0, 1], col_indices=[0], values=[3.0], size=(1, 1)
    )
    assert_same(named, np.array([[3]], "float32"))
    with pytest.raises(RuntimeError, match="compressed tensor layout"):
        torch.sparse_compressed_tensor([0], [0], [1.0], layout=torch.sparse_coo)


def test_batches_have_as_many_elements_each():
    whole = np.stack([np.eye(3), np.eye(3)[::-1]]).astype("float32")
    x = torch.tensor(whole).to_sparse_csr()
    assert (x.crow_indices().shape, x.values().shape) == ((2, 4), (2, 3))
    assert_same(x, whole)
    assert_same(x * 2, whole * 2)
    with pytest.raises(RuntimeError, match="same number of specified elements"):
        torch.stack([torch.eye(3), torch.ones(3, 3)]).to_sparse_csr()


def test_hybrids_have_dense_dims():
    x, whole = sparse(dense=(3,))
    assert (x.sparse_dim(), x.dense_dim()) == (2, 1)
    for name, rule in {
        "sum": lambda t: t.sum(2),
        "sum_0": lambda t: t.sum(0),
        "row": lambda t: t[1],
        "last": lambda t: t[1, 2, 0],
        "cat": lambda t: torch.cat([t, t], 2),
        "swap": lambda t: t.transpose(0, 1),
        "mul": lambda t: t * 2,
        "relu": lambda t: t.relu(),
    }.items():
        assert_same(rule(x), rule(torch.tensor(whole)).numpy()), name
    y = torch.tensor(whole).to_sparse(2)
    assert y.dense_dim() == 1 and y.values().shape[1:] == (3,)
    with pytest.raises(RuntimeError, match="do not change places"):
        x.transpose(0, 2)


def test_a_diagonal_matrix_of_rows():
    actual = torch.sparse.spdiags(
        torch.arange(8.0).reshape(2, 4), torch.tensor([0, 1]), (4, 4)
    )
    wanted = np.diag([0.0, 1, 2, 3]) + np.diag([5.0, 6, 7], 1)
    assert_same(actual, wanted.astype("float32"))


@pytest.mark.parametrize("target", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_blocks_of_one_element_are_elements(target):
    whole = torch.arange(6.0).reshape(2, 3)
    found = getattr(whole.to_sparse_bsr((1, 1)), target)()
    assert found.values().dim() == 1
    assert torch.equal(found.to_dense(), whole)
    blocks = found.to_sparse_bsr((1, 1))
    assert blocks.values().dim() == 3 and torch.equal(blocks.to_dense(), whole)


def test_an_example_of_a_batch_has_its_layout():
    whole = torch.stack([torch.eye(4), 2 * torch.eye(4)])
    for batch in (whole.to_sparse_csr(), whole.to_sparse_bsr((2, 2))):
        for found, wanted in zip(batch.unbind(), whole, strict=True):
            assert found.layout is batch.layout
            assert torch.equal(found.to_dense(), wanted)
    leaf = whole.to_sparse_csr().requires_grad_()
    (grad,) = torch.autograd.grad(leaf[1].to_dense().sum(), leaf)
    assert grad.values().tolist() == [[0.0] * 4, [1.0] * 4]


def test_selections_in_order_stay_coalesced():
    x = torch.eye(4).to_sparse()
    assert x.narrow_copy(0, 1, 2).is_coalesced() and x[:, 1:3].is_coalesced()
    assert x.index_select(1, torch.tensor([0, 3])).is_coalesced()
    assert not x.index_select(1, torch.tensor([3, 0])).is_coalesced()
