"""Values that a declaration saves for its gradient: statistics of rows, indices of the
greatest elements. They exist only for the gradient and are not visible to other ops.
"""

import pytest

import pellucid as torch
from pellucid.autograd import gradcheck, gradgradcheck
from pellucid.nn import functional as F
from pellucid.utils._python_dispatch import TorchDispatchMode


def _double(*shape):
    torch.manual_seed(len(shape))
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


NORMS = {
    "layer norm": (
        lambda x, w, b: F.layer_norm(x, (6,), w, b),
        lambda: (_double(4, 6), _double(6), _double(6)),
    ),
    "layer norm over all dims": (
        lambda x, w: F.layer_norm(x, (2, 3), w),
        lambda: (_double(2, 3), _double(2, 3)),
    ),
    "group norm": (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        lambda: (_double(2, 4, 3), _double(4), _double(4)),
    ),
    "instance norm": (
        lambda x: F.instance_norm(x),
        lambda: (_double(2, 3, 5),),
    ),
}


@pytest.mark.parametrize("name", NORMS)
def test_derivatives_of_first_and_second_order(name):
    function, arguments = NORMS[name]
    inputs = arguments()
    assert gradcheck(function, inputs, check_forward_ad=True)
    assert gradgradcheck(function, inputs)


@pytest.mark.parametrize("frozen", range(3))
def test_derivatives_of_some_arguments(frozen):
    inputs = [_double(4, 6), _double(6), _double(6)]
    inputs[frozen].requires_grad_(False)
    function = NORMS["layer norm"][0]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_statistics_of_half_precision_are_not_rounded():
    torch.manual_seed(0)
    x = (torch.randn(16, 64) + 100).bfloat16().requires_grad_()
    slope = torch.randn(16, 64).bfloat16()
    (actual,) = torch.autograd.grad(F.layer_norm(x, (64,)), x, slope)
    wide = x.detach().float().requires_grad_()
    (expected,) = torch.autograd.grad(F.layer_norm(wide, (64,)), wide, slope.float())
    torch.testing.assert_close(actual.float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("shape", [(2, 3, 9, 7), (3, 8, 9)])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": (2, 3), "stride": (3, 2), "ceil_mode": True},
        {"kernel_size": 2, "stride": 1, "dilation": (1, 2)},
        {"kernel_size": 2, "stride": (1, 3), "padding": 1},
    ],
)
def test_pooling_goes_to_the_place_that_indices_name(shape, options):
    torch.manual_seed(0)
    x = torch.randint(0, 5, shape).float().requires_grad_()
    y, indices = F.max_pool2d(x, return_indices=True, **options)
    slope = torch.randn(y.shape)
    (actual,) = torch.autograd.grad(F.max_pool2d(x, **options), x, slope)
    expected = torch.zeros(*shape[:-2], shape[-2] * shape[-1])
    expected.scatter_add_(-1, indices.flatten(-2), slope.flatten(-2))
    torch.testing.assert_close(actual.flatten(-2), expected)


def test_pooling_does_not_save_the_image():
    x = torch.randn(2, 3, 4, 4, requires_grad=True)
    image = x * 1
    y = F.max_pool2d(image, 2)
    (before,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    image.zero_()
    (after,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(before, after)


def test_hooks_on_saved_tensors_see_what_is_saved():
    seen = []

    def pack(tensor):
        seen.append((tensor.dtype, tuple(tensor.shape)))
        return tensor

    x = torch.randn(5, 8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = F.layer_norm(x, (8,))
    assert seen.count((torch.float32, (5, 1))) == 2
    (actual,) = torch.autograd.grad(y, x, torch.ones(5, 8))
    assert actual.abs().max() < 1e-5


def test_dispatch_modes_do_not_see_what_runs_in_place_of_the_op():
    names = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(func.name())
            return func(*args, **(kwargs or {}))

    x = torch.randn(5, 8, requires_grad=True)
    with Names():
        y = F.layer_norm(x, (8,))
    assert [n for n in names if n != "aten::detach"] == ["aten::native_layer_norm"]
    y.sum().backward()


def test_transforms_of_gradients():
    x = torch.randn(4, 5, 8)

    def loss(row):
        return F.layer_norm(row, (8,)).pow(3).sum()

    actual = torch.func.vmap(torch.func.grad(loss))(x)
    expected = torch.stack([torch.func.grad(loss)(row) for row in x])
    torch.testing.assert_close(actual, expected)
