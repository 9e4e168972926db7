"""What prepares a model: observers, fake quantizers, qconfigs, fused layers."""

import numpy
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization

X = numpy.random.default_rng(3).standard_normal((8, 6)).astype("float32")


def test_an_observer_gives_the_scale_of_its_range():
    observer = quantization.MinMaxObserver()
    for k in (1, 2):
        observer(torch.tensor(X * k))
    scale, zero_point = observer.calculate_qparams()
    assert scale.item() == pytest.approx(2 * (X.max() - X.min()) / 255, rel=1e-6)
    assert zero_point.item() == round(-2 * X.min() / scale.item())


def test_channels_have_symmetric_scales():
    observer = quantization.default_per_channel_weight_observer()
    observer(torch.tensor(X))
    scales, zero_points = observer.calculate_qparams()
    wanted = abs(X).max(1) / numpy.float32(127.5)
    assert numpy.allclose(scales.numpy(), wanted, rtol=1e-6)
    assert zero_points.tolist() == [0] * 8


def test_a_moving_average_follows():
    observer = quantization.MovingAverageMinMaxObserver(averaging_constant=0.5)
    for k in (1, 3):
        observer(torch.tensor(X * k))
    assert observer.max_val.item() == pytest.approx(2 * X.max(), rel=1e-6)


def test_the_histogram_searches_its_range():
    observer = quantization.HistogramObserver(quant_min=0, quant_max=7)
    spread = torch.tensor(numpy.random.default_rng(4).standard_normal(20000)).float()
    observer(spread)
    scale, _ = observer.calculate_qparams()
    assert scale.item() < (spread.max() - spread.min()).item() / 7 + 1e-6
    observer(spread[:1000] * 3)
    assert observer.histogram.sum().item() == pytest.approx(21000)
    assert observer.max_val.item() == pytest.approx((spread[:1000] * 3).max().item())


def test_reduced_ranges_leave_one_bit():
    qconfig = quantization.get_default_qconfig("x86")
    assert qconfig.activation().quant_max == 127
    assert quantization.get_default_qconfig("onednn").activation().quant_max == 255
    assert quantization.get_default_qat_qconfig("x86").activation().quant_max == 127
    with pytest.raises(AssertionError, match="not supported"):
        quantization.get_default_qconfig("tpu")
    with pytest.raises(ValueError, match="instance"):
        quantization.QConfig(quantization.MinMaxObserver(), None)


@pytest.mark.parametrize("kind", ["FakeQuantize", "FusedMovingAvgObsFakeQuantize"])
def test_fake_quantizers_round_and_stop(kind):
    fake = getattr(quantization, kind)()
    x = torch.tensor(X)
    rounded = fake(x)
    assert 0 < (rounded - x).abs().max().item() <= fake.scale.item() * 0.501
    assert torch.equal((rounded / fake.scale).round() * fake.scale, rounded)
    fake.apply(quantization.disable_observer)
    fake.apply(quantization.disable_fake_quant)
    scale = fake.scale.clone()
    assert torch.equal(fake(x * 5), x * 5) and torch.equal(fake.scale, scale)


def model():
    torch.manual_seed(0)
    layers = (nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten())
    return nn.Sequential(*layers, nn.Linear(12, 4), nn.ReLU())


def test_fused_layers_compute_the_same():
    plain = model()
    plain[1].running_mean.uniform_(-1, 1)
    plain.eval()
    fused = quantization.fuse_modules(plain, [["0", "1", "2"], ["4", "5"]])
    names = [type(layer).__name__ for layer in fused]
    assert names == [
        "ConvReLU2d",
        *["Identity"] * 2,
        "Flatten",
        "LinearReLU",
        "Identity",
    ]
    x = torch.randn(5, 2, 4, 4)
    assert torch.allclose(fused(x), plain(x), atol=1e-5)
    training = quantization.fuse_modules_qat(plain.train(), ["0", "1", "2"])
    assert type(training[0]).__name__ == "ConvBnReLU2d" and len(training[0]) == 3
    with pytest.raises(NotImplementedError, match="Cannot fuse"):
        quantization.fuse_modules(model().eval(), ["2", "3"])
