"""Quantized nested tensors: what docs/rfc/nested-quantized.md says runs."""

import runpy
from pathlib import Path

import pytest

import pellucid as torch

ROOT = Path(__file__).resolve().parents[2]
OFFSETS = torch.tensor([0, 2, 2, 6])
CACHE = runpy.run_path(str(ROOT / "examples" / "ragged_kv_cache.py"))


def _rows(width=64):
    torch.manual_seed(7)
    return torch.nested.nested_tensor_from_jagged(torch.randn(6, width), OFFSETS)


@pytest.mark.parametrize("scheme", ["tensor", "feature"])
def test_examples_of_quantized_values_are_quantized(scheme):
    values = _rows(4).values()
    if scheme == "tensor":
        q = torch.quantize_per_tensor(values, 0.05, 3, torch.quint8)
    else:
        scales, zeros = torch.tensor([0.1, 0.2, 0.05, 0.1]), torch.zeros(4)
        q = torch.quantize_per_channel(values, scales, zeros, 1, torch.qint8)
    x = torch.nested.nested_tensor_from_jagged(q, OFFSETS)
    for one, other in zip(x.unbind(), q.dequantize().split([2, 0, 4]), strict=True):
        assert one.is_quantized and torch.equal(one.dequantize(), other)
    assert torch.equal(x.values().int_repr(), q.int_repr())


AXES = {"example": 0, "token": 1, "feature": 2}


@pytest.mark.parametrize("per", ["tensor", "dynamic", *AXES])
def test_a_nested_tensor_is_quantized_by_its_values(per):
    x = _rows(4)
    if per == "tensor":
        q = torch.quantize_per_tensor(x, 0.03, 10, torch.qint8)
        assert (q.q_scale(), q.q_zero_point()) == (0.03, 10)
        steps = torch.full((6, 4), 0.03)
    elif per == "dynamic":
        q = torch.quantize_per_tensor_dynamic(x, torch.quint8, False)
        steps = torch.full((6, 4), q.q_scale())
    else:
        count = {"example": 3, "token": 6, "feature": 4}[per]
        scales = torch.linspace(0.02, 0.05, count)
        zeros = torch.zeros(count, dtype=torch.int64)
        steps = {"example": scales[[0, 0, 2, 2, 2, 2]], "token": scales}.get(per)
        steps = scales.expand(6, 4) if steps is None else steps.unsqueeze(1)
        if per == "token":
            scales, zeros = (
                torch.nested.nested_tensor_from_jagged(each, OFFSETS)
                for each in (scales, zeros)
            )
        q = torch.quantize_per_channel(x, scales, zeros, AXES[per], torch.qint8)
    least, most = (0, 255) if per == "dynamic" else (-128, 127)
    zero = q.q_zero_point() if per in ("tensor", "dynamic") else 0
    places = (x.values() / steps).round() + zero
    expected = (places.clamp(least, most) - zero) * steps
    assert torch.allclose(q.dequantize().values(), expected, atol=1e-6)
    assert q.dequantize().shape == x.shape
    assert q.int_repr().values().dtype in (torch.int8, torch.uint8)
    for one, other in zip(q.unbind(), expected.split([2, 0, 4]), strict=True):
        assert one.is_quantized
        assert torch.allclose(one.dequantize(), other, atol=1e-6)


def test_scales_of_examples_and_tokens_are_checked():
    x, zeros = _rows(4), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="expected 3 scales"):
        torch.quantize_per_channel(x, torch.ones(2), zeros, 0, torch.qint8)
    other = torch.nested.nested_tensor_from_jagged(torch.ones(6), OFFSETS.clone())
    with pytest.raises(RuntimeError, match="structure of the quantized tensor"):
        torch.quantize_per_channel(x, other, other, 1, torch.qint8)


def test_a_quantized_layer_of_a_nested_tensor_is_that_of_its_rows():
    x = torch.quantize_per_tensor(_rows(4), 0.03, 128, torch.quint8)
    weight = torch.quantize_per_tensor(torch.randn(3, 4), 0.02, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, torch.randn(3))
    actual = torch.ops.quantized.linear(x, packed, 0.05, 120)
    expected = torch.ops.quantized.linear(x.values(), packed, 0.05, 120)
    assert torch.equal(actual.values().int_repr(), expected.int_repr())
    assert torch.equal(actual.offsets(), OFFSETS)


def test_a_cache_of_int8_rows_has_scales_of_its_tokens():
    rows = _rows()
    stored = CACHE["quantized"](rows)
    assert stored.integers.dtype is torch.int8
    assert stored.scales.shape[1] == rows.shape[1]
    assert stored.num_bytes() == 6 * 64 + 6 * 4
    error = (stored.dequantize() - rows).values().abs()
    assert bool((error <= stored.scales.values() / 2 * 1.001).all())
    zeros = CACHE["quantized"](rows * 0)
    assert not zeros.dequantize().values().any()


def test_attention_over_an_int8_cache_is_that_of_its_numbers():
    lengths = (2, 5, 1)
    rows = torch.nested.nested_tensor(
        [torch.randn(n, 64) for n in lengths], layout=torch.jagged
    )
    stored, queries = CACHE["quantized"](rows), torch.randn(3, 1, 64)
    actual = CACHE["attend"](queries, stored, stored)
    for k, own in enumerate(stored.dequantize().unbind()):
        heads = [t.unflatten(-1, (4, -1)).transpose(0, 1) for t in (queries[k], own)]
        expected = torch.nn.functional.scaled_dot_product_attention(
            heads[0], heads[1], heads[1]
        )
        torch.testing.assert_close(actual[k], expected.transpose(0, 1).flatten(1))


def test_the_example_prints_memory_and_error(capsys):
    CACHE["main"]()
    assert "102136 int8, 384512 float32, 1310720 padded" in capsys.readouterr().out
