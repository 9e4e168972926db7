"""``torch.nn.attention``: scores by a function, masks by blocks, backends by name."""

import pytest

import pellucid as torch
from pellucid.nn.attention import SDPBackend, sdpa_kernel
from pellucid.nn.attention.flex_attention import (
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)
from pellucid.nn.functional import scaled_dot_product_attention


@pytest.fixture
def heads():
    torch.manual_seed(0)
    return [torch.randn(2, 4, 10, 8) for _ in range(3)]


def causal(b, h, q, kv):
    return q >= kv


def test_without_functions_it_is_attention(heads):
    expected = scaled_dot_product_attention(*heads)
    assert torch.allclose(flex_attention(*heads), expected, atol=1e-6)


def test_a_mask_by_a_function_of_positions(heads):
    mask = create_block_mask(causal, None, None, 10, 10, device="cpu", BLOCK_SIZE=4)
    expected = scaled_dot_product_attention(*heads, is_causal=True)
    actual = flex_attention(*heads, block_mask=mask)
    assert torch.allclose(actual, expected, atol=1e-6)
    assert mask.shape == (1, 1, 10, 10)
    assert mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 3]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]]
    assert mask.sparsity() == pytest.approx(4.0)


def test_a_function_of_scores_and_its_gradient(heads):
    query, key, value = heads
    query.requires_grad_()

    def nearer(score, b, h, q, kv):
        return score - (h + 1) * (q - kv).abs()

    actual, sums = flex_attention(query, key, value, nearer, return_lse=True)
    places = torch.arange(10)
    bias = -(places[:, None] - places).abs() * torch.arange(1, 5).view(4, 1, 1)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=bias.float())
    assert torch.allclose(actual, expected, atol=1e-5)
    assert sums.shape == (2, 4, 10)
    (first,) = torch.autograd.grad(actual.sum(), query)
    (second,) = torch.autograd.grad(expected.sum(), query)
    assert torch.allclose(first, second, atol=1e-5)


def test_queries_without_keys_get_zero(heads):
    mask = create_block_mask(lambda b, h, q, kv: q + kv < 0, None, None, 10, 10)
    assert not flex_attention(*heads, block_mask=mask).any()


def test_heads_share_keys(heads):
    query, key, value = heads
    with pytest.raises(ValueError, match="enable_gqa"):
        flex_attention(query, key[:, :2], value[:, :2])
    actual = flex_attention(query, key[:, :2], value[:, :2], enable_gqa=True)
    more = [t[:, :2].repeat_interleave(2, 1) for t in (key, value)]
    assert torch.allclose(actual, flex_attention(query, *more))


def test_masks_combine():
    def near(b, h, q, kv):
        return (q - kv).abs() <= 1

    both = create_mask(and_masks(causal, near), None, None, 3, 3)
    assert both[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    any_of = create_mask(or_masks(causal, near), None, None, 3, 3)
    assert any_of[0, 0].int().tolist() == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]


def test_backends_are_chosen_by_name(heads):
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION]):
        scaled_dot_product_attention(*heads)
    with pytest.raises(RuntimeError, match="MATH"):
        sdpa_kernel(SDPBackend.CUDNN_ATTENTION).__enter__()
