"""Ops whose result has another pattern: as on the dense form, with gradients."""

import pytest

import pellucid as torch
from tests.sparse.samples import assert_same, numbers, sparse

MATRIX, VECTOR = torch.tensor(numbers(7, 5, 3)), torch.tensor(numbers(8, 5))
LEFT = torch.tensor(numbers(9, 3, 4))
PICKED = torch.tensor([2, 0, 2])

# What follows of a matrix, sparse or dense, of the size (4, 5).
RULES = {
    "t": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "select": lambda x: x[1],
    "element": lambda x: x[1, 2],
    "column": lambda x: x[:, 3],
    "slice": lambda x: x[1:3],
    "index_select": lambda x: x.index_select(0, PICKED),
    "index_select_1": lambda x: x.index_select(1, PICKED),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "cat": lambda x: torch.cat([x, x * 2]),
    "cat_1": lambda x: torch.cat([x, x * 2], 1),
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "flip": lambda x: x.flip([0, 1]),
    "unbind": lambda x: x.unbind(1)[2],
    "sum": lambda x: x.sum(),
    "sum_0": lambda x: x.sum(0),
    "sum_keep": lambda x: x.sum(1, keepdim=True),
    "mean": lambda x: x.mean(1),
    "norm": lambda x: x.norm(),
    "mm": lambda x: x @ MATRIX,
    "dense_mm": lambda x: LEFT @ x,
    "mv": lambda x: x @ VECTOR,
    "addmm": lambda x: torch.addmm(torch.ones(3), x, MATRIX, beta=2, alpha=0.5),
    "linear": lambda x: torch.nn.functional.linear(MATRIX.t(), x),
    "product": lambda x: x @ x.t(),
    "dense_add": lambda x: torch.ones(4, 5) + x,
    "to": lambda x: x.to(torch.float64),
    "clone": lambda x: x.clone(),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_a_rule_is_the_op_on_the_dense_form_with_its_gradient(name, layout):
    x, whole = sparse()
    if layout == "csr" and name in ("sum_0", "mean", "stack", "unsqueeze", "squeeze"):
        pytest.skip("its result has no rows")
    x = x.coalesce() if layout == "coo" else x.to_sparse_csr()
    x.requires_grad_()
    dense = torch.tensor(whole, requires_grad=True)
    actual, wanted = RULES[name](x), RULES[name](dense)
    assert_same(actual, wanted.detach().numpy())
    actual = actual if actual.layout is torch.strided else actual.to_dense()
    (actual**2).sum().backward()
    (wanted**2).sum().backward()
    assert x.grad.layout is x.layout and x.grad._nnz() == x._nnz()
    assert_same(x.grad, (dense.grad * (dense != 0)).detach().numpy(), 1e-4)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_is_over_the_stored_elements(name, dim):
    x, whole = sparse()
    dense = torch.tensor(whole)
    hidden = dense.masked_fill(dense == 0, -torch.inf)
    wanted = getattr(torch, name)(hidden, dim).masked_fill(dense == 0, 0.0)
    assert_same(getattr(torch.sparse, name)(x, dim), wanted.numpy())


def test_gradients_of_the_dense_factor_are_dense():
    x, whole = sparse()
    matrix = MATRIX.clone().requires_grad_()
    (x @ matrix).square().sum().backward()
    product = whole @ MATRIX.numpy()
    assert_same(matrix.grad, 2 * whole.T @ product, 1e-4)


def test_second_derivatives_pass_through_the_values():
    x, _ = sparse()
    values = x._values().double().requires_grad_()
    matrix = MATRIX.double().requires_grad_()

    def of_values(values, matrix):
        result = torch.sparse_coo_tensor(x._indices(), values, (4, 5))
        return torch.sparse.mm(result.square(), matrix)

    assert torch.autograd.gradcheck(of_values, (values, matrix))
    assert torch.autograd.gradgradcheck(of_values, (values, matrix))


def test_batches_of_sparse_matrices():
    x, whole = sparse(size=(2, 4, 5), count=12)
    right = torch.tensor(numbers(3, 2, 5, 3))
    assert_same(torch.bmm(x, right), whole @ right.numpy())


def test_reduced_products_combine_the_terms_of_each_row():
    x, whole = sparse()
    csr = x.to_sparse_csr()
    rows, columns = whole.nonzero()
    for name in ("mean", "amax", "amin"):
        actual = torch.sparse.mm(csr, MATRIX, name)
        for row in range(4):
            terms = [whole[row, c] * MATRIX[c] for c in columns[rows == row]]
            picked = torch.stack(terms) if terms else torch.zeros(1, 3)
            assert_same(actual[row], getattr(picked, name)(0).numpy())


def test_sampled_products_are_computed_at_the_pattern():
    x, whole = sparse()
    first, second = torch.tensor(numbers(1, 4, 2)), torch.tensor(numbers(2, 2, 5))
    actual = torch.sparse.sampled_addmm(x.to_sparse_csr(), first, second, beta=0.5)
    wanted = 0.5 * whole + (first @ second).numpy() * (whole != 0)
    assert_same(actual, wanted)


def test_masks_take_the_elements_at_a_pattern():
    x, whole = sparse()
    dense = torch.tensor(numbers(1, 4, 5))
    assert_same(dense.sparse_mask(x.coalesce()), dense.numpy() * (whole != 0))
    other, there = sparse(5)
    masked = x.sparse_mask(other.coalesce())
    assert_same(masked, whole * (there != 0))


def test_what_cannot_be_multiplied_is_refused():
    x, _ = sparse()
    with pytest.raises(RuntimeError, match="4x5 and 3x2"):
        _ = x @ torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="same dtype"):
        _ = x @ torch.ones(5, 2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="sparse matrix"):
        torch.sparse.mm(torch.ones(2, 2), torch.ones(2, 2))
    with pytest.raises(IndexError, match="out of range"):
        x.select(0, 7)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        # Values of PyTorch 2.13, at the three positions in order.
        (lambda s, x, w: (s.to_dense() * w).sum(), [1, 5, 6]),
        (lambda s, x, w: torch.sparse.sum(s) * 2, [2, 2, 2]),
        (
            lambda s, x, w: (torch.sparse.sum(s, dim=0).to_dense() * w[0]).sum(),
            [1, 2, 3],
        ),
        (lambda s, x, w: (torch.sparse.mm(s, x) * w[:, :2]).sum(), [5, 32, 50]),
        (lambda s, x, w: ((s @ x) * w[:, :2]).sum(), [5, 32, 50]),
        (lambda s, x, w: (s.coalesce().values() * w[0]).sum(), [1, 2, 3]),
        (lambda s, x, w: ((s + s).to_dense() * w).sum(), [2, 10, 12]),
        (lambda s, x, w: (s.coalesce().square().to_dense() * w).sum(), [8, 40, 24]),
        (lambda s, x, w: (s.t().to_dense() * w.t()).sum(), [1, 5, 6]),
    ],
)
def test_positions_that_are_stored_twice_get_one_gradient(function, expected):
    indices = torch.tensor([[0, 1, 0, 1], [0, 2, 0, 1]])
    values = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    result = torch.sparse_coo_tensor(indices, values, (2, 3))
    result.retain_grad()
    function(result, *OPERANDS).backward()
    grad = result.grad
    assert grad.is_coalesced() and grad.indices().tolist() == [[0, 1, 1], [0, 1, 2]]
    assert grad.values().tolist() == expected
    at, middle, last = expected
    assert values.grad.tolist() == [at, last, at, middle]
    leaf = result.detach().requires_grad_()
    function(leaf, *OPERANDS).backward()
    assert leaf.grad.to_dense().equal(grad.to_dense())


