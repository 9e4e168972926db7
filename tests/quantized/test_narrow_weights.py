"""Weights of int8 and four bits: ``quantize_``, its measurements, their products."""

import copy
import io
import subprocess
import sys
import warnings

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization as aq
from pellucid.ao._quantized import narrow_weights
from pellucid.ao.quantization import weight_configs
from pellucid.nn import functional as F

CONFIGS = [
    aq.Int8WeightOnlyConfig(),
    aq.Int8DynamicActivationInt8WeightConfig(),
    aq.Int4WeightOnlyConfig(group_size=32),
]


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 16))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 9])
def test_a_narrow_layer_is_the_layer_of_the_decoded_weight(config, rows):
    layer = nn.Sequential(nn.Linear(64, 48))
    report = aq.quantize_(layer, config, measures=False)
    assert report.quantized == ["0"]
    weight = layer[0].weight
    x = torch.randn(3, rows, 64)
    tolerance = 2e-2 if "Dynamic" in type(config).__name__ else 1e-4
    for given in (x, x[0]):
        expected = F.linear(given, weight.dequantize(), layer[0].bias)
        assert torch.allclose(layer(given), expected, tolerance, tolerance)
    assert weight.nbytes_stored() < 64 * 48 * 4 / 2.9


def test_the_error_of_decoding_is_at_most_half_a_step():
    weight = torch.randn(32, 64)
    narrow = narrow_weights.Int8Weight.encode(weight)
    steps = narrow.scales.unsqueeze(1)
    assert ((narrow.dequantize() - weight).abs() <= steps * 0.5001).all()
    narrow = narrow_weights.Int4Weight.encode(weight, group_size=32)
    steps = narrow.scales[..., 0].t().repeat_interleave(32, 1)
    assert ((narrow.dequantize() - weight).abs() <= steps * 0.501).all()


LOADS = """
import sys, pellucid as torch
state = torch.load(sys.argv[1], weights_only=True)
assert not any(name.startswith("pellucid.ao.quantization") for name in sys.modules)
layer = torch.nn.Linear(64, 48)
layer.load_state_dict(state["weights"], assign=True)
assert type(layer.weight).__name__ != "Parameter"
assert torch.equal(layer(state["x"]), state["expected"])
"""


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
def test_a_process_loads_narrow_weights_without_importing_quantization(
    config, tmp_path
):
    layer, x = nn.Sequential(nn.Linear(64, 48)), torch.randn(5, 64)
    aq.quantize_(layer, config, measures=False)
    weights = layer[0].state_dict()
    saved = {"weights": weights, "x": x, "expected": layer(x).detach()}
    torch.save(saved, tmp_path / "saved.pt")
    command = [sys.executable, "-c", LOADS, str(tmp_path / "saved.pt")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
def test_a_quantized_model_is_copied_and_saved(config):
    narrow = model()
    aq.quantize_(narrow, config, lambda m, name: name == "0", measures=False)
    x = torch.randn(5, 64)
    expected = narrow(x)
    assert torch.equal(copy.deepcopy(narrow)(x), expected)
    file = io.BytesIO()
    torch.save(narrow, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x), expected)
    other = model()
    other.load_state_dict(narrow.state_dict(), assign=True)
    assert torch.equal(other(x), expected)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
def test_a_narrow_weight_has_the_protocol_of_parameters(config):
    layer, other = nn.Linear(64, 48), nn.Linear(64, 48)
    x = torch.randn(5, 64)
    for each in (layer, other):
        aq.quantize_(nn.Sequential(each), config, measures=False)
    kind, weight, expected = type(layer.weight), layer.weight, layer(x)
    copied = copy.deepcopy(layer)
    assert type(copied.weight) is kind and isinstance(copied.weight, nn.Parameter)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    assert not torch.equal(other(x), expected)
    other.load_state_dict(torch.load(file))
    assert torch.equal(other(x), expected)
    assert torch.equal(torch.export.export(layer, (x,)).module()(x), expected)
    assert torch.equal(weight.t(), weight.dequantize().t())
    assert layer.to("cpu").float().weight is weight
    assert torch.equal(layer(x), expected)
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        layer.to(dtype)
        assert layer.weight is weight and isinstance(weight, nn.Parameter)
        assert type(weight) is kind and weight.dtype == dtype
        actual = layer(x.to(dtype))
        assert actual.dtype == dtype
        assert torch.allclose(actual.float(), expected, 0.05, 0.05)


