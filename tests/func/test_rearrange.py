"""``func.rearrange``: dims permuted, split and joined by a pattern of names."""

import pytest

import pellucid as torch
from pellucid.func import rearrange, vmap


@pytest.mark.parametrize(
    "shape, pattern, lengths, want",
    [
        ((4, 3, 5, 2), "b h w c -> (b h) w c", {}, lambda x: x.reshape(12, 5, 2)),
        (
            *((4, 3, 5, 2), "b h w c -> h (b w) c", {}),
            lambda x: x.permute(1, 0, 2, 3).reshape(3, 20, 2),
        ),
        (
            *((2, 6, 8), "b (i h) (w j) -> (b i j) h w", {"i": 2, "j": 4}),
            lambda x: x.reshape(2, 2, 3, 2, 4).permute(0, 1, 4, 2, 3).reshape(16, 3, 2),
        ),
        ((2, 3, 4), "... a -> a ...", {}, lambda x: x.permute(2, 0, 1)),
        ((2, 3, 4), "a ... -> (a ...)", {}, lambda x: x.reshape(24)),
        (
            (2, 3, 4),
            "a ... -> (...) a",
            {},
            lambda x: x.permute(1, 2, 0).reshape(12, 2),
        ),
        ((2, 1, 4), "a 1 b -> b a", {}, lambda x: x.squeeze(1).t()),
        ((2, 4), "a b -> a 1 b ()", {}, lambda x: x[:, None, :, None]),
        ((6,), "(a b) -> b a", {"a": 2}, lambda x: x.reshape(2, 3).t()),
        ((0, 3), "a b -> b a", {}, lambda x: x.t()),
    ],
)
def test_patterns(shape, pattern, lengths, want):
    x = torch.randn(shape)
    assert torch.equal(rearrange(x, pattern, **lengths), want(x))


def test_a_list_is_stacked_and_gradients_flow():
    parts = [torch.randn(2, 3, requires_grad=True) for _ in range(4)]
    joined = rearrange(parts, "n a b -> a (n b)")
    assert torch.equal(joined, torch.cat(parts, 1))
    joined.sum().backward()
    assert torch.equal(parts[2].grad, torch.ones(2, 3))
    batch = torch.randn(5, 2, 3)
    turned = vmap(lambda x: rearrange(x, "a b -> b a"))(batch)
    assert torch.equal(turned, batch.mT)


@pytest.mark.parametrize(
    "shape, pattern, lengths",
    [
        ((2, 3), "a b", {}),
        ((2, 3), "a b -> a", {}),
        ((2, 3), "a b c -> a b c", {}),
        ((2, 3), "a -> a", {}),
        ((6,), "(a b) -> b a", {}),
        ((6,), "(a b) -> b a", {"a": 4}),
        ((2, 3), "a a -> a a", {}),
        ((2, 3), "(a b -> a b", {}),
        ((2, 3), "a b -> b a", {"c": 2}),
        ((2, 3), "a b -> b a ...", {}),
        ((2, 3), "a (...) -> a ...", {}),
        ((2, 3), "a 2 -> a", {}),
    ],
)
def test_what_cannot_be_read_or_does_not_fit(shape, pattern, lengths):
    with pytest.raises(ValueError):
        rearrange(torch.ones(shape), pattern, **lengths)
