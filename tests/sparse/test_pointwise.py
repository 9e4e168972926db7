"""Pointwise ops on sparse tensors follow from their declarations: ops, no list of them.

For each op of the registry that keeps a pattern: on sparse operands it gives what it
gives on their dense forms, and gradients of values are those of dense elements.
"""

import numpy as np
import pytest

import pellucid as torch
from tests.sparse import kept
from tests.sparse.samples import assert_same, sparse

KEPT = kept.kept()


def overload(name):
    base, _, which = name.partition(".")
    return torch._C._overloads(base)[which or "default"]


def operands(name, is_gradient=False):
    """(sparse ones, dense ones) for the op's tensors."""
    count = sum(
        a.type in ("Tensor", "Tensor?") for a in kept.REGISTRY[name].schema.arguments
    )
    result = [sparse(seed * 10)[0].coalesce() for seed in range(count)]
    if is_gradient:
        result = [x.requires_grad_() for x in result]
    return result, [x.detach().to_dense() for x in result]


def first(result):
    return result[0] if isinstance(result, tuple) else result


def call(name, tensors):
    """The op in these tensors and default numbers."""
    inputs, left = {}, iter(tensors)
    for argument in kept.REGISTRY[name].schema.arguments:
        if argument.type in ("Tensor", "Tensor?"):
            inputs[argument.name] = next(left)
    return first(overload(name)(*list(inputs.values())))


def runs(name):
    """Whether tensors alone make a call of it that runs on dense tensors."""
    try:
        call(name, operands(name)[1])
    except (TypeError, NotImplementedError, RuntimeError):
        return False
    return True


# PyTorch refuses it too: where both have no element, 0 / 0 is a NaN.
REFUSED = {"div.Tensor"}
NAMES = [name for name in KEPT if name not in REFUSED and runs(name)]


def test_the_list_of_ops_that_keep_patterns_is_that_of_the_declarations():
    assert kept.TABLE.read_text().splitlines() == kept.lines()
    assert len(NAMES) > 80


@pytest.mark.parametrize("name", NAMES)
def test_an_op_on_sparse_operands_is_the_op_on_dense_ones(name):
    some, dense = operands(name)
    actual, wanted = call(name, some), call(name, dense)
    assert actual.layout is torch.sparse_coo
    actual = actual.to_dense()
    assert actual.dtype is wanted.dtype
    np.testing.assert_allclose(
        np.nan_to_num(actual.numpy()), np.nan_to_num(_masked(name, some, wanted)), 1e-5
    )


def _masked(name, some, wanted):
    """Elements where the operands that limit the pattern have none are 0."""
    limits = KEPT[name].split()
    if limits == ["all"]:
        return wanted.numpy()
    flags = np.ones(wanted.shape, bool)
    for k in limits:
        flags &= some[int(k)].to_dense().numpy() != 0
    return np.where(flags, wanted.numpy(), 0)


DIFFERENTIABLE = ("sin", "relu", "gelu", "silu", "mul.Tensor", "add.Tensor", "tanh")


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_the_dense_ones_at_the_pattern(name):
    some, dense = operands(name, is_gradient=True)
    dense = [x.requires_grad_() for x in dense]
    (call(name, some).to_dense() ** 2).sum().backward()
    (call(name, dense) ** 2).sum().backward()
    for x, y in zip(some, dense, strict=True):
        assert x.grad.layout is torch.sparse_coo and x.grad._nnz() == x._nnz()
        pattern = x.detach().to_dense().numpy() != 0
        assert_same(x.grad, np.where(pattern, y.grad.numpy(), 0))


@pytest.mark.parametrize("name", ["cos", "exp", "eq.Tensor", "sigmoid"])
def test_an_op_that_would_fill_the_background_is_refused(name):
    some, _ = (
        operands(name) if name in KEPT else ([sparse()[0]] * (1 + ("." in name)), 0)
    )
    with pytest.raises(NotImplementedError, match=rf"aten::{name}.*SparseCPU"):
        overload(name)(*some)


def test_a_number_decides_whether_a_pattern_is_kept():
    x = sparse()[0].coalesce()
    assert_same(x.clamp(-0.5, 0.5), x.to_dense().clamp(-0.5, 0.5).numpy())
    assert_same(x.pow(2), x.to_dense().pow(2).numpy())
    with pytest.raises(NotImplementedError, match="clamp"):
        x.clamp(min=0.5)
    with pytest.raises(NotImplementedError, match="pow"):
        x.pow(0)


def test_linear_ops_leave_duplicates_and_others_sum_them_first():
    x, whole = sparse()
    assert (x * 2)._nnz() == x._nnz() and not (x * 2).is_coalesced()
    assert_same(x * 2, whole * 2)
    assert x.square().is_coalesced()
    assert_same(x.square(), whole**2)


def test_dense_operands_are_read_at_the_pattern():
    x, whole = sparse()
    row = torch.arange(1.0, 6.0)
    assert_same(x * row, whole * row.numpy())
    assert_same(torch.ones(4, 5) + x, whole + 1)
    with pytest.raises(RuntimeError, match=r"Use add\(dense, sparse\)"):
        _ = x + torch.ones(4, 5)
    with pytest.raises(RuntimeError, match="scalar or zero-dim"):
        _ = x / torch.ones(4, 5)


def test_operands_of_other_sizes_or_densities_are_refused():
    x, _ = sparse()
    with pytest.raises(RuntimeError, match="expected sizes"):
        _ = x + torch.sparse_coo_tensor((3, 3))
    hybrid = torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 5), (4, 5))
    with pytest.raises(RuntimeError, match="same density"):
        _ = x + hybrid


def test_writes_in_place_change_the_tensor_and_its_aliases():
    x, whole = sparse()
    alias = x.detach()
    x.mul_(2).add_(x)
    assert_same(x, whole * 4)
    assert_same(alias, whole * 4)
    dense = torch.zeros(4, 5)
    dense.add_(alias, alpha=-1)
    assert_same(dense, whole * -4)
    leaf = sparse()[0].requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.mul_(2)
    assert x.zero_()._nnz() == 0
