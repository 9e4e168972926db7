"""Gradients at points without a derivative, and of NaN: PyTorch's choices."""

import math

import pytest

import pellucid as torch


def gradients(function, *values):
    inputs = [torch.tensor(v, dtype=torch.float64).requires_grad_() for v in values]
    return [g.tolist() for g in torch.autograd.grad(function(*inputs).sum(), inputs)]


def test_angles_at_the_origin_have_zero_gradients():
    actual = gradients(torch.atan2, [0.0, 3.0], [0.0, 4.0])
    assert actual == [[0.0, pytest.approx(0.16)], [0.0, pytest.approx(-0.12)]]
    z = torch.zeros(1, dtype=torch.complex128, requires_grad=True)
    (actual,) = torch.autograd.grad(z.angle().sum(), z)
    assert actual.tolist() == [0]


@pytest.mark.parametrize("function", [torch.maximum, torch.minimum])
def test_both_operands_have_the_gradient_of_nan(function):
    nan = math.nan
    first, second = gradients(function, [nan, 1.0, nan, 1.0], [1.0, nan, nan, 1.0])
    assert first == second == [1.0, 1.0, 1.0, 0.5]


@pytest.mark.parametrize("name", ["amax", "amin", "aminmax"])
def test_an_extremum_that_is_nan_makes_all_gradients_nan(name):
    def extremum(x):
        actual = getattr(torch, name)(x, dim=1)
        return actual.min + actual.max if name == "aminmax" else actual

    rows = [[2.0, 2.0, 1.0], [math.nan, 2.0, 1.0], [math.nan, math.nan, 1.0]]
    ((first, second, third),) = gradients(extremum, rows)
    assert sum(first) == (2.0 if name == "aminmax" else 1.0)
    assert all(map(math.isnan, second + third))


@pytest.mark.parametrize("name", ["max", "min"])
def test_nans_that_are_the_extremum_of_all_elements_share_its_gradient(name):
    function = getattr(torch, name)
    assert gradients(function, [math.nan, math.nan, 1.0]) == [[0.5, 0.5, 0.0]]
    assert gradients(function, [2.0, 2.0, 2.0, 2.0]) == [[0.25] * 4]


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_extrema_of_parts_make_the_gradients_of_their_part_nan(reduce):
    index = torch.tensor([0, 0, 1])
    own, source = gradients(
        lambda x, s: x.scatter_reduce(0, index, s, reduce),
        [math.nan, 1.0],
        [math.nan, 3.0, 1.0],
    )
    assert all(map(math.isnan, [own[0], *source[:2]]))
    assert own[1] == source[2] == 0.5


@pytest.mark.parametrize(
    "loss", [torch.nn.functional.smooth_l1_loss, torch.nn.functional.huber_loss]
)
def test_losses_with_a_bend_pass_nan_on(loss):
    nan = math.nan
    x, target = gradients(
        lambda x, t: loss(x, t, reduction="sum"), [nan, 0.5, 3.0], [0.0, nan, 0.0]
    )
    assert all(map(math.isnan, x[:2] + target[:2]))
    assert (x[2], target[2]) == (1.0, -1.0)


def test_a_hard_sigmoid_is_flat_at_nan():
    x = [math.nan, -3.0, 0.0, 3.0]
    actual = gradients(torch.nn.functional.hardsigmoid, x)
    assert actual == [[0.0, 0.0, pytest.approx(1 / 6), 0.0]]


def test_the_statistics_of_a_group_norm_have_gradients():
    x = torch.arange(12.0).reshape(1, 4, 3).sin().double().requires_grad_()
    y, mean, rstd = torch.native_group_norm(x, None, None, 1, 4, 3, 2, 0.5)
    (of_mean,) = torch.autograd.grad(mean.sum(), x, retain_graph=True)
    assert torch.allclose(of_mean, torch.full_like(x, 1 / 6))
    groups = x.reshape(2, 6)
    expected = (groups.var(1, correction=0) + 0.5).rsqrt()
    assert torch.allclose(rstd.flatten(), expected)
    total = (y * torch.arange(12.0).reshape(1, 4, 3)).sum() + rstd.sum()
    normal = (groups - groups.mean(1, keepdim=True)) * expected.unsqueeze(1)
    other = (normal.reshape(1, 4, 3) * torch.arange(12.0).reshape(1, 4, 3)).sum()
    (actual,) = torch.autograd.grad(total, x)
    (wanted,) = torch.autograd.grad(other + expected.sum(), x)
    assert torch.allclose(actual, wanted)


