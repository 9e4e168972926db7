"""LSTMs and attention that are quantized layer by layer; learned scales; biases."""

import copy
import warnings

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization
from pellucid.ao.nn import qat, quantizable, quantized
from pellucid.ao.quantization._correct_bias import bias_correction
from pellucid.ao.quantization._learnable_fake_quantize import _LearnableFakeQuantize


class Around(nn.Module):
    """A layer between stubs."""

    def __init__(self, layer):
        super().__init__()
        self.quant, self.layer = quantization.QuantStub(), layer
        self.dequant = quantization.DeQuantStub()

    def forward(self, x, **given):
        x = self.quant(x)
        is_attention = isinstance(self.layer, nn.MultiheadAttention)
        return self.dequant(self.layer(*(x,) * (3 if is_attention else 1), **given)[0])


def converted(layer, x, **given):
    """(float, observed, converted) models and the float model's result for ``x``."""
    model = Around(layer).eval()
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    expected = model(x, **given)
    observed = quantization.prepare(model)
    assert torch.allclose(observed(x, **given), expected, atol=1e-5)
    return observed, quantization.convert(observed), expected


@pytest.mark.parametrize(
    "options",
    [{}, {"bidirectional": True, "batch_first": True}, {"bias": False}],
    ids=str,
)
def test_an_lstm_is_observed_and_converted_layer_by_layer(options):
    torch.manual_seed(0)
    x = torch.randn(4, 3, 6)
    observed, made, expected = converted(nn.LSTM(6, 5, 2, **options), x)
    assert type(observed.layer) is quantizable.LSTM
    assert type(made.layer) is quantized.LSTM
    gates = made.layer.layers[1].layer_fw.cell.igates
    assert type(gates) is quantized.Linear
    assert (made(x) - expected).abs().max() < 0.15
    again = quantization.convert(copy.deepcopy(observed))
    again.load_state_dict(made.state_dict())
    assert torch.equal(again(x), made(x))


def test_a_cell_with_gates_apart_computes_the_same():
    torch.manual_seed(1)
    cell = nn.LSTMCell(3, 4)
    cell.qconfig = quantization.default_qconfig
    x, states = torch.randn(2, 3), (torch.randn(2, 4), torch.randn(2, 4))
    for split in (False, True):
        made = quantizable.LSTMCell.from_float(cell, split_gates=split)
        for got, expected in zip(made(x, states), cell(x, states), strict=True):
            assert torch.allclose(got, expected, atol=1e-6)
    for dropout, words in ((2, "probability"), ("a", "convert")):
        with pytest.raises(ValueError, match=words):
            quantizable.LSTM(2, 2, dropout=dropout)
    with pytest.warns(UserWarning, match="dropout"):
        quantizable.LSTM(2, 2, 2, dropout=0.5)


def test_layers_of_float_ones_are_observed_at_once():
    x = torch.randn(4, 3, 6)
    layer = nn.LSTM(6, 5)
    layer.qconfig = quantization.get_default_qat_qconfig("fbgemm")
    observed = quantizable.LSTM.from_float(layer)
    cell = observed.layers[0].layer_fw.cell
    assert type(cell.igates) is qat.Linear and observed.training
    for gate in (cell.input_gate, cell.cell_gate):  # their ranges are known
        kind = quantization.FixedQParamsFakeQuantize
        assert type(gate.activation_post_process) is kind
    observed(x)
    made = quantized.LSTM.from_observed(observed)
    integers = torch.quantize_per_tensor(x, 0.05, 128, torch.quint8)
    assert made(integers)[0].dtype == torch.quint8
    attention = nn.MultiheadAttention(6, 2)
    attention.qconfig = quantization.default_qconfig
    made = quantizable.MultiheadAttention.from_float(attention)
    assert hasattr(made.linear_Q, "activation_post_process") and not made.training


MASKS = [
    ({}, {}),
    ({"bias": False}, {"need_weights": False}),
    ({"add_bias_kv": True}, {}),
    ({"add_zero_attn": True, "batch_first": True}, {}),
    ({"kdim": 8, "vdim": 8}, {"average_attn_weights": False}),
    ({}, {"key_padding_mask": torch.tensor([[False] * 3 + [True]] * 3)}),
    ({}, {"attn_mask": torch.ones(4, 4).triu(1).bool()}),
    ({}, {"attn_mask": torch.linspace(-1, 1, 96).reshape(6, 4, 4)}),
]


@pytest.mark.parametrize(("options", "given"), MASKS, ids=range(len(MASKS)))
def test_attention_is_observed_and_converted_layer_by_layer(options, given):
    torch.manual_seed(2)
    x = torch.randn(4, 3, 8)
    layer = nn.MultiheadAttention(8, 2, **options)
    observed, made, expected = converted(layer, x, **given)
    assert type(observed.layer) is quantizable.MultiheadAttention
    assert type(made.layer) is quantized.MultiheadAttention
    assert (made(x, **given) - expected).abs().max() < 0.1
    floats = made.layer.dequantize()
    assert type(floats) is nn.MultiheadAttention
    assert (floats(x, x, x, **given)[0] - expected).abs().max() < 0.1


