"""Linear resizing and uneven adaptive means against the matrices they multiply by."""

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F


def image(*shape):
    values = np.sin(np.arange(np.prod(shape), dtype="float64") * 1.7).reshape(shape)
    return torch.tensor(values)


def weights(n, m, align_corners):
    """The matrix that resizes ``n`` places to ``m``."""
    matrix = np.zeros((m, n))
    for i in range(m):
        if align_corners:
            place = i * (n - 1) / (m - 1) if m > 1 else 0.0
        else:
            place = max((i + 0.5) * n / m - 0.5, 0.0)
        low = min(int(place), n - 1)
        matrix[i, low] += 1 - (place - low)
        matrix[i, min(low + 1, n - 1)] += place - low
    return matrix


def means(n, m):
    """The matrix of the means over ``m`` windows of ``n`` places."""
    matrix = np.zeros((m, n))
    for i in range(m):
        start, end = i * n // m, -((i + 1) * n // -m)
        matrix[i, start:end] = 1 / (end - start)
    return matrix


def check(x, apply, rows, columns):
    """``apply`` is the two matrices, its gradient their transposes."""
    x.requires_grad_()
    y = apply(x)
    expected = np.einsum("ir,jc,bkrc->bkij", rows, columns, x.detach().numpy())
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=0, atol=1e-12)
    grad = image(*y.shape) + 0.25
    y.backward(grad)
    expected = np.einsum("ir,jc,bkij->bkrc", rows, columns, grad.numpy())
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(10, 37), (3, 37), (5, 4), (1, 1), (21, 40)])
def test_bilinear_resizing_is_linear_along_each_dim(size, align_corners):
    def apply(x):
        return F.interpolate(x, size=size, mode="bilinear", align_corners=align_corners)

    rows, columns = (
        weights(n, m, align_corners) for n, m in zip((10, 19), size, strict=True)
    )
    check(image(2, 3, 10, 19), apply, rows, columns)


def test_resizing_takes_images_of_any_layout():
    x = image(2, 10, 19, 3).permute(0, 3, 1, 2)
    resized = F.interpolate(x, size=(7, 30), mode="bilinear")
    again = F.interpolate(x.contiguous(), size=(7, 30), mode="bilinear")
    assert torch.equal(resized, again)
    assert F.interpolate(x[:0], size=(7, 30), mode="bilinear").shape == (0, 3, 7, 30)


@pytest.mark.parametrize("size", [(3, 7), (10, 4), (13, 25), (1, 19)])
def test_uneven_adaptive_means_weight_every_window_equally(size):
    rows, columns = (means(n, m) for n, m in zip((10, 19), size, strict=True))
    check(image(2, 3, 10, 19), lambda x: F.adaptive_avg_pool2d(x, size), rows, columns)


def test_images_of_bytes_stay_bytes():
    image = torch.arange(4, dtype=torch.uint8).reshape(1, 1, 2, 2)
    actual = F.interpolate(image, size=3, mode="bilinear")
    assert actual.dtype == torch.uint8
    assert actual[0, 0].tolist() == [[0, 1, 1], [1, 2, 2], [2, 3, 3]]
    with pytest.raises(NotImplementedError, match="float"):
        F.interpolate(image.int(), size=3, mode="bilinear")


def test_the_pooled_norm_of_infinite_order_is_the_greatest():
    x = torch.arange(16.0).reshape(1, 4, 4)
    assert F.lp_pool2d(x, float("inf"), 2)[0].tolist() == [[5, 7], [13, 15]]


def test_places_on_the_border_of_a_sampled_image_do_not_move():
    grid = torch.tensor([[[[-1.0, 0.0], [float("nan"), 0.5]]]], requires_grad=True)
    image_2d = torch.arange(6.0).reshape(1, 1, 2, 3)
    actual = F.grid_sample(image_2d, grid, padding_mode="border", align_corners=True)
    actual.sum().backward()
    assert actual.tolist() == [[[[1.5, 2.25]]]]
    assert grid.grad[0, 0, 0].tolist() == [0.0, 1.5]
    assert grid.grad[0, 0, 1, 0].item() == 0


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_gradients_of_sampled_images(mode, padding_mode):
    grid = (image(2, 3, 4, 2) * 1.3 + 0.07).requires_grad_()
    x = image(2, 3, 5, 6).requires_grad_()

    def sample(x, grid):
        return F.grid_sample(x, grid, mode, padding_mode, align_corners=False)

    assert torch.autograd.gradcheck(sample, (x, grid))


def test_elements_outside_a_sampled_image_are_not_read():
    x = torch.full((1, 2, 2, 2), float("inf"))
    grid = torch.tensor([[[[5.0, 5.0], [-9.0, 0.0]]]])
    for mode in ("bilinear", "nearest", "bicubic"):
        assert F.grid_sample(x, grid, mode, align_corners=False).abs().max() == 0


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize(
    ("size", "padding"),
    [(9, (2, 3)), (4, (3, 3)), (4, (1, 1)), (6, (-1, 2)), (7, (0, 0)), (2, (1, 1))],
)
def test_gradients_of_padding_add_what_was_read(mode, size, padding):
    """With and without elements that are read on both sides, and cropped."""
    x = torch.arange(float(size)).reshape(1, 1, size)
    places = F.pad(x, padding, mode=mode).long().flatten()
    rows = x.expand(3, 2, size).clone().requires_grad_()
    grad = image(3, 2, len(places)).float()
    F.pad(rows, padding, mode=mode).backward(grad)
    expected = torch.zeros(3, 2, size).index_add(2, places, grad)
    assert torch.allclose(rows.grad, expected, atol=1e-6)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_gradients_of_padded_images_and_volumes(mode):
    for x, padding in (
        (image(2, 5, 6), (1, 2, 0, 1)),
        (image(1, 4, 5, 6), (2, 1, 1, 1, 1, 2)),
    ):
        assert torch.autograd.gradcheck(
            lambda x, p=padding: F.pad(x, p, mode=mode), x.requires_grad_()
        )


def test_grids_without_align_corners_warn():
    theta = torch.eye(2, 3).unsqueeze(0)
    with pytest.warns(UserWarning, match="align_corners"):
        grid = F.affine_grid(theta, (1, 1, 4, 4))
    with pytest.warns(UserWarning, match="align_corners"):
        F.grid_sample(torch.ones(1, 1, 4, 4), grid)


def test_affine_grid_rounds_each_product():
    grid = F.affine_grid(torch.eye(2, 3).unsqueeze(0), (1, 1, 28, 28), False)
    line = torch.linspace(-1, 1, 28) * 27 / 28
    assert torch.equal(grid[0, 0, :, 0], line)
