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
