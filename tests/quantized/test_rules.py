"""Ops on quantized tensors: those that move, compare, compute and write."""

import numpy
import pytest

import pellucid as torch
import pellucid.nn.functional as F

X = numpy.random.default_rng(1).standard_normal((2, 3, 4, 4)).astype("float32") * 4


@pytest.fixture(params=[(torch.quint8, 100), (torch.qint8, 3)], ids=["quint8", "qint8"])
def q(request):
    dtype, zero_point = request.param
    return torch.quantize_per_tensor(torch.tensor(X), 0.05, zero_point, dtype)


MOVES = {
    "view": lambda x: x.view(2, -1),
    "transpose": lambda x: x.transpose(1, 2),
    "permute": lambda x: x.permute(0, 2, 3, 1),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[0, ..., 1],
    "index": lambda x: x[torch.tensor([1, 0])],
    "flip": lambda x: x.flip(1),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x]),
    "expand": lambda x: x[:1].expand(5, 3, 4, 4),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.permute(0, 2, 3, 1).contiguous(),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
}


@pytest.mark.parametrize("name", MOVES)
def test_moved_elements_have_their_numbers_and_scale(q, name):
    moved = MOVES[name](q)
    assert moved.is_quantized and moved.q_scale() == q.q_scale()
    assert torch.equal(moved.dequantize(), MOVES[name](q.dequantize()))


def test_views_share_the_integers(q):
    q[0].fill_(1.0)
    assert q.dequantize()[0].unique().tolist() == [1.0]
    q.view(-1)[5:7].copy_(torch.zeros(2))
    assert q.dequantize().view(-1)[5:7].tolist() == [0.0, 0.0]


def test_comparisons_are_of_the_numbers(q):
    numbers = q.dequantize()
    assert torch.equal(q < 0.5, numbers < 0.5)
    assert torch.equal(q == q.flip(0), numbers == numbers.flip(0))


