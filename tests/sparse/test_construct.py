"""Constructors, invariants, printing, copies and files of sparse tensors."""

import copy
import io
import pickle

import numpy as np
import pytest

import pellucid as torch
from tests.sparse.samples import SIZE, assert_same, parts, sparse

INDICES = torch.tensor([[0, 1], [1, 0]])


def test_a_coo_tensor_has_its_parts():
    x, whole = sparse()
    assert (x.layout, x.is_sparse, x.is_sparse_csr) == (torch.sparse_coo, True, False)
    assert (x.shape, x._nnz(), x.sparse_dim(), x.dense_dim()) == (SIZE, 9, 2, 0)
    assert not x.is_coalesced()
    with pytest.raises(RuntimeError, match="uncoalesced"):
        x.indices()
    y = x.coalesce()
    assert y.is_coalesced() and y.coalesce() is y
    np.testing.assert_array_equal(y.indices().numpy(), np.stack(whole.nonzero()))
    np.testing.assert_allclose(y.values().numpy(), whole[whole.nonzero()], 1e-6)


def test_constructors_take_lists_sizes_and_options():
    x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2], dtype=torch.float64)
    assert (x.dtype, x.shape) == (torch.float64, (2, 2))
    assert torch.sparse_coo_tensor((2, 3))._nnz() == 0
    hybrid = torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (4, 3))
    assert (hybrid.sparse_dim(), hybrid.dense_dim()) == (1, 1)
    leaf = torch.sparse_coo_tensor([[0]], [1.0], (1,), requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad
    assert torch.sparse_coo_tensor([[0]], torch.tensor(1.0), (2,))._nnz() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((INDICES, torch.ones(3), (2, 2)), "same nnz"),
        ((INDICES, torch.ones(2), (2, 2, 2)), r"len\(size\) == sparse_dim"),
        ((INDICES[:1], torch.ones(2, 3), (2, 2)), "values has incorrect size"),
        ((INDICES[0], torch.ones(2), (2,)), "sparse_dim x nnz"),
        ((INDICES, torch.ones(2), (2, -2)), "negative sizes"),
        ((-INDICES, torch.ones(2)), "negative index -1 for dim 0"),
        ((INDICES * 2, torch.ones(2), (2, 2)), "found index 2"),
        ((-INDICES, torch.ones(2), (2, 2)), "negative index"),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_coo_tensor(*arguments, check_invariants=True)


def test_unchecked_indices_out_of_range_never_read_other_memory():
    broken = torch.sparse_coo_tensor([[0, 9]], [1.0, 2.0], (2,))
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        broken.to_dense()
    wide = torch.sparse_coo_tensor([[0, 10**12], [0, 0]], [1.0, 2.0], (2, 2))
    for use in (lambda: wide @ torch.ones(2, 2), lambda: torch.ones(2, 2) * wide):
        with pytest.raises((IndexError, RuntimeError)):
            use()


def test_the_state_of_invariants_is_a_context_and_a_switch():
    check = torch.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check(), pytest.raises(RuntimeError, match="found index 5"):
        torch.sparse_coo_tensor([[5]], [1.0], (2,))
    assert not check.is_enabled()
    check.enable()
    assert check.is_enabled()
    check.disable()

    @check(True)
    def build():
        return torch.sparse_coo_tensor([[5]], [1.0], (2,))

    with pytest.raises(RuntimeError, match="found index 5"):
        build()


COMPRESSED = torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: [1, 1, 2]}, r"crow_indices\[..., 0\] == 0"),
        ({0: [0, 1, 3]}, r"crow_indices\[..., -1\] == nnz"),
        ({0: [0, 3, 2]}, r"<= ncols"),
        ({1: [1, 5]}, "0 <= col_indices < ncols"),
        ({1: [-1, 0]}, "0 <= col_indices < ncols"),
        ({0: [0, 2, 2]}, "sorted and distinct"),
        ({0: [0, 1, 1, 2]}, r"number of rows \+ 1 \(=3\)"),
        ({1: [1, 0, 0]}, r"equal to nnz \(=2\)"),
        ({0: [0.0, 1.0, 2.0]}, "must have the same dtype"),
    ],
)
def test_broken_csr_tensors_are_refused(change, message):
    arguments = [
        torch.tensor(change.get(k, v.tolist())) for k, v in enumerate(COMPRESSED)
    ]
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_csr_tensor(*arguments, (2, 2), check_invariants=True)


def test_sparse_tensors_print_their_parts():
    x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    assert repr(x) == (
        "tensor(indices=tensor([[0, 1],\n"
        "                       [1, 0]]),\n"
        "       values=tensor([1., 2.]),\n"
        "       size=(2, 2), nnz=2, layout=torch.sparse_coo)"
    )
    assert repr(x.to_sparse_csr().double()) == (
        "tensor(crow_indices=tensor([0, 1, 2]),\n"
        "       col_indices=tensor([1, 0]),\n"
        "       values=tensor([1., 2.]), size=(2, 2), nnz=2, dtype=torch.float64,\n"
        "       layout=torch.sparse_csr)"
    )
    assert "values=tensor([], size=(0,))" in repr(torch.sparse_coo_tensor((2, 3)))


