"""Factories and fills of the sizes of sparse tensors, sizes alone, and comparisons."""

import copy

import pytest

import pellucid as torch

X = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
COMPRESSED = [torch.sparse_csr, torch.sparse_csc]


def test_a_size_alone_makes_an_empty_tensor():
    for made in (torch.sparse_coo_tensor((2, 3)), torch.sparse_coo_tensor(size=(2, 3))):
        assert made.shape == (2, 3) and made._nnz() == 0 and made.is_coalesced()
    with pytest.raises(TypeError, match="a size alone"):
        torch.sparse_coo_tensor()


@pytest.mark.parametrize("factory", ["zeros_like", "ones_like", "rand_like"])
def test_a_strided_factory_reads_the_size_of_a_sparse_tensor(factory):
    make = getattr(torch, factory)
    for sparse in (X.to_sparse(), X.to_sparse_csr(), torch.tensor(3.0).to_sparse()):
        made = make(sparse, layout=torch.strided, dtype=torch.float64)
        assert made.layout is torch.strided and made.dtype is torch.float64
        assert made.shape == sparse.shape and made.is_contiguous()


@pytest.mark.parametrize("layout", COMPRESSED)
def test_factories_of_compressed_tensors_fill_the_pattern(layout):
    sparse = X.to_sparse(layout=layout)
    ones = (X != 0).float()
    assert torch.equal(torch.ones_like(sparse).to_dense(), ones)
    assert torch.equal(torch.full_like(sparse, 2.0).to_dense(), 2 * ones)
    assert torch.equal(sparse.clone().fill_(5.0).to_dense(), 5 * ones)
    drawn = sparse.clone().normal_(10.0, 0.1)
    assert torch.equal((drawn.to_dense() > 5).float(), ones)


def test_filling_a_coo_tensor_is_refused():
    sparse = X.to_sparse()
    for fill in (
        lambda: sparse.normal_(),
        lambda: sparse.fill_(1.0),
        lambda: torch.ones_like(sparse),
    ):
        with pytest.raises(NotImplementedError, match="SparseCPU"):
            fill()


@pytest.mark.parametrize("layout", [torch.sparse_coo, *COMPRESSED])
def test_assert_close_compares_indices_and_values(layout):
    sparse = X.to_sparse(layout=layout)
    torch.testing.assert_close(sparse, copy.deepcopy(sparse))
    torch.testing.assert_close({"x": sparse}, {"x": sparse + 1e-9 * sparse})
    with pytest.raises(AssertionError, match="'values'"):
        torch.testing.assert_close(sparse, 2 * sparse)
    moved = X.roll(1, 1).to_sparse(layout=layout)
    with pytest.raises(AssertionError, match="indices"):
        torch.testing.assert_close(sparse, moved)
    fewer = torch.zeros(2, 3).to_sparse(layout=layout)
    with pytest.raises(AssertionError, match="3 != 0"):
        torch.testing.assert_close(sparse, fewer)


def test_a_compressed_tensor_without_elements_is_copied():
    empty = torch.zeros(2, 3).to_sparse_csr()
    assert copy.copy(empty)._nnz() == copy.deepcopy(empty)._nnz() == 0
