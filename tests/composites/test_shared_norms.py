"""Statistics and gradients combined from parts equal those of the whole batch."""

import pytest

import pellucid as torch


@pytest.fixture
def batch():
    torch.manual_seed(0)
    x = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(3, dtype=torch.float64, requires_grad=True)
    return x, weight, bias


def _running():
    return torch.zeros(3).double(), torch.ones(3).double()


def _gathered(parts, running):
    means, deviations = zip(
        *(torch.batch_norm_stats(p, 1e-5) for p in parts), strict=True
    )
    together = torch.stack(means), torch.stack(deviations)
    counts = torch.tensor([p.numel() // 3 for p in parts])
    return torch.batch_norm_gather_stats_with_counts(
        parts[0], *together, *running, 0.1, 1e-5, counts
    )


def test_parts_normalize_as_the_whole(batch):
    x, weight, bias = batch
    expected, buffers = _running(), _running()
    whole = torch.nn.functional.batch_norm(x, *expected, weight, bias, True, 0.1, 1e-5)
    parts = x.detach().split([4, 2])
    mean, invstd = _gathered(parts, buffers)
    actual = [
        torch.batch_norm_elemt(p, weight, bias, mean, invstd, 1e-5) for p in parts
    ]
    torch.testing.assert_close(torch.cat(actual), whole)
    torch.testing.assert_close(buffers, expected)


def test_gradients_of_parts_are_those_of_the_whole(batch):
    x, weight, bias = batch
    whole = torch.nn.functional.batch_norm(x, None, None, weight, bias, True)
    grad = torch.randn_like(whole)
    expected = torch.autograd.grad(whole, batch, grad)
    parts, grads = x.detach().split([4, 2]), grad.split([4, 2])
    mean, invstd = _gathered(parts, (None, None))
    sums = [
        torch.batch_norm_backward_reduce(g, p, mean, invstd, weight, True, True, True)
        for g, p in zip(grads, parts, strict=True)
    ]
    total, along, of_weight, of_bias = (sum(s) for s in zip(*sums, strict=True))
    counts = torch.tensor([16, 8], dtype=torch.int32)
    of_x = [
        torch.batch_norm_backward_elemt(
            g, p, mean, invstd, weight, total, along, counts
        )
        for g, p in zip(grads, parts, strict=True)
    ]
    torch.testing.assert_close((torch.cat(of_x), of_weight, of_bias), expected)


def test_equal_counts_are_one_number():
    parts = torch.randn(4, 3, 2).chunk(2)
    stats = [torch.batch_norm_stats(p, 0.0) for p in parts]
    mean, invstd = (torch.stack(s) for s in zip(*stats, strict=True))
    options = None, None, 0.1, 0.0
    actual = torch.batch_norm_gather_stats(parts[0], mean, invstd, *options, 4)
    torch.testing.assert_close(actual, torch.batch_norm_stats(torch.cat(parts), 0.0))


def test_hashes_are_the_bits_joined():
    x = torch.tensor([[5, 9, 3], [5, 1, 8]])
    assert torch.hash_tensor(x).item() == 5 ^ 9 ^ 3 ^ 5 ^ 1 ^ 8
    assert torch.hash_tensor(x, 0).tolist() == [0, 8, 11]
    assert torch.hash_tensor(x, (0, 1), keepdim=True).shape == (1, 1)
    assert torch.hash_tensor(torch.tensor([1.5])).item() == 0x3FF8 << 48
    with pytest.raises(IndexError, match="nothing to reduce"):
        torch.hash_tensor(x[:0], dim=0)


def test_gradients_without_indices():
    x = torch.randn(1, 2, 6, 6, requires_grad=True)
    y = torch.nn.functional.max_pool2d(x, 2)
    grad, aten = torch.randn_like(y), torch.ops.aten
    expected = torch.autograd.grad(y, x, grad)[0]
    assert torch.equal(aten.max_pool2d_backward(grad, x.detach(), 2), expected)
    a, b = torch.randn(2, 5, 3), torch.randn(4, 3)
    grad = torch.randn(2, 5, 4)
    of_a, of_b, of_bias = aten.linear_backward(a, grad, b, [True, False, True])
    torch.testing.assert_close(of_a, grad @ b)
    assert of_b is None and of_bias.shape == (4,)
    of_a, of_b = aten.matmul_backward(grad, a, b.t(), [True, True])
    torch.testing.assert_close((of_a, of_b.shape), (grad @ b, (3, 4)))


@pytest.mark.parametrize(
    ("strides", "expected"),
    [((60, 1, 15, 3), True), ((60, 20, 5, 1), False), ((120, 1, 30, 6), True)],
)
def test_formats_by_strides(strides, expected):
    x = torch.empty_strided((2, 3, 4, 5), strides)
    ask = torch.ops.aten.is_strides_like_format
    assert ask(x, torch.channels_last) is expected
    assert ask(x, torch.contiguous_format) is False


def test_storages_become_tensors():
    x, aten = torch.arange(6.0).view(2, 3), torch.ops.aten
    memory = x.untyped_storage()
    assert aten.set.source_Storage(torch.zeros(1), memory).tolist() == [*range(6)]
    corner = memory, 1, [2, 2], [3, 1]
    seen = torch.zeros(1)
    form = aten.set_.source_Storage_storage_offset
    assert form(seen, *corner).tolist() == [[1, 2], [4, 5]]
    seen[0, 0] = 9
    assert x[0, 1].item() == 9