def test_float_weights_are_encoded_when_they_are_loaded():
    whole, narrow = model(), model()
    whole[0].weight.data *= 2
    config = aq.Int4WeightOnlyConfig(32)
    aq.quantize_(narrow, config, lambda m, name: name == "0", measures=False)
    narrow.load_state_dict(whole.state_dict())
    encode = narrow_weights.Int4Weight.encode
    expected = encode(whole[0].weight, group_size=32).dequantize()
    assert torch.equal(narrow[0].weight.dequantize(), expected)
    with pytest.raises(RuntimeError, match="assign=True"):
        whole.load_state_dict(narrow.state_dict())
    other = encode(whole[0].weight, group_size=64)
    with pytest.raises(RuntimeError, match="group size differs"):
        narrow[0].weight.copy_(other)


def test_a_file_with_unsound_components_is_refused():
    narrow = narrow_weights.Int8Weight.encode(torch.randn(4, 8))
    narrow.scales = narrow.scales[:2].clone()
    file = io.BytesIO()
    torch.save(narrow, file)
    file.seek(0)
    with pytest.raises(Exception, match="no Int8Weight of the shape"):
        torch.load(file)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
def test_gradients_are_those_of_the_decoded_weight(config):
    layer = nn.Sequential(nn.Linear(64, 48))
    aq.quantize_(layer, config, measures=False)
    decoded = copy.deepcopy(layer)
    decoded[0].weight = nn.Parameter(layer[0].weight.dequantize())
    x, tangent = torch.randn(5, 64), torch.randn(5, 64)
    found = []
    for each in (layer, decoded):
        leaves = x.clone().requires_grad_(), each[0].bias
        rows = torch.linspace(-1, 1, 48)
        grads = torch.autograd.grad((each(leaves[0]) * rows).sum(), leaves)
        found.append([*grads, torch.func.jvp(each, (x,), (tangent,))[1]])
    for actual, expected in zip(*found, strict=True):
        assert torch.allclose(actual, expected, 1e-4, 1e-4)


def test_a_layer_that_would_be_slower_stays_with_the_ratio(monkeypatch):
    def slower(layer, narrow, found):
        found.before, found.after = 10.0, 25.0

    monkeypatch.setattr(weight_configs, "_measure", slower)
    whole = model()
    with pytest.warns(UserWarning, match="2.50x the time"):
        report = aq.quantize_(whole, aq.Int8WeightOnlyConfig())
    assert type(whole[0].weight) is nn.Parameter
    assert [layer.name for layer in report.refused] == ["0", "2"]
    assert "left alone: 2.50x the time" in str(report)


def test_layers_are_measured_with_the_rows_of_the_example():
    whole = model()
    config = aq.Int8DynamicActivationInt8WeightConfig()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so small layers are slower
        report = aq.quantize_(whole, config, example_inputs=(torch.randn(2, 7, 64),))
    assert [layer.rows for layer in report.layers] == [14, 14]
    assert all(layer.before > 0 and layer.after > 0 for layer in report.layers)
    for layer in report.layers:
        weight = whole.get_submodule(layer.name).weight
        is_narrow = isinstance(weight, narrow_weights.NarrowWeight)
        assert is_narrow == (layer.after < layer.before)


def test_layers_that_attention_reads_stay_as_they_are():
    layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True).eval()
    x = torch.randn(2, 5, 32)
    expected = layer(x)
    report = aq.quantize_(layer, aq.Int8WeightOnlyConfig(), measures=False)
    assert report.quantized == ["linear1", "linear2"]
    for is_fast in (True, False):
        with torch.set_grad_enabled(not is_fast):
            assert torch.allclose(layer(x), expected, 0.05, 0.05)


def test_a_model_that_raises_keeps_no_hooks():
    whole = model()
    with pytest.raises(RuntimeError):
        aq.quantize_(
            whole, aq.Int8WeightOnlyConfig(), example_inputs=(torch.randn(2, 63),)
        )
    assert not whole[0]._forward_pre_hooks


def test_four_bits_refuse_shapes_that_groups_do_not_divide():
    with pytest.warns(UserWarning, match="columns by 128"):
        report = aq.quantize_(model(), aq.Int4WeightOnlyConfig(), measures=False)
    assert len(report.refused) == 2
    with pytest.raises(ValueError, match="group_size"):
        aq.Int4WeightOnlyConfig(group_size=7)


def test_other_ops_of_a_narrow_weight_say_what_to_do():
    narrow = narrow_weights.Int8Weight.encode(torch.randn(4, 8))
    with pytest.raises(NotImplementedError, match="dequantize"):
        narrow + 1


