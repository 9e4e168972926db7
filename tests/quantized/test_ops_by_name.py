"""Quantization as ops: by name, as dispatch modes and tracers see them."""

import pytest

import pellucid as torch
from pellucid._subclasses import FakeTensorMode
from pellucid.fx.experimental.proxy_tensor import make_fx
from pellucid.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
X = torch.tensor([[0.3, -0.7, 1.9], [2.5, -1.2, 0.04]])
ONE_SCALE = torch.tensor([0.1]), torch.tensor([2], dtype=torch.int32)
ROW_SCALES = torch.tensor([0.1, 0.2]), torch.tensor([0, 1], dtype=torch.int32)
Q = torch.quantize_per_tensor(X, 0.1, 2, torch.quint8)
ROWS = torch.quantize_per_channel(X, *ROW_SCALES, 0, torch.qint8)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


def seen(call):
    with Seen() as mode:
        call()
    return mode.names


def fused():
    on, scale, point = torch.ones(1), torch.ones(1), torch.zeros(1, dtype=torch.int32)
    ends = torch.full((1,), float("inf")), torch.full((1,), -float("inf"))
    return on, on, *ends, scale, point, 0.5, 0, 255, 0


@pytest.mark.parametrize(
    ("name", "call"),
    [
        (
            "fake_quantize_per_tensor_affine_cachemask.default",
            lambda: torch.fake_quantize_per_tensor_affine(X, 0.1, 2, 0, 255),
        ),
        (
            "fake_quantize_per_channel_affine_cachemask.default",
            lambda: torch.fake_quantize_per_channel_affine(X, *ROW_SCALES, 0, 0, 255),
        ),
        (
            "quantize_per_tensor.default",
            lambda: torch.quantize_per_tensor(X, 0.1, 2, torch.quint8),
        ),
        (
            "quantize_per_tensor.tensor_qparams",
            lambda: torch.quantize_per_tensor(X, *ONE_SCALE, torch.quint8),
        ),
        (
            "quantize_per_tensor.tensors",
            lambda: torch.quantize_per_tensor([X], *ONE_SCALE, torch.quint8),
        ),
        (
            "quantize_per_tensor_dynamic.default",
            lambda: torch.quantize_per_tensor_dynamic(X, torch.qint8, False),
        ),
        (
            "quantize_per_channel.default",
            lambda: torch.quantize_per_channel(X, *ROW_SCALES, 0, torch.qint8),
        ),
        ("dequantize.self", lambda: Q.dequantize()),
        ("dequantize.tensors", lambda: torch.dequantize([Q, Q])),
        ("int_repr.default", lambda: Q.int_repr()),
        ("qscheme.default", lambda: Q.qscheme()),
        ("q_scale.default", lambda: Q.q_scale()),
        ("q_zero_point.default", lambda: torch.q_zero_point(Q)),
        ("q_per_channel_scales.default", lambda: ROWS.q_per_channel_scales()),
        ("q_per_channel_zero_points.default", lambda: ROWS.q_per_channel_zero_points()),
        ("q_per_channel_axis.default", lambda: ROWS.q_per_channel_axis()),
        (
            "quantized_max_pool1d.default",
            lambda: torch.quantized_max_pool1d(Q.unsqueeze(0), [2]),
        ),
    ],
)
def test_modes_see_the_op(name, call):
    names = seen(call)
    assert names[-1] == name and names.count(name) == 1


def test_modes_see_the_helper_of_the_fused_form():
    arguments = fused()
    names = seen(lambda: torch.fused_moving_avg_obs_fake_quant(X, *arguments))
    assert names == ["_fused_moving_avg_obs_fq_helper.default"]


def test_the_tensor_form_asks_whether_it_is_enabled():
    names = seen(lambda: torch.fake_quantize_per_tensor_affine(X, *ONE_SCALE, 0, 255))
    assert names == [
        "ones.default",
        "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default",
    ]


def test_masks_say_which_integers_are_in_bounds():
    y, mask = aten.fake_quantize_per_tensor_affine_cachemask(X, 0.1, 2, 0, 20)
    assert mask.tolist() == [[True, False, False], [False, False, True]]
    assert torch.equal(y, torch.fake_quantize_per_tensor_affine(X, 0.1, 2, 0, 20))
    grad = torch.full_like(X, 3.0)
    actual = aten.fake_quantize_per_tensor_affine_cachemask_backward(grad, mask)
    assert torch.equal(actual, grad * mask)