def test_attention_refuses_what_it_does_not_compute():
    layer, x = quantizable.MultiheadAttention(4, 2), torch.ones(3, 1, 4)
    with pytest.raises(AssertionError, match="causal"):
        layer(x, x, x, is_causal=True)
    with pytest.raises(AssertionError, match="sizes"):
        layer(x, x, x[:2])
    for kind in (quantizable.LSTM, quantizable.MultiheadAttention):
        with pytest.raises(NotImplementedError, match="quantized"):
            kind.from_observed(layer)
        with pytest.raises(AssertionError, match="needs"):
            kind.from_float(nn.Linear(2, 2))
    with pytest.raises(NotImplementedError, match="prepare"):
        quantized.LSTM.from_float(nn.LSTM(2, 2))


class Own(nn.Linear):
    """A layer for which the flow has no quantized form."""


class Observed(nn.Module):
    """What ``prepare`` makes of ``Own``."""

    @classmethod
    def from_float(cls, other):
        made = cls()
        made.inner, made.qconfig = other, other.qconfig
        return made

    def forward(self, x):
        return self.inner(x)


class Converted(Observed):
    """What ``convert`` makes of ``Observed``."""

    @classmethod
    def from_observed(cls, other):
        made = cls()
        made.inner = other.inner
        return made


def test_custom_classes_take_part_in_the_flow():
    model = nn.Sequential(Own(3, 3), nn.ReLU())
    model.qconfig = quantization.default_qconfig
    to_observed = {"float_to_observed_custom_module_class": {Own: Observed}}
    observed = quantization.prepare(model, prepare_custom_config_dict=to_observed)
    observed(torch.ones(2, 3))
    assert float(observed[0].activation_post_process.max_val) != float("-inf")
    to_quantized = {"observed_to_quantized_custom_module_class": {Observed: Converted}}
    made = quantization.convert(observed, convert_custom_config_dict=to_quantized)
    assert type(made[0]) is Converted and type(made[0].inner) is Own


def test_a_dynamic_lstm_has_no_dropout():
    layer = nn.LSTM(4, 4, 2, dropout=0.5).eval()
    made = quantization.quantize_dynamic(nn.Sequential(layer), {nn.LSTM})[0]
    x = torch.ones(3, 2, 4)
    assert not made.training
    assert torch.equal(made(x)[0], made(x)[0])
    assert not torch.ao.nn.quantized.dynamic.LSTM(4, 4).training


@pytest.mark.parametrize("channels", [-1, 3])
def test_scales_are_learned(channels):
    kind = "PerChannel" if channels > 0 else ""
    observer = getattr(quantization, f"MovingAverage{kind}MinMaxObserver")
    options = {"ch_axis": 0, "dtype": torch.qint8} if channels > 0 else {}
    fake = _LearnableFakeQuantize(
        observer, *((-128, 127) if channels > 0 else (0, 255)), channel_len=channels,
        use_grad_scaling=True, **options,
    )  # fmt: skip
    x = torch.linspace(-2, 3, 12).reshape(3, 4)
    assert (fake(x) - x).abs().max() < 0.02 and not fake.learning_enabled
    fake.enable_static_observation()
    assert torch.equal(fake(x), x)
    fake.enable_static_estimate()
    assert fake.enable_param_learning() is fake
    with torch.no_grad():
        fake.scale.mul_(4)
    optimizer = torch.optim.SGD(fake.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (fake(x) - x).pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert fake.scale.grad.abs().sum() > 0
    assert fake.calculate_qparams()[1].dtype is torch.int64
    for wrong in ({"quant_min": 3, "quant_max": 1}, {"channel_len": 0}):
        with pytest.raises(AssertionError):
            _LearnableFakeQuantize(quantization.MinMaxObserver, **wrong)


def test_biases_are_corrected_by_the_mean_error():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Flatten(), nn.Linear(27, 4))
    model = quantization.QuantWrapper(model).eval()
    model.qconfig = quantization.default_qconfig
    batches = [(torch.randn(5, 2, 4, 4), 0) for _ in range(3)]
    observed = quantization.prepare(copy.deepcopy(model))
    for batch, _ in batches:
        observed(batch)
    made = quantization.convert(observed)
    before = made.module[0].bias().clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bias_correction(model, made, batches, neval_batches=2)
    shift = made.module[0].orig_module.bias() - before
    assert 0 < shift.abs().max() < 0.05
    assert made.module[0].logger.count == 0
