"""Traced models: where observers go, what graphs become, what they compute.

Graphs, scales and results are those of PyTorch 2.13 for the same weights.
"""

import copy
import io

import numpy
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization
from pellucid.ao.quantization import QConfigMapping
from pellucid.ao.quantization.fx.custom_config import (
    ConvertCustomConfig,
    PrepareCustomConfig,
)
from pellucid.ao.quantization.quantize_fx import (
    convert_fx,
    convert_to_reference_fx,
    fuse_fx,
    prepare_fx,
    prepare_qat_fx,
)
from pellucid.nn import functional as F
from tests.quantized.models import Block, Inner, Nested, Words, calibrated, filled
from tests.quantized.models import numbers as some

static = quantization.get_default_qconfig_mapping
trained = quantization.get_default_qat_qconfig_mapping
QCONFIG = quantization.get_default_qconfig("x86")
IMAGES, ROWS = some(2, 3, 6, 6), some(3, 4)
WORDS = torch.tensor(numpy.random.default_rng(1).integers(0, 10, (4, 2)))


def calls(graph_module):
    """What a graph calls: types of layers, names of functions, ``#k`` for observers."""
    actual = []
    for node in graph_module.graph.nodes:
        if node.op == "call_module":
            _, is_observer, number = str(node.target).partition("post_process_")
            layer = graph_module.get_submodule(node.target)
            actual.append(f"#{number}" if is_observer else type(layer).__name__)
        elif node.op == "call_method":
            actual.append(f".{node.target}")
        elif node.op == "call_function":
            actual.append(node.target.__name__)
    return " ".join(actual)


def observed(kind, mapping, x, *config):
    return calibrated(prepare_fx(filled(kind()).eval(), mapping, (x,), *config), x)


def nested(mapping=None, *config, **convert):
    inputs = observed(Nested, mapping or static(), ROWS, *config)
    return convert_fx(inputs, **convert)


def near(tensor, wanted, tolerance=1e-5):
    assert numpy.allclose(tensor.detach().numpy(), wanted, atol=tolerance)


def test_a_residual_block_has_the_graph_and_the_scales_of_pytorch():
    prepared = observed(Block, static(), IMAGES)
    assert calls(prepared) == (
        "#0 ConvReLU2d #1 Conv2d #2 add ReLU #3 MaxPool2d #4 Hardswish #5 .mean #6 "
        ".amax #7 cat #8 .size .reshape #9 Linear #10"
    )
    assert prepared.activation_post_process_4 is prepared.activation_post_process_3
    result = convert_fx(prepared)
    assert calls(result) == (
        "quantize_per_tensor ConvReLU2d Conv2d add_relu MaxPool2d Hardswish "
        ".dequantize .mean .amax quantize_per_tensor cat .size .reshape Linear "
        ".dequantize"
    )
    state = result.state_dict()
    scales = [round(float(state[k]), 6) for k in sorted(state) if "scale" in k]
    assert scales == [
        0.005441,
        0.005441,
        0.008936,
        0.059292,
        0.00898,
        0.008101,
        0.006181,
    ]
    points = [int(state[k]) for k in sorted(state) if "zero_point" in k]
    assert points == [0, 0, 0, 65, 33, 0, 53]
    near(
        result(IMAGES),
        [[0.5118726, -0.0359208, -0.2963473], [0.4579913, -0.0269406, -0.2963473]],
    )


def test_a_reference_model_says_in_floats_what_the_integers_are():
    result = convert_to_reference_fx(observed(Block, static(), IMAGES))
    assert type(result.first[0]).__name__ == "Conv2d"
    assert result.first[0]._get_name() == "QuantizedConv2d(Reference)"
    text = calls(result)
    assert text.count("quantize_per_tensor .dequantize") == 11 and "add ReLU" in text
    assert result.state_dict()["second.weight_qscheme"] is torch.per_channel_affine
    near(result(IMAGES)[0], [0.5118726, -0.0359208, -0.2963473])
    layer = torch.ao.nn.quantized.reference.Conv2d(4, 4, 3, padding=1)
    prefix = "second."
    own = {
        k[len(prefix) :]: v for k, v in result.state_dict().items() if prefix == k[:7]
    }
    layer.load_state_dict(own)
    x = some(1, 4, 3, 3)
    assert torch.equal(layer(x), result.second(x))


