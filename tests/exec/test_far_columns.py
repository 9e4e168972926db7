"""Rows whose elements are far apart in memory, such as the pixels of a channel of a
channels-last image.
"""

import math

import pytest

import pellucid as torch

SHAPE = (3, 24, 20, 21)
CALLS = {
    "softmax": lambda x: x.softmax(2),
    "log_softmax of pixels": lambda x: x.flatten(2).log_softmax(2),
    "instance_norm": torch.nn.functional.instance_norm,
    "var_mean": lambda x: torch.cat(torch.var_mean(x, (2, 3))),
    "cumsum": lambda x: x.cumsum(2),
    "group_norm": lambda x: torch.nn.functional.group_norm(x, 6),
}


@pytest.mark.parametrize("name", CALLS)
def test_distant_columns_give_the_results_of_dense_ones(name):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(SHAPE, generator=generator)
    far = x.to(memory_format=torch.channels_last)
    want, got = CALLS[name](x.double()), CALLS[name](far)
    assert torch.allclose(got.double(), want, rtol=1e-5, atol=1e-5)
    assert torch.equal(far, x)


@pytest.mark.parametrize("op", ["softmax", "logsumexp"])
def test_broadcast_columns_are_copied_once(op):
    columns = torch.rand(300, 64).t()
    repeated = columns.expand(50, 64, 300)
    want = getattr(columns.contiguous(), op)(-1)
    torch.cpu.memory.reset_peak_memory_stats()
    before = torch.cpu.memory.memory_allocated()
    got = getattr(repeated, op)(-1)
    needed = torch.cpu.memory.max_memory_allocated() - before
    assert needed < 4 * got.numel() + 2 * 4 * columns.numel()
    assert torch.equal(got, want.expand_as(got))


@pytest.mark.parametrize("layout", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("affine", [False, True])
def test_group_norm_and_its_gradients_in_float64(layout, affine):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 6, 4, 3, generator=generator, dtype=torch.float64)
    x = x.to(memory_format=getattr(torch, layout)).requires_grad_()
    vectors = [
        torch.randn(6, generator=generator, dtype=torch.float64).requires_grad_()
        for _ in range(2 * affine)
    ]

    def run(x, *vectors):
        return torch.nn.functional.group_norm(x, 3, *vectors)

    groups = x.detach().reshape(2, 3, -1)
    variance, mean = torch.var_mean(groups, 2, correction=0, keepdim=True)
    want = ((groups - mean) / (variance + 1e-5).sqrt()).reshape(x.shape)
    if affine:
        want = want * vectors[0].view(-1, 1, 1) + vectors[1].view(-1, 1, 1)
    assert torch.allclose(run(x, *vectors), want, rtol=1e-12)
    assert torch.autograd.gradcheck(run, (x, *vectors))


def test_group_norm_subtracts_the_mean_before_it_scales():
    signs = 1 - 2 * (torch.arange(512.0).reshape(2, 4, 8, 8) % 2)
    x, vectors = 1024 + 2**-10 * signs, (torch.ones(4), torch.full((4,), 0.5))
    want = 0.5 + signs * 2**-10 / math.sqrt(2**-20 + 1e-5)
    got = torch.nn.functional.group_norm(x, 2, *vectors)
    assert torch.allclose(got, want, rtol=0, atol=1e-6)


def test_group_norm_without_pixels():
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(6, dtype=torch.float64, requires_grad=True)

    def run(x, weight):
        return torch.nn.functional.group_norm(x, 2, weight)

    assert torch.autograd.gradcheck(run, (x, weight))