COMPUTED = {
    "relu": torch.relu,
    "relu6": F.relu6,
    "clamp": lambda x: torch.clamp(x, -1, 1),
    "mean": lambda x: x.mean([2, 3]),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


@pytest.mark.parametrize("name", COMPUTED)
def test_a_result_is_within_half_a_step_of_the_number(q, name):
    result, wanted = COMPUTED[name](q), COMPUTED[name](q.dequantize())
    least, most = (0, 255) if q.dtype is torch.quint8 else (-128, 127)
    ends = (torch.tensor([least, most]) - result.q_zero_point()) * result.q_scale()
    wanted = wanted.clamp(*ends.tolist())
    error = (result.dequantize() - wanted).abs().max().item()
    assert error <= result.q_scale() * 0.5001


def test_fixed_scales_of_bounded_functions(q):
    signed = q.dtype is torch.qint8
    result = torch.sigmoid(q)
    assert (result.q_scale(), result.q_zero_point()) == (1 / 256, -128 if signed else 0)


def test_ops_without_a_form_are_refused(q):
    for call in (lambda: q + q, lambda: q.sum(), lambda: q[0, 0] @ q[0, 0]):
        with pytest.raises(NotImplementedError, match="QuantizedCPU"):
            call()


def test_channels_stay_with_their_scales():
    scales, points = torch.tensor([0.1, 0.2, 0.5]), torch.tensor([0, 1, 2])
    q = torch.quantize_per_channel(torch.tensor(X), scales, points, 1, torch.qint8)
    moved = q.permute(1, 0, 2, 3)
    assert moved.q_per_channel_axis() == 0
    assert torch.equal(moved.dequantize(), q.dequantize().permute(1, 0, 2, 3))
    assert q[0].q_per_channel_axis() == 0
    for moved in (q.roll(1, 0), q.repeat(1, 1, 2, 1), q.unbind(0)[0], q.flatten(2)):
        axis = moved.q_per_channel_axis()
        assert axis == (0 if moved.dim() == 3 and moved.shape[0] == 3 else 1)
        assert moved.shape[axis] == 3
    assert torch.equal(q.roll(1, 0).dequantize(), q.dequantize().roll(1, 0))
    assert torch.equal(q.flip(1).dequantize(), q.dequantize().flip(1))
    assert q[:, 1].q_scale() == q.q_per_channel_scales()[1].item()
    with pytest.raises(RuntimeError, match="scale per channel"):
        q.view(-1)


def test_what_a_declaration_implies_needs_no_rule(q):
    numbers = q.dequantize()
    assert torch.equal(torch.isnan(q), torch.isnan(numbers))
    assert torch.equal(q.msort().dequantize(), numbers.msort())
    other = torch.quantize_per_tensor(numbers / 2, 0.1, 5, q.dtype)
    stacked = torch.stack([q, other])
    assert stacked.q_scale() == q.q_scale()
    assert (stacked[1].dequantize() - other.dequantize()).abs().max() <= 0.025 + 1e-6


def test_in_place_ops_write_the_integers_and_the_scales(q):
    wanted = q.sigmoid()
    assert q.sigmoid_() is q
    assert q.q_scale() == wanted.q_scale() and torch.equal(q, wanted)


def channels(axis=1, scales=(0.1, 0.05, 0.2), dtype=torch.qint8):
    zeros = torch.tensor([0, 1, 2])
    return torch.quantize_per_channel(
        torch.tensor(X), torch.tensor(scales), zeros, axis, dtype
    )


SHARING = {
    "clone": lambda x: x.clone(),
    "relu": torch.relu,
    "empty_like": lambda x: torch.empty_like(x).copy_(x),
    "view": lambda x: x.clone().view(-1),
    "flip": lambda x: x.flip(0),
}
WRITES = {
    "sigmoid_": lambda x: x.sigmoid_(),
    "tanh_": lambda x: x.tanh_(),
    "copy_": lambda x: x.copy_(
        torch.quantize_per_tensor(torch.ones(x.shape), 0.5, 1, x.dtype)
    ),
    "out=": lambda x: torch.sigmoid(x.clone(), out=x),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", SHARING)
def test_writes_leave_the_scale_of_other_tensors(q, name, write):
    scale, zero_point, numbers = q.q_scale(), q.q_zero_point(), q.dequantize()
    other = SHARING[name](q)
    found = WRITES[write](other)
    assert found is other and found.q_scale() != scale
    assert (q.q_scale(), q.q_zero_point()) == (scale, zero_point)
    assert torch.equal(q.dequantize(), numbers)


@pytest.mark.parametrize("name", ["clone", "empty_like"])
def test_writes_leave_the_scales_of_channels_of_other_tensors(name):
    make = {"clone": torch.clone, "empty_like": torch.empty_like}[name]
    q = channels()
    numbers, other = q.dequantize(), make(q)
    other.copy_(channels(scales=(0.5, 0.25, 1.0)))
    assert other.q_per_channel_scales().tolist() == [0.5, 0.25, 1.0]
    assert torch.equal(q.q_per_channel_scales(), channels().q_per_channel_scales())
    assert torch.equal(q.dequantize(), numbers)


def test_a_write_takes_the_axis_of_the_channels():
    x = torch.arange(9.0).view(3, 3)
    scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.zeros(3, dtype=torch.int64)
    rows, columns = (
        torch.quantize_per_channel(x, scales, zeros, axis, torch.quint8)
        for axis in (0, 1)
    )
    assert rows.copy_(columns).q_per_channel_axis() == 1
    assert torch.equal(rows.dequantize(), columns.dequantize())


def test_what_a_quantized_tensor_cannot_hold_is_not_written_to_it(q):
    of_channels = channels(dtype=q.dtype)
    other = torch.quint8 if q.dtype is torch.qint8 else torch.qint8
    unlike = torch.quantize_per_tensor(q.dequantize(), 0.1, 5, other)
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.sigmoid(q, out=unlike)
    with pytest.raises(RuntimeError, match="same dtype"):
        unlike.copy_(q)
    with pytest.raises(RuntimeError, match="cannot be written to a quantized"):
        torch.sigmoid(q[:1], out=q.clone())
    for target, source in ((q, of_channels), (of_channels, q)):
        with pytest.raises(RuntimeError, match="same qscheme"):
            target.clone().copy_(source)
    with pytest.raises(RuntimeError, match="needs equal sizes"):
        of_channels.clone().copy_(of_channels[:1])


def test_channels_are_resampled_with_their_scales():
    scales, zeros = torch.tensor([0.1, 0.05, 0.2]), torch.tensor([0, 1, 2])
    q = torch.quantize_per_channel(torch.tensor(X), scales, zeros, 1, torch.qint8)
    found = F.interpolate(q, scale_factor=2)
    assert found.q_per_channel_axis() == 1
    assert torch.equal(
        found.dequantize(), F.interpolate(q.dequantize(), scale_factor=2)
    )


def test_numbers_written_under_a_mask_or_at_indices_are_rounded(q):
    mask = torch.rand(q.shape) > 0.5
    filled = q.masked_fill(mask, 0.24)
    wanted = q.int_repr().clone()
    wanted[mask] = torch.quantize_per_tensor(
        torch.tensor(0.24), q.q_scale(), q.q_zero_point(), q.dtype
    ).int_repr()
    assert torch.equal(filled.int_repr(), wanted)
    assert filled.q_scale() == q.q_scale()
    written = q.clone().masked_fill_(mask, torch.tensor(0.24))
    assert torch.equal(written, filled)
    written = q.clone().index_put_((mask,), torch.tensor(0.24))
    assert torch.equal(written, filled)
    with pytest.raises(RuntimeError, match="should not be quantized"):
        q.index_put((torch.tensor([0]),), q[0])
    with pytest.raises(RuntimeError, match="accumulate=False"):
        q.index_put((torch.tensor([0]),), torch.tensor(1.0), True)


def test_in_place_views_change_the_sizes(q):
    other = q.clone()
    assert other.transpose_(0, 1) is other
    assert torch.equal(other, q.transpose(0, 1))
    assert other.unsqueeze_(0).shape == (1, *q.transpose(0, 1).shape)
    assert torch.equal(other.squeeze_(0).transpose_(0, 1), q)
    assert torch.equal(q.rot90().int_repr(), q.int_repr().rot90())
    for name in ("swapaxes", "swapdims"):
        other = q.clone()
        assert getattr(other, f"{name}_")(0, 1) is other
        assert torch.equal(other, q.transpose(0, 1))
    other = q.clone()
    integers = q.int_repr().as_strided((2, 2), (1, 1))
    assert torch.equal(other.as_strided_((2, 2), (1, 1)).int_repr(), integers)


def test_a_quantized_tensor_is_resized_in_its_memory(q):
    other, count = q.clone(), q.numel()
    assert other.resize_(count) is other
    assert torch.equal(other, q.flatten())
    assert other.q_scale() == q.q_scale()
    assert torch.equal(other.resize_(2).int_repr(), q.int_repr().flatten()[:2])
    grown = other.resize_(3 * count)
    assert torch.equal(grown.int_repr()[:count], q.int_repr().flatten())
    assert grown.resize_as_(torch.ones(q.shape)).shape == q.shape
    by_channel = torch.quantize_per_channel(
        *(torch.ones(2, 3), torch.ones(2), torch.zeros(2)), 0, torch.qint8
    )
    with pytest.raises(RuntimeError, match="a scale per channel"):
        by_channel.resize_(6)
