"""The numeric suite: weights, results and shadows of quantized models."""

import copy

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization
from pellucid.ao.ns import _numeric_suite as suite


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(16, 5)

    def forward(self, x):
        return self.dequant(self.fc(self.conv(self.quant(x)).flatten(1)))


@pytest.fixture
def models():
    torch.manual_seed(0)
    model, x = Network().eval(), torch.randn(2, 3, 4, 4)
    model.qconfig = quantization.get_default_qconfig("x86")
    prepared = quantization.prepare(model)
    prepared(x)
    return copy.deepcopy(model), quantization.convert(prepared), x


def test_weights_are_matched_by_name(models):
    model, quantized, _ = models
    found = suite.compare_weights(model.state_dict(), quantized.state_dict())
    assert sorted(found) == ["conv.weight", "fc._packed_params._packed_params"]
    assert found["conv.weight"]["float"] is not None
    for pair in found.values():
        error = (pair["quantized"].dequantize() - pair["float"]).abs().max()
        assert 0 < error < 0.01


def test_names_are_matched_by_their_parts():
    first, second = torch.zeros(2, 2), torch.ones(2, 2)
    own = {"11.weight": first, "1.1.weight": second}
    found = suite.compare_weights(own, {"1.1.weight": second})
    assert found["1.1.weight"]["float"] is second


def test_results_of_both_models_are_recorded(models):
    model, quantized, x = models
    expected = model.conv(x)
    found = suite.compare_model_outputs(model, quantized, x)
    assert sorted(found) == ["conv.stats", "fc.stats", "quant.stats"]
    (own,), (other,) = (found["conv.stats"][k] for k in ("float", "quantized"))
    assert torch.equal(own, expected) and other.is_quantized
    assert (other.dequantize() - own).abs().max() < 0.1


def test_an_accuracy_report_quantizes_the_inputs_of_quantized_layers(models):
    model, quantized, x = models
    report = quantization.accuracy_report(model, quantized, [x])
    assert [layer.name for layer in report.layers] == ["conv", "fc"]
    assert all(0 < layer.own < 0.05 for layer in report.layers)


def test_shadows_get_the_inputs_of_the_quantized_layers(models):
    model, quantized, x = models
    layers = copy.deepcopy(quantized)
    found = suite.compare_model_stub(model, quantized, {nn.Linear, nn.Conv2d}, x)
    assert sorted(found) == ["conv.stats", "fc.stats"]
    rows = layers.conv(layers.quant(x)).flatten(1)
    (own,), (other,) = (found["fc.stats"][k] for k in ("float", "quantized"))
    assert torch.allclose(own, model.fc(rows.dequantize()))
    assert torch.equal(other.dequantize(), layers.fc(rows).dequantize())
    assert type(quantized.fc) is suite.Shadow
