"""Replays whose ops are joined: launches in one block of memory do what ops do."""

import pytest

import pellucid as torch

pytestmark = pytest.mark.usefixtures("untraced")
CALLS = 12


def joined(function):
    """(joined ops, bytes of the block) of its replay."""
    (replay,) = function._pellucid_compilation.replays
    return replay.facts()[4:]


def run_both(function, make_arguments):
    """The results of eager and compiled calls, the compiled function."""
    compiled = torch.compile(function, options={"replay": "always"})
    expected, found = [], []
    for number in range(CALLS):
        torch.manual_seed(number)
        arguments = make_arguments()
        expected.append(function(*arguments))
        found.append(compiled(*arguments))
    # Compared at the end: no call may overwrite the results of another.
    for a, b in zip(expected, found, strict=True):
        assert torch.equal(a, b) and a.stride() == b.stride()
    return compiled


def test_intermediate_results_share_a_block_by_lifetime():
    def chain(x):
        for _ in range(40):
            x = torch.tanh(x) * 0.5 + 1
        return x

    compiled = run_both(chain, lambda: (torch.randn(30, 100),))
    ops, nbytes = joined(compiled)
    assert ops == 120 and nbytes <= 3 * 30 * 100 * 4 + 3 * 64


def test_results_that_stay_alive_keep_their_places():
    def pyramid(x):
        kept = [torch.sin(x)]
        for _ in range(10):
            kept.append(torch.cos(kept[-1]))
        total = kept[0]
        for part in kept[1:]:
            total = total - part
        return total

    compiled = run_both(pyramid, lambda: (torch.randn(64),))
    assert joined(compiled)[1] >= 10 * 64 * 4


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x.cumsum(0),
        lambda x: x[torch.tensor([1, 0, 2])],
        lambda x: torch.cat([x, x]),
        lambda x: x.t().contiguous(),
        lambda x: x.sort(1)[0],
        lambda x: torch.zeros_like(x) + x,
    ],
)
def test_other_ops_read_and_make_tensors_among_them(other):
    def mixed(x):
        y = torch.exp(x * 0.1)
        part = y[1:, ::2]
        z = other(torch.tanh(y)[:3]) + 1
        return (part * 2).sum() + z.t() @ z + (y - x).mean()

    run_both(mixed, lambda: (torch.randn(5, 3),))


def test_products_views_and_reductions_are_joined():
    def attend(x, w):
        q, k = (x @ w).chunk(2, -1)
        scores = torch.softmax(q @ k.transpose(-1, -2) * 0.3, -1)
        return (scores @ k).sum(0, keepdim=True).relu() + x[:1, :4]

    compiled = run_both(attend, lambda: (torch.randn(6, 8), torch.randn(8, 8)))
    assert joined(compiled)[0] >= 6


def test_writes_bump_versions_and_reach_views():
    class State:
        def __init__(self):
            self.total = torch.zeros(4, 4)
            self.row = self.total[1]

    def step(state, x):
        y = x * 2 + 1
        y.mul_(3)
        state.total.add_(y).mul_(0.5)
        state.row.add_(1)
        y.sub_(state.total)
        return torch.tanh(y) + state.row * 2 - 1

    eager, other = State(), State()
    compiled = torch.compile(lambda x: step(other, x), options={"replay": "always"})
    for _ in range(CALLS):
        x = torch.randn(4, 4)
        assert torch.equal(step(eager, x), compiled(x))
        assert torch.equal(eager.total, other.total)
        assert eager.total._version == other.total._version
    assert joined(compiled)[0] >= 3


def test_a_launch_that_fails_raises_the_error_of_its_op():
    def divide(x, y):
        z = x * 2 + 1
        z = torch.sub(z, x) * 3
        return torch.floor_divide(z, y) + x - 1

    compiled = torch.compile(divide, options={"replay": "always"})
    x, y = torch.arange(6), torch.arange(1, 7)
    for _ in range(CALLS):
        assert torch.equal(divide(x, y), compiled(x, y))
    assert joined(compiled)[0] >= 5
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(x, y - 1)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, y - 1)
    assert torch.equal(divide(x, y), compiled(x, y))


def test_a_step_without_momentum_is_joined_to_the_update():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
    )
    updates = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        updates.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        updates.step()
        return loss

    compiled = torch.compile(step, options={"replay": "always"})
    kept = []
    for _ in range(CALLS):
        compiled(torch.randn(4, 8))
        kept.append([p.grad for p in model.parameters()])
    storages = {g.untyped_storage().data_ptr() for grads in kept for g in grads}
    assert len(storages) == CALLS * 4
    ops, nbytes = joined(compiled)
    assert ops >= 8 and nbytes > 0
    assert f"{ops} ops are launches" in repr(torch.explain(compiled))


def test_memory_that_launches_read_is_not_overwritten():
    """A view that launches alone read has no tensor: its base must not be donated."""
    size = 1 << 16

    def views(x, k):
        base = x.sin()
        view = base[:64]
        y = view * k
        last = base.cos().sum()
        del base
        return view * k + y + view, last

    def late(x, k):
        whole = (x.sin() + 1).view(256, 256)
        row = whole[0, :64]
        y = row * k + 1
        z = whole.relu()
        del whole
        return y * row - k, z.sum(0) + z[1, 0]

    for function in (views, late):
        x, k = torch.randn(size), torch.randn(64)
        expected = function(x, k)
        compiled = torch.compile(function, options={"replay": "always"})
        for _ in range(CALLS):
            for a, b in zip(expected, compiled(x, k), strict=True):
                assert torch.equal(a, b)
        assert joined(compiled)[0] >= 2


def test_memory_is_donated_by_the_last_op_that_reads_it():
    size = 1 << 16

    def chain(x, k):
        y = x.sin()
        part = y[:64] * k + 1
        for _ in range(4):
            y = y.cos()
        return y.sum() + part

    compiled = run_both(chain, lambda: (torch.randn(size), torch.randn(64)))
    assert joined(compiled)[0] >= 2
    arguments = torch.randn(size), torch.randn(64)
    before = torch._C._memory_statistics()["allocated_bytes"]
    torch._C._reset_memory_peaks()
    compiled(*arguments)
    peak = torch._C._memory_statistics()["peak_allocated_bytes"]
    assert peak - before < 1.2 * 4 * size
