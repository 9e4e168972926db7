"""Training steps in regions: backward passes behave as in eager mode."""

import pytest

import pellucid as torch
from pellucid import _C, nn
from pellucid._compile import background
from tests.compile.training import State, make_step, observed, run

STEPS = 48
F = torch.nn.functional


def differing_call(seed):
    """The first call of a compiled step that differs from eager, or None."""
    step = make_step(seed)
    eager, compiled = State(seed), State(seed)
    expected = [observed(run(step, eager)) for _ in range(3)]
    torch.manual_seed(seed)
    compiled = State(seed)
    compiled_run = torch.compile(run)
    for call in range(3):
        if observed(compiled_run(step, compiled)) != expected[call]:
            return call
        background.wait(60)
    return None


@pytest.mark.parametrize("first", range(0, STEPS, 12))
def test_random_steps_agree(first):
    actual = {seed: differing_call(seed) for seed in range(first, first + 12)}
    assert not {seed: call for seed, call in actual.items() if call is not None}


def fused_launches(function, *args, calls=4):
    """(recorded ops, launches, fused ones) of one call once its kernels are ready."""
    for _ in range(calls):
        function(*args)
        background.wait(60)
    before = _C._recording_counts()
    function(*args)
    after = _C._recording_counts()
    return after[0] - before[0], after[2] - before[2], after[3] - before[3]


def gated(x, y, scale):
    x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
    ((F.silu(x) * y) * scale).sum().backward()
    return x.grad, y.grad


def test_a_backward_pass_joins_the_forward_one():
    args = [torch.randn(64, 64) for _ in range(3)]
    expected = gated(*args)
    compiled = torch.compile(gated)
    recorded, launches, fused = fused_launches(compiled, *args)
    assert recorded >= 5 and fused and launches <= 3
    for actual, wanted in zip(compiled(*args), expected, strict=True):
        assert torch.equal(actual, wanted) and actual._version == wanted._version


def test_gradients_of_a_compiled_model_are_recorded():
    """Backward is called outside the region: the graph knows that its ops were
    recorded.
    """
    model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64))
    compiled = torch.compile(lambda x: torch.tanh(model(x) * 2).sigmoid())
    x = torch.randn(64, 64)
    model(x).sum().backward()
    loss = compiled(x).sum()
    before = _C._recording_counts()[0]
    loss.backward()
    assert _C._recording_counts()[0] - before >= 3
    assert _C._region_depth() == 0
    loss = torch.tanh(model(x)).sum()
    before = _C._recording_counts()[0]
    loss.backward()
    assert _C._recording_counts()[0] == before


def test_an_error_in_a_hook_leaves_the_region():
    compiled = torch.compile(lambda x: (x * 2).tanh() * x)
    x = torch.randn(64, 64, requires_grad=True)
    y = compiled(x)

    def fail(grad):
        raise KeyError("hook")

    y.register_hook(fail)
    with pytest.raises(KeyError, match="hook"):
        y.sum().backward()
    assert _C._region_depth() == 0 and x.grad is None
    compiled(x).sum().backward()
    assert x.grad is not None


def test_anomaly_mode_in_a_region_names_the_forward_line():
    @torch.compile
    def step(x):
        with torch.autograd.set_detect_anomaly(True):
            y = torch.sqrt(x * 0) * 0
            y.sum().backward()

    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="nan"):
        step(torch.ones(64, 64, requires_grad=True))


def test_memory_of_a_gradient_is_the_programs():
    """NumPy sees a gradient that a recorded op filled; later steps do not change it."""

    @torch.compile
    def step(x):
        ((x * 3).tanh() * x).sum().backward()

    x = torch.randn(64, 64, requires_grad=True)
    step(x)
    first = x.grad
    seen = first.numpy()
    before = seen.copy()
    x.grad = None
    step(x)
    assert (seen == before).all() and x.grad is not first
    step(x)
    assert torch.equal(x.grad, first * 2)
