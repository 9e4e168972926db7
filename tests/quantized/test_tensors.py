"""Quantized tensors: making them, reading their parts, printing, saving."""

import copy
import io
import pickle

import numpy
import pytest

import pellucid as torch

X = numpy.random.default_rng(0).standard_normal((3, 4)).astype("float32") * 4
DTYPES = {torch.qint8: (-128, 127), torch.quint8: (0, 255)}


def integers_of(x, scale, zero_point, dtype):
    places = x * numpy.float32(1 / numpy.float32(scale)) + zero_point
    return numpy.clip(numpy.rint(places), *DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_become_the_nearest_integers(dtype):
    q = torch.quantize_per_tensor(torch.tensor(X), 0.1, 3, dtype)
    assert q.dtype is dtype and q.is_quantized
    assert q.qscheme() is torch.per_tensor_affine
    assert (q.q_scale(), q.q_zero_point()) == (0.1, 3)
    expected = integers_of(X, 0.1, 3, dtype)
    assert numpy.array_equal(q.int_repr().numpy(), expected)
    numbers = (expected - 3).astype("float32") * numpy.float32(0.1)
    assert numpy.array_equal(q.dequantize().numpy(), numbers)


def test_ties_are_even_after_the_zero_point():
    q = torch.quantize_per_tensor(torch.tensor([0.5, 1.5, 2.5]), 1.0, 1, torch.qint8)
    assert q.int_repr().tolist() == [2, 2, 4]


def test_each_channel_has_its_scale():
    scales, zero_points = torch.tensor([0.1, 0.2, 0.5]), torch.tensor([0, 1, 2])
    q = torch.quantize_per_channel(
        torch.tensor(X), scales, zero_points, 0, torch.quint8
    )
    assert q.qscheme() is torch.per_channel_affine and q.q_per_channel_axis() == 0
    assert q.q_per_channel_scales().dtype is torch.float64
    rows = [
        integers_of(row, scale, point, torch.quint8)
        for row, scale, point in zip(X, scales.tolist(), (0, 1, 2), strict=True)
    ]
    assert numpy.array_equal(q.int_repr().numpy(), numpy.stack(rows))
    with pytest.raises(RuntimeError, match="one scale"):
        q.q_scale()


def test_a_dynamic_scale_holds_the_range_and_zero():
    scale, zero_point = torch._choose_qparams_per_tensor(torch.tensor([1.0, 5.1]))
    assert scale == pytest.approx(5.1 / 255) and zero_point == 0
    q = torch.quantize_per_tensor_dynamic(torch.tensor(X), torch.quint8, False)
    assert abs(q.dequantize().numpy() - X).max() <= q.q_scale()


def test_it_prints_its_numbers_and_its_scale():
    q = torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.5, 2, torch.quint8)
    assert repr(q) == (
        "tensor([0.5000, 1.0000], size=(2,), dtype=torch.quint8,\n"
        "       quantization_scheme=torch.per_tensor_affine, scale=0.5, zero_point=2)"
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_pickles_and_files_give_it_back(dtype):
    x = torch.tensor(X)
    channels = torch.tensor([0.1, 0.2, 0.5]), torch.tensor([0, 1, 2])
    for q in (
        torch.quantize_per_tensor(x, 0.1, 3, dtype),
        torch.quantize_per_channel(x, *channels, 0, dtype),
    ):
        file = io.BytesIO()
        torch.save({"q": q}, file)
        file.seek(0)
        assert torch.equal(torch.load(file)["q"], q)
        assert torch.equal(pickle.loads(pickle.dumps(q)), q)
        assert torch.equal(copy.deepcopy(q), q)


def test_integers_become_a_tensor_and_share_nothing():
    integers = torch.tensor([1, 2, 3], dtype=torch.uint8)
    q = torch._make_per_tensor_quantized_tensor(integers, 0.5, 1)
    integers.zero_()
    assert q.dtype is torch.quint8 and q.dequantize().tolist() == [0.0, 0.5, 1.0]
    assert q[1].item() == 0.5


def test_what_cannot_be_quantized_is_refused():
    x = torch.tensor(X)
    with pytest.raises(RuntimeError, match="zero point 300"):
        torch.quantize_per_tensor(x, 0.1, 300, torch.quint8)
    with pytest.raises(RuntimeError, match="Float tensor"):
        torch.quantize_per_tensor(x.double(), 0.1, 3, torch.quint8)
    with pytest.raises(RuntimeError, match=r"torch\.qint8"):
        torch.quantize_per_tensor(x, 0.1, 3, torch.int8)
    with pytest.raises(NotImplementedError, match="quantized tensor"):
        x.int_repr()


def test_scales_of_channels_are_floats_and_zero_points_in_range():
    x = torch.ones(2, 2)
    for scales, points, message in (
        *(([0.1, 0.2], [0, 500], "zero point 500"), ([0.1, 0.2], [-1, 0], "point -1")),
        ([1, 2], [0, 0], "floating"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.quantize_per_channel(
                x, torch.tensor(scales), torch.tensor(points), 0, torch.quint8
            )


def test_channels_are_selected_with_their_scales():
    x = torch.arange(8.0).reshape(4, 2)
    scales, points = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0, 1, 2, 3])
    q = torch.quantize_per_channel(x, scales.double(), points, 0, torch.qint8)
    floats = q.dequantize()
    for take in (lambda t: t[1:3], lambda t: t.split([1, 3])[1], lambda t: t.flip(0)):
        assert take(q).qscheme() is torch.per_channel_affine
        assert torch.equal(take(q).dequantize(), take(floats))
    assert q[::2].q_per_channel_zero_points().tolist() == [0, 2]
    row = q[2]
    assert row.qscheme() is torch.per_tensor_affine and row.q_zero_point() == 2
    assert torch.equal(row.dequantize(), floats[2])
    with pytest.raises(RuntimeError, match="scale per channel"):
        q.reshape(2, 2, 2)


def test_factories_of_quantized_tensors_keep_the_scale():
    q = torch.quantize_per_tensor(torch.zeros(2, 3), 0.5, 3, torch.quint8)
    assert torch.ones_like(q).int_repr().unique().tolist() == [5]
    assert torch.full_like(q, 2.0).dequantize().unique().tolist() == [2.0]
    assert torch.equal(q.expand_as(q).int_repr(), q.int_repr())
    with pytest.raises(NotImplementedError, match="QuantizedCPU"):
        q.normal_()


def test_an_op_of_quantized_and_other_numbers_is_refused():
    q = torch.quantize_per_tensor(torch.ones(2), 0.5, 3, torch.quint8)
    for other in (torch.ones(2), 2):
        with pytest.raises(RuntimeError, match="no common dtype"):
            q + other
    with pytest.raises(NotImplementedError, match="QuantizedCPU"):
        q + q
    order = torch.quantize_per_tensor(torch.tensor([3.0, 1.0]), 0.5, 0, torch.quint8)
    assert order.argsort().tolist() == [1, 0]
