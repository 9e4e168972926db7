"""Attention and its gradient, which run block by block, against full matrices."""

import numpy as np
import pytest

import pellucid
from pellucid.nn.functional import scaled_dot_product_attention


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def softmax(scores):
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def attend(q, k, v, mask, causal, cotangent):
    """The result and the gradients of q, k and v, from full matrices."""
    scale = 1 / np.sqrt(q.shape[-1])
    scores = np.einsum("...ie,...je->...ij", q * scale, k)
    if causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = (
            np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
        )
    p = softmax(scores)
    dp = np.einsum("...ie,...je->...ij", cotangent, v)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    return (
        p @ v,
        ds @ k,
        np.einsum("...ij,...ie->...je", ds, q),
        np.einsum("...ij,...ie->...je", p, cotangent),
    )


def run(q, k, v, mask, causal, cotangent):
    arguments = [pellucid.tensor(t, requires_grad=True) for t in (q, k, v)]
    mask = None if mask is None else pellucid.tensor(mask)
    out = scaled_dot_product_attention(*arguments, mask, is_causal=causal)
    out.backward(pellucid.tensor(cotangent))
    return [out.detach().numpy(), *(t.grad.numpy() for t in arguments)]


SHAPES = {
    "one block": ((2, 3, 20, 8), (2, 3, 20, 8)),
    "groups of heads, the last one smaller": ((3, 13, 24, 8), (3, 13, 24, 8)),
    "heads in groups, more keys than queries": ((2, 30, 7, 16), (2, 30, 19, 16)),
    "several blocks of queries": ((1, 2, 150, 8), (1, 2, 150, 8)),
    "fewer queries than keys": ((2, 3, 70, 16), (2, 3, 190, 16)),
    "fewer keys than queries": ((2, 2, 190, 8), (2, 2, 70, 8)),
    "blocks that share the copies of keys": ((8, 600, 64), (8, 450, 64)),
    "one query": ((2, 4, 1, 8), (2, 4, 300, 8)),
    "one query of one head": ((1, 1, 1, 8), (1, 1, 5, 8)),
    "no heads": ((3, 70, 8), (3, 90, 8)),
    "no batch": ((70, 8), (90, 8)),
    "no queries": ((2, 3, 0, 8), (2, 3, 5, 8)),
    "no keys": ((2, 3, 5, 8), (2, 3, 0, 8)),
    "long keys": ((1, 1, 90, 4), (1, 1, 2500, 4)),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("case", SHAPES)
def test_blocks_are_the_whole_matrices(case, causal):
    queries, keys = SHAPES[case]
    q, k, v = random(*queries), random(*keys, seed=1), random(*keys, seed=2)
    cotangent = random(*queries, seed=3)
    actual = run(q, k, v, None, causal, cotangent)
    for have, want in zip(
        actual, attend(q, k, v, None, causal, cotangent), strict=True
    ):
        np.testing.assert_allclose(have, want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("shape", [(70, 90), (2, 1, 1, 90), (2, 3, 70, 90), (70, 1)])
@pytest.mark.parametrize("kind", [bool, float])
def test_masks_of_any_shape(shape, kind):
    mask = random(*shape, seed=4)
    mask = mask > 0.5 if kind is bool else mask
    q, k, v = random(2, 3, 70, 8), random(2, 3, 90, 8, seed=1), random(2, 3, 90, 8)
    cotangent = random(2, 3, 70, 8, seed=3)
    actual = run(q, k, v, mask, False, cotangent)
    want = attend(q, k, v, np.broadcast_to(mask, (2, 3, 70, 90)), False, cotangent)
    for have, expected in zip(actual, want, strict=True):
        np.testing.assert_allclose(have, expected, rtol=1e-11, atol=1e-12)


def test_bits_do_not_depend_on_threads():
    q, k, v = (random(1, 3, 200, 16, seed=n).astype(np.float32) for n in range(3))
    before = pellucid.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            pellucid.set_num_threads(threads)
            results.append(run(q, k, v, None, True, v))
    finally:
        pellucid.set_num_threads(before)
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            assert (first == second).all()


def test_what_a_causal_row_excludes_does_not_reach_it():
    """Zero weight times an infinity counts as zero beyond a block of rows."""
    q, k, v = random(1, 1, 128, 8), random(1, 1, 128, 8, seed=1), random(1, 1, 128, 8)
    v[..., -1, :] = np.inf
    out = scaled_dot_product_attention(
        *map(pellucid.tensor, (q, k, v)), is_causal=True
    ).numpy()
    assert np.isfinite(out[..., :64, :]).all()
    assert not np.isfinite(out[..., -1, :]).any()


def test_transposed_heads_are_read_in_place():
    q, k, v = (random(2, 60, 3, 8, seed=n) for n in range(3))
    heads = [np.swapaxes(t, 1, 2) for t in (q, k, v)]
    arguments = [pellucid.tensor(t).transpose(1, 2) for t in (q, k, v)]
    out = scaled_dot_product_attention(*arguments, is_causal=True).numpy()
    want = attend(*heads, None, True, heads[2])[0]
    np.testing.assert_allclose(out, want, rtol=1e-11, atol=1e-12)


def test_half_precision_rounds_as_separate_ops_do():
    q, k, v = (random(2, 3, 40, 16, seed=n) for n in range(3))
    arguments = [pellucid.tensor(t).to(pellucid.bfloat16) for t in (q, k, v)]
    out = scaled_dot_product_attention(*arguments, is_causal=True).double().numpy()
    want = attend(q, k, v, None, True, v)[0]
    np.testing.assert_allclose(out, want, atol=0.05)


@pytest.mark.parametrize("causal", [False, True])
def test_grouped_heads_share_keys_and_values(causal):
    q, cotangent = random(2, 6, 70, 8), random(2, 6, 70, 8, seed=3)
    k, v = random(2, 2, 90, 8, seed=1), random(2, 2, 90, 8, seed=2)
    arguments = [pellucid.tensor(t, requires_grad=True) for t in (q, k, v)]
    out = scaled_dot_product_attention(*arguments, is_causal=causal, enable_gqa=True)
    out.backward(pellucid.tensor(cotangent))
    whole = (q, k.repeat(3, axis=1), v.repeat(3, axis=1))
    want = list(attend(*whole, None, causal, cotangent))
    want[2:] = [t.reshape(2, 2, 3, 90, 8).sum(2) for t in want[2:]]
    for have, expected in zip(
        [out.detach(), *(t.grad for t in arguments)], want, strict=True
    ):
        np.testing.assert_allclose(have.numpy(), expected, rtol=1e-11, atol=1e-12)


def test_dropout_draws_as_a_mask_of_the_weights_does():
    q, k, v = (random(2, 3, 40, 8, seed=n) for n in range(3))
    arguments = [pellucid.tensor(t, requires_grad=True) for t in (q, k, v)]
    pellucid.manual_seed(5)
    out = scaled_dot_product_attention(*arguments, dropout_p=0.25)
    out.sum().backward()
    pellucid.manual_seed(5)
    factor = pellucid.dropout(pellucid.ones(2, 3, 40, 40), 0.25, True).numpy()
    p = softmax(np.einsum("...ie,...je->...ij", q / np.sqrt(8), k))
    np.testing.assert_allclose(out.detach().numpy(), (p * factor) @ v, rtol=1e-6)
    want = np.einsum("...ij,...ie->...je", p * factor, np.ones_like(q))
    np.testing.assert_allclose(arguments[2].grad.numpy(), want, rtol=1e-6)
