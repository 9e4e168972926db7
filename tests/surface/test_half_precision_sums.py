"""What adds halves rounds once: sums of gradients, statistics, differences, bags."""

import pytest

import pellucid as torch
from pellucid.nn import functional

HALVES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
COUNT = 5000  # beyond the integers that either dtype counts one by one

GATHERS = {
    "index": lambda x, i: x[i],
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i),
    "take": lambda x, i: x.take(i),
    "embedding": lambda x, i: functional.embedding(i, x.view(3, 1)),
    "nearest": lambda x, i: functional.interpolate(x[:1].view(1, 1, 1), size=COUNT),
    "replicate": lambda x, i: functional.pad(
        x[:1].view(1, 1), (COUNT - 1, 0), mode="replicate"
    ),
}


@HALVES
@pytest.mark.parametrize("name", GATHERS)
def test_a_gradient_adds_what_was_read_often(name, dtype):
    x = torch.zeros(3, dtype=dtype, requires_grad=True)
    y = GATHERS[name](x, torch.zeros(COUNT, dtype=torch.int64))
    (grad,) = torch.autograd.grad(y, x, torch.ones_like(y))
    assert grad.dtype == dtype
    assert grad[0] == torch.tensor(COUNT).to(dtype)


@HALVES
def test_statistics_of_a_batch_are_not_rounded(dtype):
    x = (torch.randn(64, 3, 50) + 3).to(dtype)
    mean, variance = torch.zeros(3), torch.zeros(3)
    functional.batch_norm(x, mean, variance, training=True, momentum=1.0)
    wide = x.float().transpose(0, 1).flatten(1)
    torch.testing.assert_close(mean, wide.mean(1))
    torch.testing.assert_close(variance, wide.var(1))
    for like in (None, torch.ones(3), torch.ones(3, dtype=dtype)):
        results = torch.native_batch_norm(x, like, None, None, None, True, 0.1, 1e-5)
        kept = dtype if like is None else like.dtype
        assert [r.dtype for r in results] == [dtype, kept, kept]


@HALVES
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_instance_norm_rounds_once(momentum, dtype):
    x = torch.randn(4, 3, 50).to(dtype)
    weight, bias = torch.randn(3).to(dtype), torch.randn(3).to(dtype)

    def normalized(*tensors):
        x, weight, bias = tensors
        running = torch.zeros(3, dtype=x.dtype), torch.ones(3, dtype=x.dtype)
        return functional.instance_norm(
            x, *running, weight, bias, use_input_stats=True, momentum=momentum
        )

    wide = normalized(x.float(), weight.float(), bias.float())
    off = (normalized(x, weight, bias).float() - wide).abs()
    assert (off <= wide.abs() * torch.finfo(dtype).eps / 2 + 1e-5).all()


@HALVES
@pytest.mark.parametrize("edge_order", [1, 2])
def test_differences_round_once(edge_order, dtype):
    x = torch.randn(50).to(dtype)
    points = torch.arange(50).to(dtype)
    for spacing in (0.3, (points,)):
        (actual,) = torch.gradient(x, spacing=spacing, edge_order=edge_order)
        wide = spacing if spacing == 0.3 else (points.float(),)
        (expected,) = torch.gradient(x.float(), spacing=wide, edge_order=edge_order)
        assert actual.dtype == dtype
        torch.testing.assert_close(actual, expected.to(dtype), rtol=0, atol=0)


@HALVES
def test_weighted_bags_round_once(dtype):
    table, weights = torch.randn(9, 4).to(dtype), torch.randn(3, 5).to(dtype)
    indices = torch.randint(9, (3, 5))

    def bags(table, weights):
        return functional.embedding_bag(
            indices, table, mode="sum", per_sample_weights=weights
        )

    expected = bags(table.float(), weights.float()).to(dtype)
    torch.testing.assert_close(bags(table, weights), expected, rtol=0, atol=1e-6)
