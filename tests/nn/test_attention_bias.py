"""Causal biases beside the masks that they name."""

import pytest

import pellucid as torch
from pellucid.nn import functional as F
from pellucid.nn.attention.bias import causal_lower_right, causal_upper_left


@pytest.mark.parametrize("make", [causal_lower_right, causal_upper_left])
@pytest.mark.parametrize("sizes", [(4, 4), (3, 6), (5, 2)])
@pytest.mark.filterwarnings("ignore:Lower right")
def test_attention_under_a_bias_is_attention_under_its_mask(make, sizes):
    queries, keys = sizes
    query = torch.randn(2, 2, queries, 8, requires_grad=True)
    key, value = torch.randn(2, 2, 2, keys, 8)
    bias = make(*sizes)
    mask = bias._materialize()
    assert mask.shape == sizes and repr(bias) == repr(mask)
    sees = mask.any(1)  # without a key to see, a row is 0 or NaN
    actual = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(actual[:, :, sees], expected[:, :, sees])
    actual[:, :, sees].sum().backward()
    assert query.grad is not None


def test_mistakes_and_warnings():
    with pytest.warns(UserWarning, match="Lower right"):
        causal_lower_right(3, 2)
    with pytest.raises(AssertionError, match="2D"):
        causal_upper_left(3)
    query = torch.ones(1, 1, 2, 8)
    with pytest.raises(ValueError, match="CausalBias"):
        F.scaled_dot_product_attention(
            query, query, query, attn_mask=causal_upper_left(2, 2), is_causal=True
        )
