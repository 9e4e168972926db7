"""``Tensor.grad_dtype``: the dtype of a leaf's gradients."""

import pytest

import pellucid as torch


class Doubled(torch.autograd.Function):
    """Returns gradients of float64."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.double()


def leaf(dtype=None, *, given=False):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    if given:
        x.grad_dtype = dtype
    return x


def test_gradients_have_the_leafs_dtype_unless_another_is_given():
    assert leaf().grad_dtype is torch.float32
    x = leaf(torch.float16, given=True)
    for expected in (3.0, 6.0):
        (x * 3).sum().backward()
        assert x.grad.dtype is torch.float16 and x.grad.tolist() == [expected] * 2
    (grad,) = torch.autograd.grad((x * 3).sum(), x)
    assert grad.dtype is torch.float16
    assert x.grad_dtype is torch.float16 and x.detach().grad_dtype is torch.float32


def test_it_applies_to_graphs_recorded_before():
    x = leaf()
    y = x * 2
    assert y.grad_fn.next_functions[0][0] is not None
    x.grad_dtype = torch.float64
    y.sum().backward()
    assert x.grad.dtype is torch.float64


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, torch.float64),
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.bfloat16),
    ],
)
def test_none_keeps_the_dtype_of_incoming_gradients(given, expected):
    x = leaf(given, given=True)
    for count in (1, 2):
        Doubled.apply(x).sum().backward()
        assert x.grad.dtype is expected and x.grad.tolist() == [float(count)] * 2


def test_assigned_gradients_must_have_it():
    x = leaf(torch.float64, given=True)
    x.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"float32.*float64 \(grad_dtype\)"):
        x.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="there is a gradient of dtype float64"):
        x.grad_dtype = torch.float16
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=torch.float16)
    assert x.grad_dtype is None and x.grad.dtype is torch.float16


def test_only_leaves_have_it():
    y = leaf() * 2
    with pytest.raises(RuntimeError, match="of leaf tensors"):
        assert y.grad_dtype
    with pytest.raises(RuntimeError, match="on leaf tensors"):
        y.grad_dtype = torch.float64
    with pytest.raises(RuntimeError, match="a dtype or None, not int"):
        leaf().grad_dtype = 3
