"""Fake quantization: what numbers become, and where gradients pass."""

import numpy
import pytest

import pellucid as torch

X = numpy.random.default_rng(2).standard_normal((4, 5)).astype("float32") * 3


def rounded(x, scale, zero_point, least, most):
    places = numpy.rint(x * numpy.float32(1 / numpy.float32(scale))) + zero_point
    inside = (places >= least) & (places <= most)
    held = numpy.clip(places, least, most) - zero_point
    return held.astype("float32") * numpy.float32(scale), inside


def test_the_gradient_passes_within_the_bounds():
    x = torch.tensor(X, requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.05, 10, 0, 127)
    y.sum().backward()
    wanted, inside = rounded(X, 0.05, 10, 0, 127)
    assert numpy.array_equal(y.detach().numpy(), wanted)
    assert numpy.array_equal(x.grad.numpy(), inside.astype("float32"))


def test_channels_have_their_own_scales():
    scales = [0.02, 0.05, 0.1, 0.2]
    points = torch.arange(4, dtype=torch.int32)
    y = torch.fake_quantize_per_channel_affine(
        torch.tensor(X), torch.tensor(scales), points, 0, -20, 20
    )
    rows = [
        rounded(row, s, k, -20, 20)[0]
        for k, (row, s) in enumerate(zip(X, scales, strict=True))
    ]
    assert numpy.array_equal(y.numpy(), numpy.stack(rows))


def test_learned_scales_get_their_gradients():
    x, scale = torch.tensor(X), torch.tensor([0.05], requires_grad=True)
    zero_point = torch.tensor([3.0], requires_grad=True)
    y = torch._fake_quantize_learnable_per_tensor_affine(
        x, scale, zero_point, -30, 30, 0.5
    )
    y.sum().backward()
    wanted, inside = rounded(X, 0.05, 3, -30, 30)
    held = numpy.where(inside, (wanted - X) / 0.05, wanted / 0.05)
    assert scale.grad.item() == pytest.approx(held.sum() * 0.5, rel=1e-5)
    assert zero_point.grad.item() == pytest.approx(-0.025 * (~inside).sum(), rel=1e-5)


def test_the_fused_form_follows_the_range():
    low, high = torch.tensor([float("inf")]), torch.tensor([float("-inf")])
    scale, point = torch.ones(1), torch.zeros(1, dtype=torch.int32)
    on = torch.tensor([1])
    for k in (1, 2):
        torch.fused_moving_avg_obs_fake_quant(
            *(torch.tensor(X * k), on, on, low, high, scale, point),
            *(0.25, 0, 255, 0, False, False),
        )
    assert low.item() == pytest.approx(1.25 * X.min(), rel=1e-6)
    assert high.item() == pytest.approx(1.25 * X.max(), rel=1e-6)
    assert scale.item() == pytest.approx(1.25 * (X.max() - X.min()) / 255, rel=1e-5)


def test_bounds_that_hold_nothing_are_refused():
    with pytest.raises(RuntimeError, match="quant_min"):
        torch.fake_quantize_per_tensor_affine(torch.tensor(X), 0.1, 0, 5, 3)
    with pytest.raises(RuntimeError, match="zero_point"):
        torch.fake_quantize_per_tensor_affine(torch.tensor(X), 0.1, 300, 0, 255)
