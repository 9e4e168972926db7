"""Images with the channels last: the same numbers, laid out as the operand is."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F

OPS = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d, overlapping": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool2d with indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 5),
    "adaptive_avg_pool2d of all": lambda x: F.adaptive_avg_pool2d(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "conv2d": lambda x: F.conv2d(x, torch.ones(6, 8, 3, 3), padding=1),
}


def result_and_gradient(op, images, cotangent):
    images = images.detach().requires_grad_()
    y = op(images)
    (grad,) = torch.autograd.grad(y, images, cotangent)
    return y.detach(), grad


@pytest.mark.parametrize("size", [7, 24])  # small, and worth a copy
@pytest.mark.parametrize("name", OPS)
def test_channels_last(name, size):
    torch.manual_seed(0)
    images = torch.randn(3, 8, size, size)
    cotangent = torch.randn(OPS[name](images).shape)
    want = result_and_gradient(OPS[name], images, cotangent)
    last = images.contiguous(memory_format=torch.channels_last)
    for given in (cotangent.contiguous(memory_format=torch.channels_last), cotangent):
        found = result_and_gradient(OPS[name], last, given)
        for have, expected in zip(found, want, strict=True):
            assert torch.allclose(have, expected, atol=1e-5)
        assert found[0].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", ["batch_norm", "max_pool2d", "conv2d"])
def test_gradients_with_the_channels_last(name):
    images = torch.randn(3, 8, 24, 24).contiguous(memory_format=torch.channels_last)
    cotangent = torch.randn_like(OPS[name](images))
    _, grad = result_and_gradient(OPS[name], images, cotangent)
    assert grad.is_contiguous(memory_format=torch.channels_last)


def test_volumes_with_the_channels_last():
    images = torch.randn(2, 4, 6, 6, 6)
    last = images.contiguous(memory_format=torch.channels_last_3d)
    found = F.batch_norm(last, None, None, training=True)
    assert found.is_contiguous(memory_format=torch.channels_last_3d)
    expected = F.batch_norm(images, None, None, training=True)
    assert torch.allclose(found, expected, atol=1e-5)


def test_modules_change_the_layout_of_images_only():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    module.to(memory_format=torch.channels_last)
    weight, bias = module[0].weight, module[0].bias
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert bias.is_contiguous()
    count = module[1].num_batches_tracked
    assert count.dtype == torch.int64


def test_gradient_of_the_mean_of_images():
    images = torch.randn(2, 3, 5, 4, requires_grad=True)
    F.adaptive_avg_pool2d(images, 1).sum().backward()
    assert torch.equal(images.grad, torch.full((2, 3, 5, 4), 1 / 20))
    assert images.grad.is_contiguous()