@pytest.mark.parametrize("order", [math.inf, -math.inf])
def test_the_norm_of_nan_by_the_extremum_has_gradient_zero(order):
    norm = torch.linalg.vector_norm
    for x in ([math.nan, 1.0, -2.0], [0.0, 0.0, 0.0]):
        assert gradients(lambda t: norm(t, order), x) == [[0.0, 0.0, 0.0]]
    ties = [-2.0, 2.0, 2.0, -2.0]
    expected = [[-0.25, 0.25, 0.25, -0.25]]
    assert gradients(lambda t: norm(t, order), ties) == expected
    rows = [[3.0, -4.0], [-4.0, 4.0]]
    actual = gradients(lambda t: norm(t, order, dim=1), rows)
    first = [0.0, -1.0] if order > 0 else [1.0, 0.0]
    assert actual == [[first, [-0.5, 0.5]]]
    z = torch.tensor([3 + 4j, 1j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: norm(t, order), z)


@pytest.mark.parametrize("order", [3, 4.5])
def test_the_second_derivative_of_a_norm_is_zero_where_elements_are(order):
    def slopes(x):
        norm = torch.linalg.vector_norm(x, order)
        return torch.autograd.grad(norm, x, create_graph=True)[0]

    assert gradients(slopes, [0.0, 0.0]) == [[0.0, 0.0]]
    ((first, *rest),) = gradients(slopes, [0.0, 1.0, 2.0])
    assert first == 0
    ((without),) = gradients(slopes, [1.0, 2.0])
    assert rest == pytest.approx(without)


@pytest.mark.parametrize("dims", [2, 3])
def test_the_gradient_of_a_grid_is_zeros_where_the_nearest_pixel_is_taken(dims):
    image = torch.arange(2.0**dims).reshape(1, 1, *[2] * dims).requires_grad_()
    grid = torch.zeros(1, *[3] * dims, dims, requires_grad=True)
    actual = torch.nn.functional.grid_sample(
        image, grid, mode="nearest", align_corners=False
    )
    to_image, to_grid = torch.autograd.grad(actual.sum(), [image, grid])
    assert to_image.sum() == 3**dims
    assert to_grid.shape == grid.shape and not to_grid.any()


def test_norms_of_order_0_have_no_gradient():
    x = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    norms = [torch.linalg.vector_norm(x, 0), x.norm(0), torch.linalg.norm(x.half(), 0)]
    assert all(norm.requires_grad for norm in norms)
    found = [torch.autograd.grad(n, x, allow_unused=True)[0] for n in norms]
    assert found == [None] * 3
    loss = torch.linalg.vector_norm(x, 0) + x.sum()
    assert torch.autograd.grad(loss, x)[0].tolist() == [1.0] * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64], ids=str)
@pytest.mark.parametrize(
    "select",
    [
        lambda keep, x: torch.where(keep, x, 0.0),
        lambda keep, x: x.masked_fill(~keep, 0),
        lambda keep, x: torch.masked.mean(x, 0, mask=keep, keepdim=True),
    ],
)
def test_a_branch_that_is_not_taken_gets_no_nan(select, dtype):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).to(dtype).requires_grad_()
    keep = torch.tensor([[True, False], [True, False]])
    y = select(keep, x)
    (grad,) = torch.autograd.grad(y, x, torch.full_like(y, math.nan))
    assert grad[:, 1].tolist() == [0, 0]
    assert grad[:, 0].isnan().all()