OPERANDS = (
    torch.arange(1.0, 7).reshape(3, 2),
    torch.arange(1.0, 7).reshape(2, 3),
)


def test_gradients_that_store_a_position_twice_are_summed():
    indices = torch.tensor([[0, 1, 0, 1], [0, 2, 0, 1]])
    values = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    result = torch.sparse_coo_tensor(indices, values, (2, 3))
    inputs = torch.sparse_coo_tensor(
        indices, torch.tensor([10.0, 20.0, 30.0, 40.0]), (2, 3)
    )
    (grad,) = torch.autograd.grad(result, values, inputs)
    assert grad.tolist() == [40, 20, 40, 40]


def test_a_dense_destination_takes_the_size_of_the_result():
    x = torch.eye(3).to_sparse()
    out = torch.empty(0)
    assert torch.mm(x, torch.ones(3, 2), out=out) is out
    assert torch.equal(out, torch.ones(3, 2))


WRITES = {
    "derived": lambda x: x.mul_(2),
    "registered": lambda x: x.add_(x),
    "out=": lambda x: torch.mul(x, 2, out=x),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
def test_writes_leave_the_tensor_that_a_transpose_is_of(write):
    x = torch.eye(3).to_sparse()
    for _ in range(4):  # repeated calls, too
        assert torch.equal(write(x.t()).to_dense(), 2 * torch.eye(3))
        assert torch.equal(x.to_dense(), torch.eye(3))


def test_operands_of_other_layouts_are_converted():
    x, whole = sparse()
    x, whole = x.coalesce(), torch.tensor(whole)
    other = whole.to_sparse_bsr((1, 1))
    assert (x + other).layout is torch.sparse_coo
    assert torch.equal((x + other).to_dense(), whole + whole)
    assert (other * x).layout is torch.sparse_bsr


def test_components_are_no_memory_to_resize():
    for write in (lambda x: x.resize_(5, 5), lambda x: x.set_()):
        with pytest.raises(NotImplementedError, match="no memory of its own"):
            write(torch.eye(2).to_sparse())


@pytest.mark.parametrize(
    ("target", "values", "options", "message"),
    [
        (torch.ones(2, dtype=torch.int64), [1.5], {}, "Float can't be cast"),
        (torch.ones(2), [1.5 + 1j], {}, "ComplexFloat can't be cast"),
        (torch.ones(2, dtype=torch.int64), [1], {"alpha": 0.5}, "must be an integer"),
        (torch.ones(2, requires_grad=True), [1.5], {}, "add_: a leaf"),
    ],
)
def test_a_dense_tensor_that_cannot_hold_the_sum_refuses(
    target, values, options, message
):
    x = torch.sparse_coo_tensor([[1]], values, (2,))
    with pytest.raises(RuntimeError, match=message):
        target.add_(x, **options)


def test_a_sum_of_all_dims_is_dense():
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    total = x.sum((0, 1), keepdim=True)
    assert total.layout is torch.strided and total.tolist() == [[5.0]]


def test_powers_and_divisions_are_of_stored_elements():
    x = torch.tensor([[0.0, 2.0], [-3.0, 0.0]]).to_sparse()
    assert (x**-1).to_dense()[0].tolist() == [0.0, 0.5]
    for divisor in (2, torch.tensor(2.0)):
        found = torch.floor_divide(x, divisor).to_dense()
        assert found.tolist() == [[0.0, 1.0], [-2.0, 0.0]]
    with pytest.raises(NotImplementedError, match="pow"):
        x**0


def test_complex_elements_are_viewed_as_pairs():
    x = torch.tensor([[0, 1 + 2j], [3j, 0]]).to_sparse()
    pairs = torch.view_as_real(x)
    assert pairs.shape == (2, 2, 2) and pairs.dense_dim() == 1
    assert torch.equal(torch.view_as_complex(pairs).to_dense(), x.to_dense())
    assert x.imag.to_dense().tolist() == [[0.0, 2.0], [3.0, 0.0]]


def test_a_compressed_matrix_is_added_and_multiplied():
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    sparse, ones = x.to_sparse_csr(), torch.ones(2, 2)
    assert torch.equal(torch.add(sparse, ones, alpha=3), x + 3)
    found = torch.addmv(ones[0], sparse, ones[0], beta=2, alpha=3)
    assert found.tolist() == [8.0, 11.0]
    assert torch.equal(sparse.addmm(sparse, sparse).to_dense(), x + x @ x)


def test_an_op_without_a_pattern_is_refused_by_layout():
    x = torch.eye(2)
    with pytest.raises(NotImplementedError, match="SparseCPU"):
        x.to_sparse().cos()
    with pytest.raises(RuntimeError, match="unsupported tensor layout: SparseCsr"):
        x.to_sparse_csr().cos()
    with pytest.raises(RuntimeError, match="expand is unsupported for Sparse tensors"):
        x.to_sparse().expand(3, 2, 2)
