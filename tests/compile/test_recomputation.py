"""Replays that compute activations twice: less memory, the bits of eager."""

import threading

import pytest

import pellucid as torch
from pellucid import _C
from pellucid._functorch import config

pytestmark = pytest.mark.usefixtures("untraced")
WIDTH = 256  # 256 x 256 floats are large enough to be worth an op
CALLS = 12


@pytest.fixture(autouse=True)
def budget():
    config.activation_memory_budget = 0.0
    yield
    config.activation_memory_budget = 1.0


def step_of(loss_of, seed=0):
    """A training step, and everything that it changes."""
    torch.manual_seed(seed)
    layers = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)])
    buffer = torch.randn(WIDTH, WIDTH)
    x = torch.randn(WIDTH, WIDTH)
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = loss_of(layers, x, buffer)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, [*layers.parameters(), buffer, x]


def run(step):
    """What the calls return, and the most bytes that the last one allocated."""
    seen = []
    for number in range(CALLS):
        torch.manual_seed(number)
        if number == CALLS - 1:
            before = _C._memory_statistics()["allocated_bytes"]
            _C._reset_memory_peaks()
        seen.append((step().item(), torch.rand(2).tolist()))
    return seen, _C._memory_statistics()["peak_allocated_bytes"] - before


def compare(loss_of):
    """The replay, and its share of the memory of eager."""
    eager, expected = step_of(loss_of)
    seen, bytes_of_eager = run(eager)
    step, found = step_of(loss_of)
    compiled = torch.compile(step)
    assert run(compiled)[0] == seen
    for a, b in zip(expected, found, strict=True):
        assert torch.equal(a, b) and a._version == b._version
    (replay,) = compiled._pellucid_compilation.replays
    assert replay.facts()[3] > 0
    share = run(compiled)[1] / bytes_of_eager
    return replay, share


def gelus(layers, x, buffer):
    for layer in layers:
        x = torch.nn.functional.gelu(layer(x))
    return x.square().mean()


def test_activations_are_computed_twice_in_less_memory():
    replay, share = compare(gelus)
    results, before, after = replay.recomputed()
    assert results >= 3 and after < before
    assert share < 0.9


def test_normalisation_is_computed_twice():
    def norms(layers, x, buffer):
        for layer in layers:
            x = x + layer(torch.nn.functional.layer_norm(x, (WIDTH,)))
        return x.square().mean()

    replay, share = compare(norms)
    assert replay.recomputed()[0] >= 3 and share < 0.95


def test_an_op_is_repeated_with_the_one_before_it():
    def normed(layers, x, buffer):
        for layer in layers:
            x = torch.nn.functional.batch_norm(layer(x), None, None, training=True)
            x = x.relu()
        return x.square().mean()

    replay, share = compare(normed)
    assert replay.recomputed()[0] >= 2 and share < 0.9


def test_what_reads_memory_that_is_written_meanwhile_is_stored():
    def writes(layers, x, buffer):
        y = layers[0](x) * torch.exp(buffer)  # exp is saved for backward
        for layer in layers[1:]:
            y = torch.tanh(layer(y))
        with torch.no_grad():
            buffer.mul_(0.9)
        return y.square().mean()

    compare(writes)


def test_writes_through_another_tensor_count():
    def writes(layers, x, buffer):
        y = layers[0](x) * torch.exp(buffer)
        for layer in layers[1:]:
            y = torch.tanh(layer(y))
        with torch.no_grad():
            buffer.view(-1)[WIDTH:].add_(0.01)
            buffer.t().mul_(0.9)
        return y.square().mean()

    compare(writes)


def test_random_numbers_are_drawn_once():
    def drops(layers, x, buffer):
        for layer in layers:
            noise = torch.rand(WIDTH, WIDTH) * 0.1
            x = torch.dropout(torch.tanh(layer(x)) * noise, 0.5, True)
        return x.square().mean()

    compare(drops)


def test_a_result_that_the_call_returns_is_stored():
    layers = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(3)])
    x = torch.randn(WIDTH, WIDTH)

    def step():
        hidden = torch.nn.functional.gelu(layers[0](x))
        y = torch.nn.functional.gelu(layers[1](hidden))
        layers[2](y).square().mean().backward()
        return hidden.detach().clone(), y.detach() + 1

    compiled = torch.compile(step)
    for _ in range(CALLS):
        for a, b in zip(step(), compiled(), strict=True):
            assert torch.equal(a, b)
    assert compiled._pellucid_compilation.replays


def test_a_long_chain_of_operands_needs_no_deep_stack():
    """What is released before a candidate's op may follow from any number of ops."""
    start, x = torch.ones(1), torch.randn(WIDTH, WIDTH)
    weight = torch.randn(WIDTH, WIDTH, requires_grad=True)

    def step():
        weight.grad = None
        y = start
        for _ in range(5000):
            y = y * 1.00001
        stored = x + y
        loss = (stored * weight).sum() + weight.sin().cos().sin().cos().sum()
        loss.backward()
        return loss.detach() + (stored * 2).sum()

    expected = step()
    compiled = torch.compile(step, options={"replay": "always"})
    seen = []
    size = threading.stack_size(256 * 1024)
    try:
        worker = threading.Thread(
            target=lambda: seen.extend(compiled() for _ in range(6))
        )
        worker.start()
        worker.join()
    finally:
        threading.stack_size(size)
    assert [r.item() for r in seen] == [expected.item()] * 6
    (replay,) = compiled._pellucid_compilation.replays
    assert replay.recomputed()[0]


def test_a_replay_that_has_run_does_not_change():
    step, _ = step_of(gelus)
    compiled = torch.compile(step)
    run(compiled)
    (replay,) = compiled._pellucid_compilation.replays
    known = replay.recomputed(), replay.facts()[1]
    with pytest.raises(RuntimeError, match="a replay that has run"):
        replay.recompute(0.0)
    assert (replay.recomputed(), replay.facts()[1]) == known


def test_explain_tells_it():
    step, _ = step_of(gelus)
    compiled = torch.compile(step)
    run(compiled)
    assert "results twice; what it makes needs" in repr(torch.explain(compiled))