def test_the_report_names_the_layer_and_the_input_that_lose_most():
    whole = model()
    narrow = copy.deepcopy(whole)
    aq.quantize_(
        narrow, aq.Int4WeightOnlyConfig(32), lambda m, n: n == "0", measures=False
    )
    inputs = [torch.randn(3, 64), torch.zeros(3, 64), torch.randn(3, 64)]
    report = aq.accuracy_report(whole, narrow, inputs)
    by_name = {layer.name: layer for layer in report.layers}
    assert list(by_name) == ["0", "2"]
    assert report.worst.name == "0"
    assert by_name["2"].own == 0 and by_name["2"].total > 0
    assert 0 < by_name["0"].own < 0.2
    errors = [
        float((narrow[0](x) - whole[0](x)).norm() / whole[0](x).norm()) for x in inputs
    ]
    assert by_name["0"].worst_input == errors.index(max(errors))
    assert by_name["0"].own == pytest.approx(max(errors), rel=1e-4)


class Keyword(nn.Module):
    """A layer called by keyword, one that changes its input, and a BatchNorm."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(16, 8), nn.BatchNorm1d(8)
        self.second = nn.Linear(8, 4)

    def forward(self, x):
        return self.second(input=self.norm(self.first(input=x).relu_()))


def test_a_report_of_a_model_and_itself_has_no_errors():
    whole = Keyword()
    x = torch.randn(6, 16)
    report = aq.accuracy_report(whole, copy.deepcopy(whole), [x])
    assert [layer.name for layer in report.layers] == ["first", "norm", "second"]
    assert all(layer.own == 0 == layer.total for layer in report.layers)
    assert whole.norm.training and whole.norm.num_batches_tracked == 0


def test_the_report_copies_what_a_later_module_changes_in_place():
    torch.manual_seed(0)
    whole = nn.Sequential(nn.Linear(64, 16), nn.ReLU(inplace=True), nn.Linear(16, 4))
    report = aq.accuracy_report(whole, copy.deepcopy(whole), [torch.randn(3, 64)])
    assert [layer.own for layer in report.layers] == [0, 0]


# ------------------------------------------------------------------ ops by name


def test_int8_products_have_the_dtype_of_the_rows():
    weight = torch.randint(-128, 128, (48, 64), dtype=torch.int8)
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 3e-2)):
        for rows in (1, 3, 20):
            x, scales = torch.randn(rows, 64).to(dtype), torch.rand(48).to(dtype)
            actual = torch._weight_int8pack_mm(x, weight, scales)
            expected = x.float() @ (weight.float() * scales.float().unsqueeze(1)).t()
            assert actual.dtype == dtype
            assert torch.allclose(actual.float(), expected, tolerance, 0.5)
    with pytest.raises(RuntimeError, match="1d tensor with size 48"):
        torch._weight_int8pack_mm(torch.randn(1, 64), weight, torch.rand(47))


@pytest.mark.parametrize("rows", [1, 4, 7])
@pytest.mark.parametrize("size", [32, 64])
def test_four_bit_products_decode_by_groups(rows, size):
    integers = torch.randint(0, 16, (48, 64), dtype=torch.int32)
    packed = torch._convert_weight_to_int4pack_for_cpu(integers, 1)
    assert packed.shape == (48, 32)
    scales = torch.rand(64 // size, 48, 2)
    x = torch.randn(rows, 64)
    actual = torch._weight_int4pack_mm_for_cpu(x, packed, size, scales)
    groups = integers.float().view(48, -1, size) - 8
    scale, zero = (each.t().unsqueeze(2) for each in scales.unbind(2))
    expected = x @ (groups * scale + zero).view(48, 64).t()
    assert torch.allclose(actual, expected, 1e-4, 1e-4)
    with pytest.raises(RuntimeError, match="got 7"):
        torch._weight_int4pack_mm_for_cpu(x, packed, 7, scales)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_scaled_products_of_eight_bit_floats(dtype):
    a, b = torch.randn(16, 64).to(dtype), torch.randn(32, 64).to(dtype).t()
    one = torch.tensor(0.5)
    sums = a.float() @ b.float()
    actual = torch._scaled_mm(a, b, one, one, out_dtype=torch.float32)
    assert torch.allclose(actual, sums * 0.25)
    assert torch._scaled_mm(a, b, one, one).dtype == dtype
    rows, columns = torch.rand(16, 1), torch.rand(1, 32)
    bias = torch.randn(32).bfloat16()
    expected = (sums * rows * columns + bias.float()).bfloat16()
    kinds = F.ScalingType.RowWise, F.ScalingType.RowWise
    actual = F.scaled_mm(a, b, rows, kinds[0], columns, kinds[1], bias=bias)
    assert torch.equal(actual, expected)
    with pytest.raises(ValueError, match="Invalid scaling configuration"):
        torch._scaled_mm(a, b, rows, one)
    with pytest.raises(NotImplementedError, match="for tensors or for rows"):
        F.scaled_mm(a, b, one, F.ScalingType.BlockWise1x32, one, kinds[1])
