"""What backends say they can quantize, and qconfigs that they cannot."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization
from pellucid.ao.quantization import backend_config as backends
from pellucid.ao.quantization.quantize_fx import convert_fx, prepare_fx
from tests.quantized.models import Inner, calibrated, filled, numbers

# How many patterns PyTorch 2.13 has for each.
PATTERNS = {
    "native": 194,
    "x86": 192,
    "fbgemm": 192,
    "qnnpack": 190,
    "tensorrt": 149,
    "executorch": 84,
}
ROWS = numbers(3, 4)


@pytest.mark.parametrize("name", PATTERNS)
def test_backends_have_the_patterns_of_pytorch(name):
    config = getattr(backends, f"get_{name}_backend_config")()
    assert config.name == name and len(config.configs) == PATTERNS[name]
    read = backends.BackendConfig.from_dict(config.to_dict())
    assert read.to_dict() == config.to_dict()


def test_patterns_are_nested_with_the_last_call_first():
    pattern = (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)
    config = backends.BackendPatternConfig(pattern)
    assert config.nested() == (nn.ReLU, (nn.BatchNorm2d, nn.Conv2d))
    config.set_fuser_method(lambda is_qat, *layers: (is_qat, *layers))
    assert config.fused(True, ("relu", ("norm", "conv"))) == (
        *(True, "conv", "norm", "relu"),
    )
    with pytest.raises(ValueError, match="2 or 3"):
        backends.BackendPatternConfig((nn.ReLU,)).nested()
    with pytest.raises(ValueError, match="Only one"):
        config._set_pattern_complex_format(nn.ReLU)
    with pytest.raises(ValueError, match="input_dtype"):
        backends.DTypeConfig.from_dict({"input_dtype": "quint8"})


def quantized(qconfig, backend):
    mapping = quantization.QConfigMapping().set_global(qconfig)
    prepared = prepare_fx(
        filled(Inner()).eval(), mapping, (ROWS,), backend_config=backend
    )
    result = convert_fx(calibrated(prepared, ROWS), backend_config=backend)
    return type(result.linear)


def test_a_qconfig_that_a_backend_cannot_have_is_left_out():
    own = backends.BackendConfig("mine")
    assert quantized(quantization.get_default_qconfig(), own) is nn.Linear
    limited = backends.DTypeWithConstraints(torch.quint8, 0, 127)
    dtypes = backends.DTypeConfig(limited, limited, torch.qint8, torch.float)
    for config in backends.get_native_backend_config().configs:
        own.set_backend_pattern_config(config.set_dtype_configs([dtypes]))
    fused = torch.ao.nn.intrinsic.quantized.LinearReLU
    assert quantized(quantization.get_default_qconfig("x86"), own) is fused
    with pytest.warns(UserWarning, match="quantization range"):
        kind = quantized(quantization.get_default_qconfig("qnnpack"), own)
    assert kind is nn.intrinsic.LinearReLU


def test_signed_activations_need_a_least_scale():
    backend = backends.get_qnnpack_backend_config()
    fused = torch.ao.nn.intrinsic.quantized.LinearReLU
    symmetric = quantization.default_symmetric_qnnpack_qconfig
    assert quantized(symmetric, backend) is fused
    small = quantization.QConfig(
        symmetric.activation.with_args(eps=2**-20), symmetric.weight
    )
    with pytest.warns(UserWarning, match="min scale value"):
        assert quantized(small, backend) is nn.intrinsic.LinearReLU


def test_bounded_functions_need_their_scale():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()).eval()
    mapping = quantization.get_default_qconfig_mapping()
    result = convert_fx(calibrated(prepare_fx(model, mapping, (ROWS,)), ROWS))
    assert result.code.count("dequantize()") == 1
    mapping.set_object_type(nn.Sigmoid, mapping.global_qconfig)
    with pytest.warns(UserWarning, match="FixedQParams"):
        prepared = prepare_fx(model, mapping, (ROWS,))
    result = convert_fx(calibrated(prepared, ROWS))
    assert "self, 1)(dequantize" in result.code.replace('"', "")


def test_qconfigs_are_equal_by_what_they_make():
    one, other = (quantization.get_default_qat_qconfig("x86") for _ in range(2))
    assert one.activation is not other.activation
    assert quantization.qconfig_equals(one, other)
    assert not quantization.qconfig_equals(
        one, quantization.get_default_qat_qconfig("qnnpack")
    )
    assert not quantization.qconfig_equals(one, None)


def test_none_stays_none_where_qconfigs_are_handed_down():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model.qconfig, model[1].qconfig = quantization.default_qconfig, None
    observed = quantization.prepare(model)
    assert hasattr(observed[0], "activation_post_process")
    assert not hasattr(observed[1], "activation_post_process")


def test_only_ranges_on_both_sides_of_zero_are_made_symmetric():
    fake = quantization.default_fused_per_channel_wt_fake_quant()
    fake(torch.tensor([[-1.0, -2.0], [1.0, 3.0], [-1.0, 2.0]]))
    assert fake.scale.tolist() == pytest.approx([2 / 255, 3 / 255, 2 / 127])
    assert fake.zero_point.tolist() == [127, -128, 0]


def test_fractions_of_zero_points_are_added_before_rounding():
    fake = quantization.default_embedding_fake_quant()
    result = fake(torch.tensor([[0.3, 0.71, 1.0]]))
    assert result.tolist()[0] == pytest.approx([0.3, 0.7090196, 1.0])