def test_unquantized_parts_of_a_trained_model_are_converted_to_float():
    mapping = trained().set_module_name_regex("second|last", None)
    prepared = prepare_qat_fx(filled(Block()).train(), mapping, (IMAGES,))
    assert calls(calibrated(prepared, IMAGES)).startswith("#0 ConvBnReLU2d #1 ConvBn2d")
    prepared.eval()(IMAGES)
    result = convert_fx(prepared)
    assert calls(result) == (
        "quantize_per_tensor ConvReLU2d .dequantize Conv2d quantize_per_tensor "
        "add_relu MaxPool2d Hardswish .dequantize .mean .amax quantize_per_tensor cat "
        ".size .reshape .dequantize Linear"
    )
    assert type(result.second) is nn.Conv2d and type(result.last) is nn.Linear
    near(result.second.bias, [-0.2051640, 0.2635916, 0.2354945, -0.2538098])
    near(
        result(IMAGES),
        [[0.4386252, -0.0278412, -0.3101700], [0.4017619, -0.0159265, -0.3043862]],
    )


def test_layers_that_round_become_float_again():
    qat, nni = torch.ao.nn.qat, torch.ao.nn.intrinsic
    qconfig = quantization.get_default_qat_qconfig()
    for kind, wanted, args in (
        (qat.Linear, nn.Linear, (3, 2)),
        (qat.Embedding, nn.Embedding, (3, 2)),
        (qat.EmbeddingBag, nn.EmbeddingBag, (3, 2)),
        (nni.qat.LinearReLU, nni.LinearReLU, (3, 2)),
        (nni.qat.ConvReLU1d, nni.ConvReLU1d, (3, 2, 1)),
        (nni.qat.ConvBnReLU3d, nni.ConvReLU3d, (3, 2, 1)),
        (nni.qat.LinearBn1d, nn.Linear, (3, 2)),
    ):
        layer = filled(kind(*args, qconfig=qconfig)).eval()
        result = layer.to_float()
        assert type(result) is wanted and result.training is False
        if not hasattr(layer, "bn"):
            weight = (result[0] if isinstance(result, nn.Sequential) else result).weight
            assert torch.equal(weight, layer.weight)


@pytest.mark.parametrize("half", [False, True])
def test_dynamic_layers_and_rows_need_no_calls(half):
    mapping = QConfigMapping().set_global(quantization.float16_dynamic_qconfig)
    wanted = [-0.0219545, 0.2360633, -0.3068178]
    if not half:
        mapping = QConfigMapping()
        for kind in (nn.LSTM, nn.Linear):
            mapping.set_object_type(kind, quantization.default_dynamic_qconfig)
        rows = quantization.float_qparams_weight_only_qconfig
        mapping.set_object_type(nn.Embedding, rows)
        wanted = [-0.0230396, 0.2366377, -0.3092840]
    result = convert_fx(prepare_fx(filled(Words()).eval(), mapping, (WORDS,)))
    assert calls(result) == "Embedding LSTM getitem getitem getitem Linear"
    assert result.steps._get_name() == "DynamicQuantizedLSTM"
    assert (result.rows._get_name() == "QuantizedEmbedding") is not half
    near(result(WORDS)[0][0, 0], wanted)


