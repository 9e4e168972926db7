"""Linear layers with int8 weights of sparse blocks: results of the dense layers."""

import pytest

import pellucid as torch
from pellucid.ao import quantization
from pellucid.ao.nn.sparse.quantized import Linear, dynamic
from pellucid.ao.nn.sparse.quantized.utils import LinearBlockSparsePattern

X = torch.arange(16.0).reshape(2, 8) / 8 - 1


def float_layer():
    layer = torch.nn.Linear(8, 4)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(32.0).reshape(4, 8) / 8 - 2)
        layer.weight[:, 4:] = 0
        layer.bias.copy_(torch.arange(4.0))
    return layer


def static_layer():
    layer = float_layer()
    layer.qconfig = quantization.get_default_qconfig("fbgemm")
    observed = quantization.prepare(torch.nn.Sequential(layer))
    observed(X)
    observed[0].sparse_params = {"sparse_block_shape": (1, 4)}
    return Linear.from_float(observed[0])


def test_a_static_layer_has_the_integers_of_pytorch():
    layer = static_layer()
    x = torch.quantize_per_tensor(X, 1 / 64, 64, torch.quint8)
    assert layer(x).int_repr().tolist() == [[127, 87, 48, 8], [0, 30, 61, 92]]
    other = Linear(8, 4, 8, 1)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x).int_repr(), layer(x).int_repr())
    assert other._weight_bias()[2:] == (1, 4)


def test_a_dynamic_layer_has_the_numbers_of_pytorch():
    layer = float_layer()
    layer.qconfig = quantization.default_dynamic_qconfig
    with LinearBlockSparsePattern(8, 1):
        made = dynamic.Linear.from_float(layer)
    assert made._weight_bias()[2:] == (8, 1)
    assert LinearBlockSparsePattern.block_size() == (1, 4)
    wanted = [[5.9765, 3.7294, 1.4667, -0.7961], [-1.2863, 0.4667, 2.2196, 3.9725]]
    torch.testing.assert_close(made(X), torch.tensor(wanted), atol=1e-4, rtol=0)
    state = made.state_dict()
    assert state["op_type"] == "sparse_dynamic" and "scale" not in state
    other = dynamic.Linear(8, 4, 1, 4)
    other.load_state_dict(state)
    assert torch.equal(other(X), made(X))
    with pytest.raises(RuntimeError, match="of type None"):
        other.load_state_dict(static_layer().state_dict())


def test_a_mapping_converts_layers_to_sparse_ones():
    model = torch.nn.Sequential(float_layer())
    mapping = quantization.get_default_dynamic_sparse_quant_module_mappings()
    qconfigs = {"": quantization.default_dynamic_qconfig}
    made = quantization.quantize_dynamic(model, qconfigs, mapping=mapping)
    assert type(made[0]) is dynamic.Linear


def test_what_cannot_be_converted_is_refused():
    layer = float_layer()
    with pytest.raises(AssertionError, match="qconfig"):
        dynamic.Linear.from_float(layer)
    layer.qconfig = quantization.get_default_qconfig("fbgemm")
    with pytest.raises(AssertionError, match="sparse_block_shape"):
        Linear.from_float(layer)
    with pytest.raises(AssertionError, match="Conv2d"):
        Linear.from_float(torch.nn.Conv2d(1, 1, 1))
    with pytest.raises(NotImplementedError, match="qint8"):
        Linear(8, 4, 1, 4, dtype=torch.float16)


def test_modules_of_layers_are_attributes():
    layers = torch.ao.nn.quantized
    assert layers.functional.hardtanh is torch.nn.functional.hardtanh
    assert layers.reference.Linear and torch.nn.quantized.functional
    assert torch.ao.nn.sparse.quantized.Linear is Linear
