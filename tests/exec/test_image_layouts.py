"""Channels-last images: the same numbers, in the operand's layout."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F


def numbers(*shape, dtype=torch.float32):
    """Elements that are neither equal nor ordered."""
    count = torch.Size(shape).numel()
    return torch.arange(count).sin().reshape(shape).to(dtype)


OPS = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d, overlapping": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool2d with indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 5),
    "adaptive_avg_pool2d of all": lambda x: F.adaptive_avg_pool2d(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "avg_pool2d, overlapping": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "adaptive_avg_pool2d, uneven": lambda x: F.adaptive_avg_pool2d(x, 3),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "interpolate to fewer": lambda x: F.interpolate(x, size=5, mode="bilinear"),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest to fewer": lambda x: F.interpolate(x, size=5),
    "bicubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "group_norm": lambda x: F.group_norm(x, 4),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 7 if x.shape[-1] == 7 else 2),
    "pad": lambda x: F.pad(x, (1, 2, 3, 0)),
    "pad, reflect": lambda x: F.pad(x, (1, 2, 3, 1), mode="reflect"),
    "pad, replicate": lambda x: F.pad(x, (1, 2, 3, 1), mode="replicate"),
    "conv2d": lambda x: F.conv2d(x, torch.ones(6, 8, 3, 3), padding=1),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, numbers(8, 9, 3, 3), stride=2),
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
    for inputs in (cotangent.contiguous(memory_format=torch.channels_last), cotangent):
        actual = result_and_gradient(OPS[name], last, inputs)
        for have, expected in zip(actual, want, strict=True):
            assert torch.allclose(have, expected, atol=1e-5)
        assert actual[0].is_contiguous(memory_format=torch.channels_last)


POOLED = [name for name in OPS if "pool" in name or "interp" in name]


@pytest.mark.parametrize("channels", [9, 31, 40, 64, 130])  # full and partial vectors
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", POOLED)
def test_any_number_of_channels(name, dtype, channels):
    images = numbers(2, channels, 9, 12, dtype=dtype)
    last = images.contiguous(memory_format=torch.channels_last)
    bound = 0.02 if dtype == torch.bfloat16 else 1e-6
    assert torch.allclose(OPS[name](last), OPS[name](images), atol=bound)


@pytest.mark.parametrize("name", ["batch_norm", "max_pool2d", "conv2d"])
def test_gradients_with_the_channels_last(name):
    images = torch.randn(3, 8, 24, 24).contiguous(memory_format=torch.channels_last)
    cotangent = torch.randn_like(OPS[name](images))
    _, grad = result_and_gradient(OPS[name], images, cotangent)
    assert grad.is_contiguous(memory_format=torch.channels_last)


def test_volumes_with_the_channels_last():
    images = torch.randn(2, 4, 6, 6, 6)
    last = images.contiguous(memory_format=torch.channels_last_3d)
    actual = F.batch_norm(last, None, None, training=True)
    assert actual.is_contiguous(memory_format=torch.channels_last_3d)
    expected = F.batch_norm(images, None, None, training=True)
    assert torch.allclose(actual, expected, atol=1e-5)


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


# channels in, channels out, size of images, kernel, and options
CONVOLUTIONS = {
    "3x3": (16, 32, 12, (3, 3), {"padding": 1}),
    "3x3, nothing around": (16, 32, 12, (3, 3), {}),
    "3x3, around one dim": (16, 24, 12, (3, 3), {"padding": (0, 1)}),
    "3x3 by 2": (16, 24, 13, (3, 3), {"padding": 1, "stride": 2}),
    "3x3, dilated": (16, 24, 14, (3, 3), {"padding": 2, "dilation": 2}),
    "2x2 by 2": (32, 64, 16, (2, 2), {"stride": 2}),
    "1x1": (24, 40, 9, (1, 1), {}),
    "1x1 by 2": (24, 40, 9, (1, 1), {"stride": 2}),
    "5x2, uneven": (13, 17, 11, (5, 2), {"padding": (2, 0), "stride": (1, 2)}),
    "few channels": (3, 64, 31, (7, 7), {"padding": 3, "stride": 2}),
    "to few channels": (32, 3, 12, (3, 3), {"padding": 1}),
    "many channels": (160, 48, 7, (3, 3), {"padding": 1}),
    "groups": (32, 48, 10, (3, 3), {"padding": 1, "groups": 2}),
    "small groups": (32, 32, 10, (3, 3), {"padding": 1, "groups": 16}),
    "depthwise": (40, 40, 15, (3, 3), {"padding": 1, "groups": 40}),
    "depthwise by 2": (40, 40, 15, (3, 3), {"padding": 1, "stride": 2, "groups": 40}),
    "depthwise, twice": (24, 48, 10, (5, 5), {"padding": 2, "groups": 24}),
    "narrow images": (16, 16, (40, 2), (3, 1), {"padding": (1, 0)}),
}


def convolved(images, weight, cotangent, options):
    """The convolution and its gradients."""
    images, weight = images.detach(), weight.detach()
    images.requires_grad_()
    weight.requires_grad_()
    y = F.conv2d(images, weight, **options)
    return y.detach(), *torch.autograd.grad(y, (images, weight), cotangent)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, dtype):
    channels, outputs, size, kernel, options = CONVOLUTIONS[name]
    size = size if isinstance(size, tuple) else (size, size)
    images = numbers(5, channels, *size, dtype=dtype)
    weight = numbers(
        outputs, channels // options.get("groups", 1), *kernel, dtype=dtype
    )
    y = F.conv2d(images, weight, **options)
    cotangent = numbers(*y.shape, dtype=dtype).flip(0)
    want = convolved(images, weight, cotangent, options)
    last = {"memory_format": torch.channels_last}
    for w in (weight, weight.contiguous(**last)):
        actual = convolved(
            images.contiguous(**last), w, cotangent.contiguous(**last), options
        )
        for have, expected in zip(actual, want, strict=True):
            bound = 0.02 if dtype == torch.bfloat16 else 1e-5
            scale = expected.abs().max().item()
            assert (have - expected).abs().max().item() <= bound * scale
        assert actual[0].is_contiguous(**last)
        assert actual[1].is_contiguous(**last)


@pytest.mark.parametrize("name", ["3x3", "3x3 by 2", "depthwise", "many channels"])
def test_threads_do_not_change_bits(name):
    channels, outputs, size, kernel, options = CONVOLUTIONS[name]
    last = {"memory_format": torch.channels_last}
    images = numbers(9, channels, 2 * size, 2 * size).contiguous(**last)
    weight = numbers(outputs, channels // options.get("groups", 1), *kernel)
    cotangent = torch.ones_like(F.conv2d(images, weight, **options))
    threads, actual = torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            actual.append(convolved(images, weight, cotangent, options))
    finally:
        torch.set_num_threads(threads)
    for other in actual[1:]:
        for a, b in zip(actual[0], other, strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64])
def test_pooling_in_other_dtypes(dtype):
    images = (100 * numbers(2, 19, 12, 9)).to(dtype)
    last = images.contiguous(memory_format=torch.channels_last)
    for actual, want in (
        (F.max_pool2d(last, 3, 2, 1), F.max_pool2d(images, 3, 2, 1)),
        (F.avg_pool2d(last, 2), F.avg_pool2d(images, 2)),
    ):
        assert torch.equal(actual, want)


def test_volumes_of_windows_with_the_channels_last():
    images = numbers(2, 16, 6, 7, 5)
    last = images.contiguous(memory_format=torch.channels_last_3d)
    weight = numbers(24, 16, 3, 3, 3)
    for op in (
        lambda x: F.conv3d(x, weight, padding=1),
        lambda x: F.max_pool3d(x, 3, 2, 1),
        lambda x: F.avg_pool3d(x, 2),
    ):
        actual = op(last)
        assert actual.is_contiguous(memory_format=torch.channels_last_3d)
        assert torch.allclose(actual, op(images), atol=1e-4)


def test_losses_of_elements_have_their_inputs_strides():
    images = numbers(2, 8, 5, 4).contiguous(memory_format=torch.channels_last)
    target = images.cos()
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div):
        assert loss(images, target, reduction="none").stride() == images.stride()


def test_places_of_the_greatest_elements():
    images = numbers(2, 11, 9, 8)
    last = images.contiguous(memory_format=torch.channels_last)
    for pool in (F.max_pool2d, F.adaptive_max_pool2d):
        actual, want = (pool(x, 3, return_indices=True)[1] for x in (last, images))
        assert torch.equal(actual, want)
        assert actual.is_contiguous(memory_format=torch.channels_last)
