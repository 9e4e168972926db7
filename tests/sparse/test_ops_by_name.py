"""Functions and methods of sparse tensors as ops: by name, as dispatch modes see."""

import pytest

import pellucid as torch
from pellucid.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
DENSE = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
COO = DENSE.to_sparse()
CSR, CSC = DENSE.to_sparse_csr(), DENSE.to_sparse_csc()
TWICE = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 3))
INDEX = torch.tensor([[0, 1], [2, 0]])


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("_to_sparse.default", lambda: DENSE.to_sparse()),
        ("_to_sparse.sparse_dim", lambda: DENSE.to_sparse(1)),
        ("_to_sparse_csr.default", lambda: DENSE.to_sparse_csr()),
        ("_to_sparse_csc.default", lambda: COO.to_sparse_csc()),
        ("_to_sparse_bsr.default", lambda: DENSE.to_sparse_bsr((1, 3))),
        ("_to_dense.default", lambda: CSR.to_dense()),
        ("is_coalesced.default", lambda: COO.coalesce()),
        ("_coalesce.default", lambda: TWICE.coalesce()),
        ("indices.default", lambda: COO.indices()),
        ("values.default", lambda: CSR.values()),
        ("_indices.default", lambda: TWICE._indices()),
        ("_values.default", lambda: TWICE._values()),
        ("_nnz.default", lambda: TWICE._nnz()),
        ("crow_indices.default", lambda: CSR.crow_indices()),
        ("col_indices.default", lambda: CSR.col_indices()),
        ("ccol_indices.default", lambda: CSC.ccol_indices()),
        ("row_indices.default", lambda: CSC.row_indices()),
        ("sparse_dim.default", lambda: CSR.sparse_dim()),
        ("dense_dim.default", lambda: DENSE.dense_dim()),
        ("sparse_mask.default", lambda: DENSE.sparse_mask(COO)),
        ("hspmm.default", lambda: torch.hspmm(COO, DENSE.t())),
        (
            "sparse_sampled_addmm.default",
            lambda: torch.sparse.sampled_addmm(CSR, DENSE, torch.ones(3, 3)),
        ),
        (
            "_sparse_coo_tensor_with_dims_and_tensors.default",
            lambda: torch.sparse_coo_tensor(INDEX, DENSE[0, :2], (2, 3)),
        ),
        ("sparse_coo_tensor.size", lambda: torch.sparse_coo_tensor((2, 3))),
        (
            "sparse_compressed_tensor.comp_plain_value_size",
            lambda: torch.sparse_csr_tensor(
                INDEX[0], INDEX[1, :1], DENSE[0, :1], (1, 3)
            ),
        ),
        (
            "sparse_compressed_tensor.comp_plain_value",
            lambda: torch.sparse_csc_tensor(INDEX[0], INDEX[1, :1], DENSE[0, :1]),
        ),
    ],
)
def test_modes_see_the_op(name, call):
    with Seen() as mode:
        call()
    assert mode.names[-1] == name and mode.names.count(name) == 1


def test_parts_are_copied():
    for tensor, names in (
        (COO, ("indices", "values")),
        (CSR, ("crow_indices", "col_indices", "values")),
        (CSC, ("ccol_indices", "row_indices", "values")),
    ):
        for name in names:
            part = getattr(tensor, name)()
            function, op = getattr(torch, f"{name}_copy"), getattr(aten, f"{name}_copy")
            result = function(tensor)
            assert torch.equal(result, part) and result.data_ptr() != part.data_ptr()
            for write in (function, op.out):
                out = torch.empty(0, dtype=part.dtype)
                assert write(tensor, out=out) is out and torch.equal(out, part)
            with pytest.raises(RuntimeError, match="layout but got Strided"):
                function(torch.ones(2, 2))


def test_constructors_by_name():
    values = torch.tensor([1.0, 2.0])
    result = aten.sparse_coo_tensor.indices(INDEX, values)
    assert result.shape == (2, 3) and not result.is_coalesced()
    whole = aten.sparse_coo_tensor.indices_size(INDEX, values, [3, 3])
    assert whole.shape == (3, 3) and whole[0, 2] == 1
    assert aten.sparse_coo_tensor.size([2, 2], dtype=torch.int32).dtype is torch.int32
    parts = torch.tensor([0, 1, 2]), torch.tensor([1, 0]), values
    rows = aten.sparse_csr_tensor(*parts)
    columns = aten.sparse_csc_tensor(*parts, [2, 2])
    assert torch.equal(rows.to_dense(), columns.to_dense().t())
    with pytest.raises(RuntimeError, match="the layout is sparse_csr"):
        aten.sparse_csr_tensor(*parts, layout=torch.sparse_csc)


def test_invariants_are_checked_for_one_call():
    index, value = torch.tensor([[5], [0]]), torch.ones(1)
    torch.sparse_coo_tensor(index, value, (2, 2))
    with pytest.raises(RuntimeError):
        torch.sparse_coo_tensor(index, value, (2, 2), check_invariants=True)
    assert not torch.sparse.check_sparse_tensor_invariants.is_enabled()


def test_other_sizes_leave_the_tensor_alone():
    result = aten.sparse_resize(COO, [4, 5], 2, 0)
    assert result.shape == (4, 5) and COO.shape == (2, 3)
    assert torch.equal(result.to_dense()[:2, :3], DENSE)
    assert aten.sparse_resize_and_clear(COO, [4, 5], 2, 0)._nnz() == 0
    out = torch.sparse_coo_tensor((1, 1))
    assert aten.resize_as_sparse.out(COO, result, out=out) is out
    assert out.shape == (4, 5)
    copied = aten.copy_sparse_to_sparse(COO, TWICE.coalesce())
    assert torch.equal(copied.to_dense(), TWICE.to_dense())


def test_products_are_written_where_out_says():
    other = torch.arange(6.0).reshape(3, 2)
    out = torch.sparse_coo_tensor((1, 1))
    aten.hspmm.out(COO, other, out=out)
    assert torch.equal(out.to_dense(), DENSE @ other) and out.sparse_dim() == 1
    square = torch.eye(2).to_sparse()
    aten.sspaddmm.out(square, COO, other, beta=2, out=out)
    assert torch.equal(out.to_dense(), 2 * torch.eye(2) + DENSE @ other)
    assert torch.equal(aten.smm(COO, other).to_dense(), DENSE @ other)


def test_gradients_of_dense_forms():
    grad = torch.arange(6.0).reshape(2, 3)
    actual = aten.to_dense_backward(grad, COO)
    assert torch.equal(actual.to_dense(), grad * (DENSE != 0))
    assert aten.to_dense_backward(grad, DENSE.double()).dtype is torch.float64
    read = torch.tensor([0, 2, 2])
    table = aten.embedding_sparse_backward(torch.ones(3, 2), read, 4, 0, True)
    assert table.to_dense().tolist() == [[0, 0], [0, 0], [1, 1], [0, 0]]
    weight = torch.randn(4, 2, requires_grad=True)
    torch.nn.functional.embedding(read, weight, sparse=True).sum().backward()
    assert weight.grad.to_dense().sum() == 6


def test_examples_are_padded():
    x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    result = aten.nested_to_padded_tensor(x, -1.0)
    assert result.tolist() == [[1, 1, -1], [1, 1, 1]]
    with Seen() as mode:
        torch.nested.to_padded_tensor(x, 0.0, [2, 4])
    assert mode.names[-1] == "to_padded_tensor.default"
