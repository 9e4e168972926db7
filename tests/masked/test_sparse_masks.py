"""Masks of sparse tensors beside those of dense ones: reductions, masked tensors."""

import pytest

import pellucid as torch
from pellucid import masked

DATA = torch.tensor([[0.0, -2, 0, 3], [1, 0, 0, 0], [0, 0, 7, 0], [4, 5, -6, 0.0]])
MASK = torch.tensor([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1]]).bool()
LAYOUTS = {"coo": torch.sparse_coo, "csr": torch.sparse_csr}


def sparse(tensor, layout):
    return tensor.to_sparse(layout=LAYOUTS[layout])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean"])
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
@pytest.mark.parametrize("mask", ["same", "strided", "other"])
def test_reductions_are_those_of_dense_tensors(layout, name, dim, mask):
    other = {"coo": "csr", "csr": "coo"}[layout]
    given = {
        "same": sparse(MASK, layout),
        "strided": MASK,
        "other": sparse(MASK, other),
    }
    reduce = getattr(masked, name)
    found = reduce(sparse(DATA, layout), dim, keepdim=True, mask=given[mask])
    assert found.layout is LAYOUTS[layout]
    wanted = reduce(DATA, dim, keepdim=True, mask=MASK)
    present = MASK.sum(dim, keepdim=True) > 0
    stored = found.to_sparse_coo().coalesce()
    assert stored.values().shape[0] == int(present.sum())
    zero = torch.zeros(())
    assert torch.equal(found.to_dense(), wanted.where(present, zero))


def test_dense_parts_of_hybrids_are_masked_by_element():
    data = torch.stack([DATA, 2 * DATA], -1)
    mask = torch.stack([MASK, MASK.flip(0)], -1)
    for name in ("sum", "prod", "amax", "mean"):
        found = getattr(masked, name)(data.to_sparse(2), 0, mask=mask.to_sparse(2))
        wanted = getattr(masked, name)(data, 0, mask=mask)
        present = mask.any(0)
        assert torch.equal(found.to_dense()[present], wanted[present])


def test_a_mask_of_fewer_dims_is_broadcast():
    for mask in (MASK[3], MASK[3].to_sparse()):
        found = masked.sum(DATA.to_sparse(), 1, mask=mask)
        assert torch.equal(found.to_dense(), masked.sum(DATA, 1, mask=MASK[3]))


def test_a_dense_tensor_takes_a_sparse_mask_and_one_of_integers():
    wanted = masked.softmax(DATA, 1, mask=MASK)
    for mask in (MASK.to_sparse(), MASK.int()):
        found = masked.softmax(DATA, 1, mask=mask)
        assert torch.equal(found.nan_to_num(), wanted.nan_to_num())


def test_gradients_are_of_stored_elements_in_the_mask():
    x = DATA.to_sparse().requires_grad_()
    masked.sum(x * x, 0, mask=MASK.to_sparse()).to_dense().sum().backward()
    assert torch.equal(x.grad.to_dense(), 2 * DATA * MASK)


@pytest.mark.parametrize("name", ["norm", "var", "softmax", "cumsum", "argmax"])
def test_other_ops_refuse_sparse_tensors(name):
    order = (2,) if name == "norm" else ()
    with pytest.raises(ValueError, match="expects strided tensor"):
        getattr(masked, name)(DATA.to_sparse(), *order, 1, mask=MASK)


def test_a_reduction_of_a_sparse_tensor_but_sum_needs_a_mask():
    assert torch.equal(masked.sum(DATA.to_sparse(), 1).to_dense(), DATA.sum(1))
    with pytest.raises(ValueError, match="explicit mask for sparse_coo tensor input"):
        masked.amax(DATA.to_sparse(), 1)
    with pytest.raises(RuntimeError, match="keepdim=False is unsupported"):
        masked.amax(DATA.to_sparse_csr(), 1, mask=MASK)


def both(layout):
    """A sparse masked tensor, and the strided one with the same elements."""
    made = masked.masked_tensor(sparse(DATA, layout), sparse(MASK, layout))
    return made, masked.masked_tensor(DATA, MASK)


def assert_same(found, wanted):
    assert torch.equal(found.to_dense().get_mask(), wanted.get_mask())
    zeros = (each.to_tensor(0) for each in (found, wanted))
    assert torch.allclose(*zeros)


OPS = {
    "cos": lambda x: x.cos(),
    "both": lambda x: x * x + x,
    "number": lambda x: 2 - x,
    "compare": lambda x: (x > 0).double(),
    "plain operand": lambda x: x * DATA.exp(),
    "sparse operand": lambda x: x * (DATA.to_sparse() if x.is_sparse else DATA),
    "sum": lambda x: x.sum(),
    "std": lambda x: x.std(),
    "argmax": lambda x: x.argmax(),
    "rows": lambda x: x.sum(1, keepdim=True),
    "columns": lambda x: x.amax(0, keepdim=True),
    "means": lambda x: x.mean(1, keepdim=True),
    "in place": lambda x: x.mul_(3).cos_(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPS)
def test_an_op_on_stored_elements_is_that_on_present_ones(layout, name):
    found, wanted = map(OPS[name], both(layout))
    assert_same(found, wanted)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sparse_masked_tensor_shows_what_it_stores(layout):
    found, wanted = both(layout)
    assert repr(found) == repr(wanted)
    assert found.layout is LAYOUTS[layout] and found.is_sparse
    assert found.get_data().layout is found.get_mask().layout is LAYOUTS[layout]


def test_conversions_change_data_and_mask():
    strided = masked.masked_tensor(DATA, MASK)
    for name in ("to_sparse", "to_sparse_coo", "to_sparse_csr"):
        found = getattr(strided, name)()
        assert found.layout is getattr(MASK, name)().layout
        assert_same(found, strided)
        assert getattr(found, name)().layout is found.layout
    assert_same(strided.to_sparse_csr().to_sparse(), strided)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_have_the_layout_of_their_tensor(layout):
    x = masked.masked_tensor(sparse(DATA, layout), sparse(MASK, layout), True)
    (x * x).sum().backward()
    assert x.grad.layout is LAYOUTS[layout]
    assert torch.equal(x.grad.to_tensor(0), 2 * DATA * MASK)
    data = sparse(DATA, layout).requires_grad_()
    masked.as_masked_tensor(data, sparse(MASK, layout)).square().sum().backward()
    assert torch.equal(data.grad.to_dense(), 2 * DATA * MASK)


def test_layouts_and_patterns_of_data_and_mask_agree():
    with pytest.raises(TypeError, match="must have the same layout"):
        masked.masked_tensor(DATA.to_sparse(), MASK)
    with pytest.raises(TypeError, match="is not supported"):
        blocks = DATA.to_sparse_bsr((1, 1)), MASK.to_sparse_bsr((1, 1))
        masked.masked_tensor(*blocks)
    with pytest.raises(ValueError, match="do not have the same indices"):
        masked.masked_tensor(DATA.to_sparse(), (DATA != 0).flip(0).to_sparse())


def test_a_masked_tensor_given_to_a_masked_function_brings_its_mask():
    x = masked.masked_tensor(DATA, MASK)
    for name in ("mean", "logsumexp", "argmax"):
        wanted = getattr(masked, name)(DATA, 1, mask=MASK)
        found = getattr(masked, name)(x, 1)
        assert type(found) is torch.Tensor
        assert torch.equal(found.nan_to_num(), wanted.nan_to_num())
    within = masked.sum(x, 1, mask=MASK.flip(1))
    assert torch.equal(within, masked.sum(DATA, 1, mask=MASK & MASK.flip(1)))
