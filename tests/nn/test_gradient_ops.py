"""PyTorch's gradient ops by name: each gives what autograd gives of its forward op.

Those that a kernel's declaration names are compared in tests/overrides/
test_watched_gradients.py, on the samples of the declaration.
"""

import pytest

import pellucid as torch

aten = torch.ops.aten
F = torch.nn.functional


def leaf(*shape):
    result = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(shape, dtype=torch.float64, generator=result).requires_grad_()


def of_channels(train):
    x, weight, bias = leaf(4, 3, 5), leaf(3), leaf(3)
    running = torch.ones(3).double() * 0.3, torch.ones(3).double() * 1.7
    arguments = x, weight, bias, *(t.clone() for t in running), train, 0.1, 1e-5
    y, mean, rstd = torch.native_batch_norm(*arguments)
    return (y, [x, weight, bias]), lambda grad: aten.native_batch_norm_backward(
        grad, x, weight, *running, mean, rstd, train, 1e-5, [True] * 3
    )


def of_groups():
    x, weight, bias = leaf(2, 6, 4), leaf(6), leaf(6)
    y, mean, rstd = torch.native_group_norm(x, weight, bias, 2, 6, 4, 3, 1e-5)
    return (y, [x, weight, bias]), lambda grad: aten.native_group_norm_backward(
        grad, x, mean, rstd, weight, 2, 6, 4, 3, [True] * 3
    )


def of_layers():
    x, weight, bias = leaf(2, 3, 4), leaf(3, 4), leaf(3, 4)
    y, mean, rstd = torch.native_layer_norm(x, [3, 4], weight, bias, 1e-5)
    return (y, [x, weight, bias]), lambda grad: aten.native_layer_norm_backward(
        grad, x, [3, 4], mean, rstd, weight, bias, [True] * 3
    )


def of_margins(reduction):
    x, target = leaf(4, 3), torch.tensor([0, 2, 1, 1])
    y = aten.multi_margin_loss(x, target, 2, 0.5, None, reduction)
    return (y, [x]), lambda grad: aten.multi_margin_loss_backward(
        grad, x, target, 2, 0.5, None, reduction
    )


def of_labels():
    x, target = leaf(2, 4), torch.tensor([[3, 0, -1, 1], [1, -1, -1, -1]])
    y, is_target = aten.multilabel_margin_loss_forward(x, target, 1)
    return (y, [x]), lambda grad: aten.multilabel_margin_loss_backward(
        grad, x, target, 1, is_target
    )


def of_samples(dims, mode):
    x, grid = leaf(2, 3, *[4] * dims), leaf(2, *[3] * dims, dims)
    op = getattr(aten, f"grid_sampler_{dims}d")
    backward = getattr(aten, f"grid_sampler_{dims}d_backward")
    form = mode, 1, False
    return (op(x, grid, *form), [x, grid]), lambda grad: backward(
        grad, x, grid, *form, [True, True]
    )


def of_fractions():
    x, samples = leaf(2, 3, 6, 6), torch.rand(2, 3, 2, dtype=torch.float64)
    y, indices = aten.fractional_max_pool2d(x, [2, 2], [3, 3], samples)
    return (y, [x]), lambda grad: aten.fractional_max_pool2d_backward(
        grad, x, [2, 2], [3, 3], indices
    )


def of_convolution():
    x, weight, bias = leaf(2, 4, 7), leaf(6, 2, 3), leaf(6)
    form = [2], [1], [1], False, [0], 2
    y = aten.convolution(x, weight, bias, *form)
    return (y, [x, weight, bias]), lambda grad: aten.convolution_backward(
        grad, x, weight, [6], *form, [True] * 3
    )


def of_moves(name):
    x, index = leaf(4, 3), torch.tensor([[0, 2, 1], [3, 3, 0]])
    mask = x.detach() > 0
    forms = {
        "gather": (x.gather(0, index), (x, 0, index, False)),
        "index_select": (x.index_select(0, index[0]), ([4, 3], 0, index[0])),
        "masked_select": (x.masked_select(mask), (x, mask)),
        "trace": (x.trace(), ([4, 3],)),
    }
    y, rest = forms[name]
    backward = getattr(aten, f"{name}_backward")
    return (y, [x]), lambda grad: backward(grad, *rest)


CASES = {
    "batch_norm": lambda: of_channels(True),
    "batch_norm_eval": lambda: of_channels(False),
    "group_norm": of_groups,
    "layer_norm": of_layers,
    **{f"multi_margin_{r}": lambda r=r: of_margins(r) for r in range(3)},
    "multilabel_margin": of_labels,
    "grid_2d": lambda: of_samples(2, 0),
    "grid_2d_cubic": lambda: of_samples(2, 2),
    "grid_3d": lambda: of_samples(3, 0),
    "fractional_pool": of_fractions,
    "convolution": of_convolution,
    **{
        name: lambda name=name: of_moves(name)
        for name in ("gather", "index_select", "masked_select", "trace")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_autograd_gives(name):
    (y, leaves), backward = CASES[name]()
    grad = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).view(y.shape)
    wanted = torch.autograd.grad(y, leaves, grad)
    actual = backward(grad)
    actual = [actual] if isinstance(actual, torch.Tensor) else actual
    for f, w in zip(actual, wanted, strict=True):
        torch.testing.assert_close(f, w)


def test_the_out_form_writes_the_same():
    x, grad = torch.randn(5), torch.randn(5)
    out = torch.empty(0)
    aten.gelu_backward.grad_input(grad, x, approximate="none", grad_input=out)
    assert out.tolist() == aten.gelu_backward(grad, x).tolist()
