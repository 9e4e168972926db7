"""``torch.ops.quantized`` and dynamic layers beside integer arithmetic in NumPy."""

import pickle

import numpy
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization

random = numpy.random.default_rng(6)
q = torch.ops.quantized


def tensor(*shape):
    return torch.tensor(random.standard_normal(shape).astype("float32"))


def activations(*shape):
    return torch.quantize_per_tensor(tensor(*shape), 0.03, 70, torch.quint8)


def per_channel(weight):
    scales = (weight.flatten(1).abs().amax(1) / 127.5).double()
    zeros = torch.zeros(weight.shape[0], dtype=torch.int64)
    return torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)


def requantized(sums, scales, bias, scale, zero_point, least=0):
    """The rounding of PyTorch's fbgemm, in float32."""
    unit = numpy.float32(0.03) * scales.astype("float32")
    sums = sums.astype("float32") + bias / unit
    places = numpy.rint(sums * (unit / numpy.float32(scale))) + zero_point
    return places.clip(least, 255).astype("uint8")


@pytest.mark.parametrize("inputs", [16, 700])
def test_linear_is_the_sum_of_integers_rounded_once(inputs):
    x, weight, bias = activations(9, inputs), per_channel(tensor(5, inputs)), tensor(5)
    sums = (x.int_repr().numpy().astype(int) - 70) @ weight.int_repr().numpy().T.astype(
        int
    )
    scales = weight.q_per_channel_scales().numpy()
    packed = q.linear_prepack(weight, bias)
    for op, least in ((q.linear, 0), (q.linear_relu, 120)):
        wanted = requantized(sums, scales, bias.numpy(), 0.2, 120, least)
        assert (op(x, packed, 0.2, 120).int_repr().numpy() == wanted).all()
    again = pickle.loads(pickle.dumps(packed))
    assert torch.equal(q.linear_unpack(again)[0], weight)
    assert torch.equal(again.unpack()[1], bias)


def test_qnnpack_rounds_the_bias_first():
    x, weight = activations(2000, 16), per_channel(tensor(5, 16))
    packed = q.linear_prepack(weight, tensor(5))
    result = q.linear(x, packed, 0.01, 120).int_repr()
    torch.backends.quantized.engine = "qnnpack"
    try:
        other = q.linear(x, packed, 0.01, 120).int_repr()
    finally:
        torch.backends.quantized.engine = "x86"
    difference = (result.int() - other.int()).abs()
    assert difference.max().item() == 1 and difference.float().mean().item() < 0.1


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions_equal_those_of_the_dequantized_values(dims):
    x = activations(2, 4, *[6] * dims)
    weight = torch.quantize_per_tensor(tensor(4, 2, *[2] * dims), 0.02, 0, torch.qint8)
    geometry = ([1] * dims, [1] * dims, [1] * dims, 2)
    packed = getattr(q, f"conv{dims}d_prepack")(weight, None, *geometry)
    result = getattr(q, f"conv{dims}d")(x, packed, 0.05, 90)
    numbers = getattr(nn.functional, f"conv{dims}d")(
        x.dequantize(), weight.dequantize(), None, *geometry
    )
    wanted = torch.quantize_per_tensor(numbers, 0.05, 90, torch.quint8)
    difference = (result.int_repr().int() - wanted.int_repr().int()).abs()
    assert difference.max().item() <= 1 and difference.float().mean().item() < 0.02
    assert getattr(q, f"conv{dims}d_groups")(packed) == 2


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_sums_of_convolutions_are_exact(dims, channels):
    x = activations(2, channels, *[7, 6, 5][:dims])
    weight = per_channel(tensor(5, channels, *[3, 2, 2][:dims]))
    geometry = ([2, 1, 1][:dims], [1, 0, 1][:dims], [1, 2, 1][:dims])
    pack = getattr(q, f"conv{dims}d_prepack")
    packed = pack(weight, None, *geometry, 1)
    places = x.int_repr()
    numbers = getattr(nn.functional, f"conv{dims}d")(
        places.double() - 70, weight.int_repr().double(), None, *geometry
    )
    assert packed.integer_sums(places, 70) is not None
    assert torch.equal(packed.sums(places, 70).double(), numbers)
    pointwise = per_channel(tensor(5, channels, *[1] * dims))
    packed = pack(pointwise, None, [1] * dims, [0] * dims, [1] * dims, 1)
    wanted = torch.einsum(
        "oi,bi...->bo...",
        pointwise.int_repr().double().flatten(1),
        places.double() - 70,
    )
    assert torch.equal(packed.sums(places, 70).double(), wanted)


def test_sums_and_products_of_two_tensors():
    a, b = activations(40), activations(40)
    floats = a.dequantize(), b.dequantize()
    for op, plain in ((q.add, floats[0] + floats[1]), (q.mul, floats[0] * floats[1])):
        wanted = torch.quantize_per_tensor(plain, 0.05, 100, torch.quint8)
        assert torch.equal(op(a, b, 0.05, 100), wanted)
    joined = q.cat([a, b], 0, 0.03, 70)
    assert torch.equal(joined, torch.cat([a, b]))


