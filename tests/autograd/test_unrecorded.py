"""Results that no gradient is recorded for: the option ``unrecorded``."""

import pytest

import pellucid as torch


@pytest.mark.parametrize("name", ["logical_and_", "logical_or_", "logical_xor_"])
def test_logical_ops_write_into_leaves(name):
    x = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    other = torch.tensor([1.0, 1.0, 0.0])
    expected = getattr(torch, name[:-1])(x, other).float().tolist()
    assert getattr(x, name)(other) is x
    assert x.tolist() == expected
    assert x.requires_grad and x.is_leaf
    assert x.logical_not_().tolist() == [1 - e for e in expected]


def test_comparisons_do_not():
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.eq_(1)


def test_a_logical_op_leaves_the_history_of_what_it_writes():
    x = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    y = (x * 1).logical_and_(torch.tensor([1.0, 1.0, 0.0]))
    assert y.grad_fn.name() == "MulBackward0"
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1.0, 1.0, 1.0]


def test_statistics_of_native_layer_norm_have_no_gradient():
    x = torch.randn(2, 3, requires_grad=True)
    y, mean, rstd = torch.native_layer_norm(x, [3], None, None, 1e-5)
    assert y.requires_grad and not mean.requires_grad and not rstd.requires_grad
    (grad,) = torch.autograd.grad((y * torch.arange(3.0)).sum(), x)
    assert grad.abs().sum() > 0
    again = torch.native_layer_norm(x, [3], None, None, 1e-5)  # a repeated call
    assert [t.requires_grad for t in again] == [True, False, False]
