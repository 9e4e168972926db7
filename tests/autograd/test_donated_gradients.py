"""A backward pass computes gradients in the memory of those that nobody else holds."""

import pytest

import pellucid as torch
from pellucid import _C
from pellucid.nn import functional

SIZE = 1 << 18
BYTES = 4 * SIZE


def peak_of(work):
    """The most bytes that `work()` allocates beyond those at its beginning."""
    before = _C._memory_statistics()["allocated_bytes"]
    _C._reset_memory_peaks()
    result = work()
    return result, _C._memory_statistics()["peak_allocated_bytes"] - before


def chain(x):
    return x.relu().sigmoid().tanh()


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(SIZE, requires_grad=True)


def test_a_chain_of_elementwise_derivatives_needs_one_gradient(x):
    total = chain(x).sum()
    _, peak = peak_of(total.backward)
    assert peak < 1.2 * BYTES


def test_batch_norm_reuses_its_gradient():
    images = torch.randn(4, 16, 64, 64, requires_grad=True)
    y = functional.batch_norm(images.relu(), None, None, training=True)
    total = y.sigmoid().sum()
    _, peak = peak_of(total.backward)
    assert peak < 1.2 * 4 * images.numel()


def test_channels_last_gradients_are_reused():
    images = torch.randn(4, 16, 64, 64).to(memory_format=torch.channels_last)
    images = images.requires_grad_()
    total = chain(images).mul(images.detach()).sum()
    _, peak = peak_of(total.backward)
    assert peak < 2.2 * 4 * images.numel()
    assert images.grad.is_contiguous(memory_format=torch.channels_last)


def test_a_plan_reuses_its_own_values():
    rows = torch.randn(512, 512)
    _, peak = peak_of(lambda: rows.var(dim=1))
    assert peak < 4 * rows.numel()


def test_a_gradient_that_the_program_gives_is_not_written(x):
    given = torch.randn(SIZE)
    before = given.clone()
    chain(x).backward(given)
    assert torch.equal(given, before)


def test_gradients_that_hooks_keep_are_not_written(x):
    seen = []
    middle = x.relu()
    middle.register_hook(seen.append)
    middle.sigmoid().tanh().sum().backward()
    expected = torch.autograd.grad(chain(x).sum(), x)[0]
    assert torch.equal(torch.where(x > 0, seen[0], 0), expected)
    assert torch.equal(x.grad, expected)


def test_captured_and_retained_gradients_are_not_written(x):
    middle = x.relu()
    last = middle.sigmoid()
    captured = torch.autograd.grad(last.tanh().sum(), [last, middle, x])
    again = x.relu()
    again.retain_grad()
    end = again.sigmoid()
    end.retain_grad()
    end.tanh().sum().backward()
    for a, b in zip(captured, [end.grad, again.grad, x.grad], strict=True):
        assert torch.equal(a, b)
        assert a._version == b._version == 0


def test_a_graph_that_is_retained_gives_equal_gradients_twice(x):
    total = chain(x).sum()
    first = torch.autograd.grad(total, x, retain_graph=True)[0]
    assert torch.equal(torch.autograd.grad(total, x)[0], first)


def test_a_gradient_that_two_operands_share_stays_whole(x):
    y = torch.randn(SIZE, requires_grad=True)
    ((x + y).relu() * 1.0).sum().backward()
    expected = (x + y > 0).to(torch.float32)
    assert torch.equal(x.grad, expected)
    assert torch.equal(y.grad, expected)


def test_second_derivatives_see_unchanged_gradients(x):
    first = torch.autograd.grad(chain(x).sum(), x, create_graph=True)[0]
    second = torch.autograd.grad(first.square().sum(), x)[0]
    t = x.detach().relu().sigmoid()
    u = t.tanh()
    slope = (1 - u * u) * t * (1 - t)
    assert torch.allclose(first, torch.where(x > 0, slope, 0))
    assert bool(second.isfinite().all())
