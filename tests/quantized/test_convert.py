"""Models that are prepared, converted, trained with rounding, saved and loaded."""

import copy
import io

import numpy
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization

random = numpy.random.default_rng(5)
IMAGES = [
    torch.tensor(random.standard_normal((4, 3, 8, 8)).astype("float32"))
    for _ in range(3)
]


class Net(nn.Module):
    """A convolution, a sum, a pool and a linear layer between the stubs."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.norm, self.relu = (
            nn.Conv2d(3, 6, 3, padding=1),
            nn.BatchNorm2d(6),
            nn.ReLU(),
        )
        self.second = nn.Conv2d(6, 6, 3, padding=1, groups=2)
        self.sum = torch.ao.nn.quantized.FloatFunctional()
        self.pool, self.last = nn.AdaptiveAvgPool2d(2), nn.Linear(24, 5)

    def forward(self, x):
        x = self.relu(self.norm(self.first(self.quant(x))))
        x = self.pool(self.sum.add_relu(x, self.second(x)))
        return self.dequant(self.last(torch.flatten(x, 1)))


def net():
    torch.manual_seed(1)
    return Net()


def converted(backend="x86"):
    model = quantization.fuse_modules(net().eval(), ["first", "norm", "relu"])
    model.qconfig = quantization.get_default_qconfig(backend)
    observed = quantization.prepare(model)
    for images in IMAGES:
        observed(images)
    return model, quantization.convert(observed)


@pytest.mark.parametrize("backend", ["x86", "qnnpack", "onednn"])
def test_a_converted_model_is_near_its_float_form(backend):
    model, quantized = converted(backend)
    wanted = model(IMAGES[0])
    error = (quantized(IMAGES[0]) - wanted).abs().max().item()
    assert 0 < error < 0.05 * wanted.abs().max().item()
    names = {type(each).__name__ for each in quantized.modules()}
    assert {"ConvReLU2d", "Conv2d", "Linear", "QFunctional", "Quantize"} <= names
    assert isinstance(quantized.first, torch.nn.intrinsic.quantized.ConvReLU2d)
    assert not any(hasattr(each, "qconfig") for each in quantized.modules())
    assert isinstance(model.first, torch.nn.intrinsic.ConvReLU2d)  # a copy was changed


def test_a_state_dict_restores_a_quantized_model():
    model, quantized = converted()
    file = io.BytesIO()
    torch.save(quantized.state_dict(), file)
    file.seek(0)
    with pytest.warns(UserWarning, match="must run observer"):
        other = quantization.convert(quantization.prepare(model))
    assert not torch.equal(other(IMAGES[0]), quantized(IMAGES[0]))
    other.load_state_dict(torch.load(file, weights_only=False))
    assert torch.equal(other(IMAGES[0]), quantized(IMAGES[0]))
    with pytest.raises(RuntimeError, match=r"last\.scale"):
        state = quantized.state_dict()
        del state["last.scale"]
        other.load_state_dict(state)


def test_a_quantized_model_pickles_and_copies():
    _, quantized = converted()
    file = io.BytesIO()
    torch.save(quantized, file)
    file.seek(0)
    for other in (torch.load(file, weights_only=False), copy.deepcopy(quantized)):
        assert torch.equal(other(IMAGES[1]), quantized(IMAGES[1]))


def test_training_with_rounding_ends_near_the_converted_model():
    model = quantization.fuse_modules_qat(net(), ["first", "norm", "relu"])
    model.qconfig = quantization.get_default_qat_qconfig("x86")
    model = quantization.prepare_qat(model.train())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(4):
        for images in IMAGES:
            loss = (model(images) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    model.apply(quantization.disable_observer)
    model.apply(torch.nn.intrinsic.qat.freeze_bn_stats)
    rounded = model.eval()(IMAGES[0])
    scale = model.last.activation_post_process.scale.item()
    quantized = quantization.convert(model)(IMAGES[0])
    assert (rounded - quantized).abs().max().item() < 2.5 * scale


def test_what_cannot_be_prepared_is_refused():
    with pytest.raises(AssertionError, match="training mode"):
        quantization.prepare_qat(net().eval())
    with pytest.raises(NotImplementedError, match="reference"):
        quantization.convert(net(), is_reference=True)
    with pytest.raises(ValueError, match="Don't know"):
        quantization.quantize_dynamic(net(), {nn.Linear}, dtype=torch.int32)
    with pytest.warns(UserWarning, match="qconfig"):
        quantization.prepare(net())


def test_engines_are_named():
    assert torch.backends.quantized.supported_engines == [
        "qnnpack",
        "onednn",
        "x86",
        "fbgemm",
    ]
    before = torch.backends.quantized.engine
    with pytest.raises(RuntimeError, match="not supported"):
        torch.backends.quantized.engine = "tpu"
    assert torch.backends.quantized.engine == before


def test_layers_print_without_what_holds_their_weights():
    model = nn.Sequential(nn.LSTM(3, 4), nn.Linear(4, 4))
    dynamic = torch.ao.quantization.quantize_dynamic(model, {nn.LSTM, nn.Linear})
    assert repr(dynamic) == (
        "Sequential(\n"
        "  (0): DynamicQuantizedLSTM(3, 4)\n"
        "  (1): DynamicQuantizedLinear(in_features=4, out_features=4, "
        "dtype=torch.qint8, qscheme=torch.per_tensor_affine)\n"
        ")"
    )
    rows = repr(torch.ao.nn.quantized.EmbeddingBag(3, 12))
    assert rows.startswith("QuantizedEmbeddingBag(num_embeddings=3, embedding_dim=12,")
    assert "\n" not in rows