def test_a_number_moves_the_zero_point_or_the_scale():
    a = activations(40)
    moved = q.add(a, -0.3)
    assert (moved.q_scale(), moved.q_zero_point()) == (a.q_scale(), 80)
    assert torch.equal(moved.int_repr(), a.int_repr())
    mirrored = q.mul(a, -2.0)
    assert mirrored.q_zero_point() == 255 - 70
    assert torch.allclose(mirrored.dequantize(), a.dequantize() * -2)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrent_layers_are_near_their_float_form(kind, batch_first):
    torch.manual_seed(2)
    layer = getattr(nn, kind)(6, 8, 2, bidirectional=True, batch_first=batch_first)
    dynamic = quantization.quantize_dynamic(nn.Sequential(layer), {type(layer)})[0]
    x = tensor(5, 3, 6)
    wanted, states = layer(x)
    result, ends = dynamic(x)
    assert 0 < (result - wanted).abs().max().item() < 0.02
    if kind == "GRU":
        states, ends = (states,), (ends,)
    for one, other in zip(states, ends, strict=True):
        assert one.shape == other.shape and (one - other).abs().max().item() < 0.02
    with pytest.raises(RuntimeError, match="3 dimensions"):
        dynamic(tensor(5, 6))


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells_are_near_their_float_form(kind):
    torch.manual_seed(2)
    cell = getattr(nn, kind)(6, 8)
    dynamic = quantization.quantize_dynamic(nn.Sequential(cell), {type(cell)})[0]
    x = tensor(3, 6)
    wanted, result = cell(x), dynamic(x)
    if kind == "LSTMCell":
        wanted, result = wanted[1], result[1]
    assert 0 < (result - wanted).abs().max().item() < 0.02


def test_half_precision_weights_are_rounded():
    layer = nn.Linear(30, 4)
    dynamic = quantization.quantize_dynamic(
        nn.Sequential(layer), {nn.Linear}, dtype=torch.float16
    )[0]
    x = tensor(5, 30)
    wanted = nn.functional.linear(x, layer.weight.half().float(), layer.bias)
    assert torch.allclose(dynamic(x), wanted, atol=1e-5)


def test_embeddings_have_a_scale_for_each_row():
    layer = nn.EmbeddingBag(20, 8, mode="sum")
    layer.qconfig = quantization.float_qparams_weight_only_qconfig
    model = nn.Sequential(layer)
    quantized = quantization.convert(quantization.prepare(model))[0]
    bags = torch.tensor([[1, 2, 3], [4, 5, 19]])
    assert (quantized(bags) - layer(bags)).abs().max().item() < 0.05
    flat, offsets = bags.flatten(), torch.tensor([0, 3])
    assert torch.equal(quantized(flat, offsets), quantized(bags))


def test_bad_products_are_refused():
    weight = per_channel(tensor(5, 4))
    packed = q.linear_prepack(weight, None)
    with pytest.raises(NotImplementedError, match="QuantStub"):
        q.linear(tensor(2, 4), packed, 1.0, 0)
    with pytest.raises(RuntimeError, match="last dim"):
        q.linear(activations(2, 3), packed, 1.0, 0)
    with pytest.raises(RuntimeError, match="vector of 5"):
        q.linear_prepack(weight, tensor(4))
    with pytest.raises(NotImplementedError, match="expected a quantized"):
        q.linear_prepack(tensor(5, 4), None)
    with pytest.raises(AttributeError, match="nonsense"):
        q.nonsense(1)


@pytest.mark.parametrize(
    ("dims", "channels", "kernel", "stride", "padding", "dilation", "groups"),
    [
        (1, 3, 3, 2, 1, 1, 1),
        (2, 130, 3, 1, 1, 1, 1),
        (2, 8, 1, 1, 0, 1, 1),
        (2, 5, 3, 2, 2, 2, 1),
        (2, 6, 3, 1, 1, 1, 3),
        (3, 4, 2, 1, 1, 1, 1),
    ],
    ids=str,
)
def test_a_convolution_is_the_exact_sum_of_integers_rounded_once(
    dims, channels, kernel, stride, padding, dilation, groups
):
    x = activations(2, channels, *(9, 7, 6)[:dims])
    weight = per_channel(tensor(12, channels // groups, *([kernel] * dims)))
    bias = tensor(12)
    rest = [[each] * dims for each in (stride, padding, dilation)]
    centred = x.int_repr().double() - 70
    function = getattr(torch, f"conv{dims}d")
    sums = function(centred, weight.int_repr().double(), None, *rest, groups)
    shape = [1, -1, *([1] * dims)]
    scales = weight.q_per_channel_scales().reshape(shape).numpy()
    wanted = requantized(sums.numpy(), scales, bias.reshape(shape).numpy(), 0.2, 120)
    packed = getattr(q, f"conv{dims}d_prepack")(weight, bias, *rest, groups)
    for layout in (
        x,
        x.contiguous(memory_format=torch.channels_last) if dims == 2 else x,
    ):
        result = getattr(q, f"conv{dims}d")(layout, packed, 0.2, 120)
        assert (result.int_repr().numpy() == wanted).all()


def test_a_convolution_refuses_other_channels():
    packed = q.conv2d_prepack(
        per_channel(tensor(4, 3, 3, 3)), None, [1, 1], [0, 0], [1, 1], 1
    )
    with pytest.raises(RuntimeError, match="of 3 channels"):
        q.conv2d(activations(1, 4, 5, 5), packed, 0.2, 120)