def test_gradients_pass_under_a_mode():
    x = X.clone().requires_grad_()
    with Seen():
        torch.fake_quantize_per_tensor_affine(x, 0.1, 2, 0, 20).sum().backward()
    _, mask = aten.fake_quantize_per_tensor_affine_cachemask(X, 0.1, 2, 0, 20)
    assert torch.equal(x.grad, mask.float())


def test_integers_are_no_numbers_to_round():
    with pytest.raises(NotImplementedError, match="int32"):
        torch.fake_quantize_per_tensor_affine(X.int(), 0.1, 2, 0, 20)


def test_graphs_have_the_op():
    graph = make_fx(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 2, 0, 20))(
        X
    ).graph
    targets = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    assert targets[0] == "aten.fake_quantize_per_tensor_affine_cachemask.default"


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_shapes_without_values(device):
    with FakeTensorMode() if device == "cpu" else torch.device("meta"):
        x, scales = torch.empty(2, 3), torch.ones(2)
        points = torch.zeros(2, dtype=torch.int32)
        one = torch.fake_quantize_per_tensor_affine(x, 0.1, 2, 0, 20)
        rows = torch.fake_quantize_per_channel_affine(x, scales, points, 0, 0, 20)
        y = torch.fused_moving_avg_obs_fake_quant(x, *fused())
    assert one.shape == rows.shape == y.shape == (2, 3)
    assert one.device.type == device


def test_results_are_written_where_out_says():
    integers = torch.empty(0, dtype=torch.uint8)
    assert aten.int_repr.out(Q, out=integers) is integers
    assert torch.equal(integers, Q.int_repr())
    floats = [torch.empty(0)]
    aten.dequantize.tensors_out([Q], out=floats)
    assert torch.equal(floats[0], Q.dequantize())
    result = torch.quantize_per_tensor(X * 0, 0.1, 2, torch.quint8)
    aten.quantize_per_tensor.out(X, 0.1, 2, torch.quint8, out=result)
    assert torch.equal(result.int_repr(), Q.int_repr())


def test_empty_ones_have_the_scales_of_another():
    one, rows = aten.empty_quantized([4], Q), aten.empty_quantized([2, 5], ROWS)
    assert (one.shape, one.q_scale(), one.q_zero_point()) == ((4,), 0.1, 2)
    assert torch.equal(rows.q_per_channel_scales(), ROWS.q_per_channel_scales())


def test_ranges_are_narrowed_where_that_loses_less():
    # what PyTorch 2.13 gives
    x = torch.arange(100.0) ** 2
    high, low = torch.choose_qparams_optimized(x, 100, 200, 0.16, 8)
    assert (high.item(), low.item()) == (pytest.approx(9751.9951), 0.0)
    with pytest.raises(RuntimeError, match="numel is out of the bound"):
        torch.choose_qparams_optimized(x, 101, 200, 0.16, 8)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_relu", "rnn_tanh"])
def test_int8_cells_are_near_float_cells(kind):
    torch.manual_seed(0)
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    x, h, c = torch.randn(3, 3, 4).unbind()
    state = [h, c] if kind == "lstm" else h
    weights = torch.randn(2, gates * 4, 4)
    biases = torch.randn(2, gates * 4)
    scale = float(weights.abs().max()) / 127
    integers = (weights / scale).round().to(torch.int8)
    unused = torch.empty(0)
    actual = getattr(torch, f"quantized_{kind}_cell")(
        *(x, state, *integers, *biases, unused, unused, unused, unused),
        *(scale, scale, 0, 0),
    )
    cell = f"{kind}_cell"
    wanted = getattr(torch, cell)(x, state, *(integers * scale), *biases)
    pairs = zip(actual, wanted, strict=True) if kind == "lstm" else [(actual, wanted)]
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=0, atol=0.05)
        assert not torch.equal(one, other)


def test_batch_norm_has_the_scale_that_is_given():
    x = torch.quantize_per_tensor(torch.randn(2, 3, 4, 4), 0.05, 64, torch.quint8)
    moments = torch.tensor([0.1, 0.0, -0.2]), torch.tensor([1.0, 2.0, 0.5])
    y = torch.quantized_batch_norm(x, None, None, *moments, 1e-5, 0.1, 70)
    wanted = torch.batch_norm(
        x.dequantize(), None, None, *moments, False, 0.0, 1e-5, False
    )
    assert (y.q_scale(), y.q_zero_point()) == (0.1, 70)
    assert (y.dequantize() - wanted).abs().max() <= 0.0501