def test_memory_of_a_sparse_tensor_cannot_be_read():
    x, _ = sparse()
    for read in (x.data_ptr, x.tolist, x.numpy, x.untyped_storage, lambda: x.view(20)):
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
            read()


LAYOUTS = ("coo", "csr", "csc", "bsr", "bsc")


def with_layout(dense, layout):
    if layout[0] == "b":
        return getattr(dense, f"to_sparse_{layout}")((2, 1))
    return getattr(dense, f"to_sparse_{layout}")()


def through_file(x):
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    return torch.load(file)["x"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), through_file]
)
def test_copies_and_files_have_the_same_parts(layout, again):
    whole = parts()[2]
    x = with_layout(torch.tensor(whole), layout)
    y = again(x)
    assert (y.layout, y.shape, y._nnz()) == (x.layout, x.shape, x._nnz())
    assert_same(y, whole)
    y.mul_(0)
    assert_same(x, whole)


def test_a_parameter_may_be_sparse():
    x = torch.nn.Parameter(sparse()[0])
    y = through_file(x)
    assert type(y) is torch.nn.Parameter and y.is_sparse and y.requires_grad
    assert copy.deepcopy(x).requires_grad


def test_broken_parts_in_a_file_are_refused():
    x = torch.sparse_coo_tensor([[0, 9]], [1.0, 2.0], (2,))
    with pytest.raises(RuntimeError, match="found index 9"):
        through_file(x)


@pytest.mark.parametrize(
    "layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]
)
def test_factories_make_tensors_without_elements(layout):
    x = torch.ones(2, dtype=torch.float64)
    for tensor in (
        torch.zeros(3, 4, layout=layout, dtype=torch.float64),
        torch.empty(3, 4, layout=layout, dtype=torch.float64),
        x.new_zeros((3, 4), layout=layout),
        x.new_empty((3, 4), layout=layout),
        torch.zeros_like(torch.ones(3, 4, dtype=torch.float64), layout=layout),
        torch.empty_like(torch.eye(3, 4).double().to_sparse(), layout=layout),
    ):
        assert (tensor.layout, tensor.shape) == (layout, (3, 4))
        assert (tensor.dtype, tensor._nnz()) == (torch.float64, 0)
        assert torch.equal(tensor.to_dense(), torch.zeros(3, 4, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="not implemented for sparse layout"):
        torch.ones(3, 4, layout=layout)


def meta(*sizes):
    return torch.zeros(*sizes, device="meta")


def test_sparse_tensors_of_meta_have_shapes_and_print():
    index = torch.zeros(2, 3, dtype=torch.int64, device="meta")
    coo = torch.sparse_coo_tensor(index, meta(3), (4, 5))
    pointers, columns = index.new_zeros(5), index.new_zeros(3)
    csr = torch.sparse_csr_tensor(pointers, columns, meta(3), (4, 5))
    for tensor in (coo, csr):
        assert (tensor._nnz(), tensor.device.type) == (3, "meta")
        assert "tensor(..., size=(3,))" in repr(tensor)
        for made in (tensor.relu(), tensor * 2, tensor.clone(), tensor.double()):
            assert (made.layout, made.shape) == (tensor.layout, tensor.shape)
        for made, shape in (
            (tensor @ meta(5, 2), (4, 2)),
            (tensor @ meta(5), (4,)),
            (tensor.to_dense(), (4, 5)),
            (tensor.sum(), ()),
        ):
            assert (made.shape, made.device.type) == (shape, "meta")
    assert coo.t().shape == (5, 4)
    assert (coo + coo).shape == (4, 5)
    assert torch.sparse.sum(coo, 0).shape == (5,)
    assert torch.eye(3).to_sparse().to("meta").layout is torch.sparse_coo
    assert torch.eye(3).to_sparse_csr().to("meta").layout is torch.sparse_csr
    assert torch.zeros(3, 4, layout=torch.sparse_coo, device="meta").is_sparse


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse_tensors_have_no_array_and_no_storage(layout):
    x = torch.eye(2).to_sparse(layout=layout)
    with pytest.raises(TypeError, match="to_dense"):
        x.numpy()
    with pytest.raises(NotImplementedError, match="storage"):
        x.untyped_storage()
    if layout is torch.sparse_coo:
        assert not x.is_contiguous()
    else:
        with pytest.raises(RuntimeError, match="is_contiguous"):
            x.is_contiguous()


def test_pointers_and_columns_are_integers():
    for pointers, columns in (([0.0, 1.0], [0]), ([0, 1], [0.5])):
        with pytest.raises(RuntimeError, match="same dtype"):
            torch.sparse_csr_tensor(pointers, columns, [1.0], (1, 1))
