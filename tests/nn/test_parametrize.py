"""Parametrized weights: weight_norm, spectral_norm, one's own; fused batch norms."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn.utils import fuse_conv_bn_eval, parametrize
from pellucid.nn.utils.parametrizations import spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return nn.Linear(3, 3)


def test_a_weight_becomes_a_function_of_its_original(layer):
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert torch.equal(layer.weight, layer.weight.T)
    assert type(layer).__name__ == "ParametrizedLinear"
    assert "parametrizations.weight.original" in layer.state_dict()
    layer(torch.ones(2, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    layer.weight = torch.eye(3)
    assert torch.equal(layer.weight, torch.eye(3))
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and torch.equal(layer.weight, torch.eye(3))
    assert isinstance(layer.weight, nn.Parameter)


def test_values_are_computed_once_inside_cached(layer):
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert layer.weight is not layer.weight
    with parametrize.cached():
        assert layer.weight is layer.weight


def test_weight_norm_keeps_the_weight_and_splits_it(layer):
    before = layer.weight.detach().clone()
    weight_norm(layer)
    assert torch.allclose(layer.weight, before)
    names = [n for n, _ in layer.named_parameters()]
    assert names == [
        "bias",
        "parametrizations.weight.original0",
        "parametrizations.weight.original1",
    ]
    assert layer.parametrizations.weight.original0.shape == (3, 1)


def test_spectral_norm_makes_the_greatest_singular_value_one(layer):
    spectral_norm(layer, n_power_iterations=30)
    weight = layer.weight.detach()
    vector = torch.ones(3)
    for _ in range(200):
        vector = weight.T @ (weight @ vector)
        vector = vector / vector.norm()
    assert (weight @ vector).norm().item() == pytest.approx(1.0, abs=1e-3)


def test_other_shapes_are_refused(layer):
    with pytest.raises(ValueError, match="unsafe=True"):
        parametrize.register_parametrization(layer, "weight", nn.Flatten(0))


def test_a_fused_batch_norm_changes_nothing():
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
    norm(torch.randn(4, 3, 5, 5))
    model = nn.Sequential(conv, norm).eval()
    x = torch.randn(2, 2, 6, 6)
    fused = fuse_conv_bn_eval(conv, norm)
    assert torch.allclose(fused(x), model(x), atol=1e-5)