PATHS = {
    "all": (static(), "LinearReLU LinearReLU Linear Linear add linear .dequantize"),
    "name": (
        static().set_module_name("b", None),
        "LinearReLU .dequantize LinearReLU Linear quantize_per_tensor Linear add "
        "linear .dequantize",
    ),
    "the nearest name": (
        static().set_module_name("b", None).set_module_name("b.1", QCONFIG),
        "LinearReLU .dequantize LinearReLU quantize_per_tensor Linear Linear add "
        "linear .dequantize",
    ),
    "pattern": (
        static().set_module_name_regex(r"b\.0.*|c", None),
        "LinearReLU .dequantize LinearReLU quantize_per_tensor Linear .dequantize "
        "Linear quantize_per_tensor add linear .dequantize",
    ),
    "type": (
        QConfigMapping()
        .set_object_type(nn.Linear, QCONFIG)
        .set_object_type(nn.ReLU, QCONFIG),
        "LinearReLU LinearReLU Linear Linear .dequantize add linear",
    ),
    "function": (
        static().set_object_type(F.linear, None),
        "LinearReLU LinearReLU Linear Linear add .dequantize linear",
    ),
    "order": (
        static()
        .set_module_name_object_type_order("", F.linear, 0, None)
        .set_module_name_object_type_order("b", nn.Linear, 0, None),
        "LinearReLU LinearReLU .dequantize Linear quantize_per_tensor Linear add "
        ".dequantize linear",
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_the_strongest_line_of_a_mapping_counts(name):
    mapping, wanted = PATHS[name]
    result = nested(mapping)
    assert calls(result) == f"quantize_per_tensor {wanted}"
    read = QConfigMapping.from_dict(mapping.to_dict())
    assert repr(read) == repr(mapping) and calls(nested(read)) == calls(result)


def test_convert_may_leave_more_float_and_nothing_else():
    prepared = observed(Nested, static(), ROWS)
    less = static().set_module_name("a", None)
    assert calls(convert_fx(copy.deepcopy(prepared), qconfig_mapping=less)) == (
        "quantize_per_tensor .dequantize LinearReLU quantize_per_tensor LinearReLU "
        "Linear Linear add linear .dequantize"
    )
    with pytest.raises(AssertionError, match="global qconfigs"):
        convert_fx(copy.deepcopy(prepared), qconfig_mapping=static("onednn"))
    with pytest.raises(AssertionError, match="Missing key"):
        convert_fx(prepared, qconfig_mapping=QConfigMapping().set_global(QCONFIG))


def test_a_state_dict_has_packed_weights_and_restores_them():
    result = nested()
    near(result(ROWS)[0], [-0.0643589, -0.3861534, -0.2145297, 0.4076064])
    assert "torch.ops.quantized.linear(add_1, _packed_weight_0" in result.code
    file = io.BytesIO()
    torch.save(result.state_dict(), file)
    file.seek(0)
    model = filled(Nested()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    other = convert_fx(calibrated(prepare_fx(model, static(), (ROWS,)), ROWS))
    assert not torch.equal(other(ROWS), result(ROWS))
    other.load_state_dict(torch.load(file, weights_only=False))
    for each in (other, copy.deepcopy(result)):
        assert torch.equal(each(ROWS), result(ROWS))
    kept = nested(keep_original_weights=True).original_weights_lookup
    assert torch.equal(kept["_packed_weight_0"][0], filled(Nested()).weight)


class Branching(Inner):
    """What cannot be traced."""

    def forward(self, x):
        return super().forward(x if x.sum() > 0 else -x)


@pytest.mark.parametrize("by", ["name", "class"])
def test_modules_that_cannot_be_traced_stay_whole(by):
    model = nn.Sequential(nn.Linear(4, 4), Branching(), nn.Linear(4, 4)).eval()
    config = PrepareCustomConfig()
    if by == "name":
        config.set_non_traceable_module_names(["1"])
    else:
        config.set_non_traceable_module_classes([Branching])
    result = convert_fx(calibrated(prepare_fx(model, static(), (ROWS,), config), ROWS))
    assert calls(result) == (
        "quantize_per_tensor Linear .dequantize Branching quantize_per_tensor Linear "
        ".dequantize"
    )
    assert type(getattr(result, "1").linear) is nn.Linear


def test_a_standalone_module_is_a_graph_of_its_own():
    config = PrepareCustomConfig().set_standalone_module_name(
        *("a", None, (ROWS,), None, None)
    )
    result = nested(static(), config)
    assert calls(result.a) == "quantize_per_tensor LinearReLU .dequantize"
    assert torch.equal(result(ROWS), nested()(ROWS))
    inner = PrepareCustomConfig().set_input_quantized_indexes([0])
    config.set_standalone_module_class(Inner, None, (ROWS,), inner, None)
    read = PrepareCustomConfig.from_dict(config.to_dict())
    assert read.standalone_module_classes[Inner].prepare_custom_config is not None


def test_inputs_and_results_can_be_quantized():
    config = PrepareCustomConfig().set_input_quantized_indexes([0])
    config.set_output_quantized_indexes([0])
    result = nested(static(), config)
    assert calls(result) == "LinearReLU LinearReLU Linear Linear add linear"
    x = torch.quantize_per_tensor(ROWS, 0.05, 64, torch.quint8)
    assert result(x).q_zero_point() == 48
    near(result(x).dequantize()[0], [-0.0429059, -0.4076064, -0.2145297, 0.4076064])


class Observed(nn.Module):
    """A module of a user, that is observed."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)

    @classmethod
    def from_float(cls, module):
        result = cls(module)
        result.qconfig = module.qconfig
        return result


class Quantized(Observed):
    """A module of a user, of integers."""

    @classmethod
    def from_observed(cls, module):
        layer = nn.intrinsic.LinearReLU(module.inner.linear, module.inner.relu)
        layer.qconfig = module.qconfig
        layer.activation_post_process = module.activation_post_process
        return cls(nn.intrinsic.quantized.LinearReLU.from_float(layer))


def test_modules_of_users_are_swapped():
    config = PrepareCustomConfig().set_float_to_observed_mapping(Inner, Observed)
    converting = ConvertCustomConfig()
    converting.set_observed_to_quantized_mapping(Observed, Quantized)
    read = [
        type(each).from_dict(each.to_dict()).to_dict() == each.to_dict()
        for each in (config, converting)
    ]
    assert read == [True, True]
    result = nested(static(), config, convert_custom_config=converting)
    assert calls(result) == (
        "quantize_per_tensor Quantized Quantized Linear Linear add linear .dequantize"
    )
    assert torch.equal(result(ROWS), nested()(ROWS))


def test_named_attributes_are_kept():
    config = PrepareCustomConfig().set_preserved_attributes(["tag"])
    converting = ConvertCustomConfig().set_preserved_attributes(["tag"])
    result = nested(static(), config, convert_custom_config=converting)
    assert result.tag == copy.deepcopy(result).tag == "kept"
    assert not hasattr(nested(), "tag")


class Functions(nn.Module):
    """Activations as functions, sizes, scalars, a layer that is called twice."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x) + 1
        y = F.leaky_relu(F.elu(y), 0.2) * 2.0
        y = torch.sigmoid(F.hardtanh(y)).view(x.shape[0] // 1, -1)
        y = F.layer_norm(torch.stack([y, self.linear(x)]), [4])
        return {"rows": torch.tanh(y).transpose(0, 1).contiguous()}


def test_functions_become_ops_of_integers():
    result = convert_fx(observed(Functions, static(), ROWS))
    assert calls(result) == (
        "quantize_per_tensor Linear add elu leaky_relu mul hardtanh sigmoid getattr "
        "getitem floordiv .view Linear stack layer_norm tanh .transpose .contiguous "
        ".dequantize"
    )
    rows = result(ROWS)["rows"]
    assert rows[:, 0].count_nonzero() == 0
    near(rows[1, 1], [-0.9140625, -0.203125, 0.6015625, 0.78125], 0)
    near(rows[2, 1], [-0.6640625, -0.6640625, 0.9296875, -0.078125], 0)


def test_fused_layers_have_one_qconfig():
    assert calls(fuse_fx(filled(Block()).eval())).startswith("ConvReLU2d Conv2d add")
    mapping = QConfigMapping().set_object_type(nn.Linear, QCONFIG)
    with pytest.raises(LookupError, match="same qconfigs"):
        prepare_fx(Nested().eval(), mapping, (ROWS,))


def test_what_is_no_observed_model_is_refused():
    with pytest.raises(ValueError, match="GraphModule"):
        convert_fx(Nested())
    with pytest.raises(AssertionError, match="prepare_fx"):
        convert_fx(torch.fx.symbolic_trace(Nested()))
    with pytest.raises(AssertionError, match="QConfigMapping"):
        prepare_fx(Nested().eval(), QCONFIG, (ROWS,))
    with pytest.raises(NotImplementedError, match="equalization"):
        prepare_fx(Nested().eval(), static(), (ROWS,), _equalization_config={})
    with pytest.raises(ValueError, match="static"):
        PrepareCustomConfig().set_float_to_observed_mapping(
            Inner, Observed, quantization.QuantType.DYNAMIC
        )
    with pytest.warns(FutureWarning, match="deprecated"):
        prepare_fx(Nested().eval(), {"": QCONFIG}, (ROWS,))


def test_the_older_names_are_the_same():
    older = torch.quantization
    assert older.quantize_fx.prepare_fx is prepare_fx
    assert older.fx.convert is quantization.fx.convert.convert
    assert older.QConfigMapping is QConfigMapping
