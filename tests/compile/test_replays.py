"""Calls without Python do what Python would do."""

import re
import time

import pytest

import pellucid as torch
from pellucid._compile.trial import Trial
from tests.compile.replayed import history

pytestmark = pytest.mark.usefixtures("untraced")
PROGRAMS = 120


@pytest.mark.parametrize("first", range(0, PROGRAMS, 20))
def test_random_functions_agree(first):
    replayed = 0
    for seed in range(first, first + 20):
        expected, _ = history(seed, compiles=False)
        actual, runs = history(seed, compiles=True)
        calls = [k for k in range(len(actual)) if actual[k] != expected[k]]
        assert not calls, (seed, calls)
        replayed += runs
    assert replayed > 10


def compiled(function):
    return torch.compile(function, options={"replay": "always"})


def replays_of(function):
    return function._pellucid_compilation.replays or ()


def reason_of(function):
    return function._pellucid_compilation.replayer.reason


def runs_of(function):
    return sum(replay.facts()[3] for replay in replays_of(function))


def make_step(optimizer=torch.optim.SGD):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
    )
    updates = optimizer(model.parameters(), lr=0.1)
    target = torch.tensor([0, 2, 1, 1])

    def step(x):
        updates.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        updates.step()
        return loss

    return step, model, updates


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_a_training_step_runs_without_python(optimizer):
    eager, model, _ = make_step(optimizer)
    step, other, _ = make_step(optimizer)
    step = compiled(step)
    for number in range(20):
        torch.manual_seed(number)
        x = torch.randn(4, 8)
        expected, loss = eager(x), step(x)
        assert torch.equal(expected, loss)
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            assert torch.equal(p, q) and torch.equal(p.grad, q.grad)
            assert p._version == q._version
    assert runs_of(step) > 10
    assert loss.grad_fn.name() == expected.grad_fn.name()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_a_changed_rate_is_seen():
    eager, _, updates = make_step()
    step, _, own = make_step()
    step = compiled(step)
    x = torch.randn(4, 8)
    for number in range(24):
        updates.param_groups[0]["lr"] = own.param_groups[0]["lr"] = 0.1 / (
            1 + number // 9
        )
        assert torch.equal(eager(x), step(x))
    assert runs_of(step) > 2


def test_a_hook_is_seen():
    step, model, _ = make_step()
    step = compiled(step)
    x = torch.randn(4, 8)
    for _ in range(8):
        step(x)
    assert runs_of(step) > 0
    seen = []
    handle = model[0].register_forward_hook(lambda *args: seen.append(1))
    step(x)
    handle.remove()
    model[0].weight.register_hook(lambda grad: seen.append(2))
    step(x)
    assert seen == [1, 2]


def test_an_error_is_raised_where_python_raises_it():
    weight = torch.randn(5, 3)
    state = {"begun": 0}

    @compiled
    def look_up(index):
        y = torch.nn.functional.embedding(index, weight)
        return (y.sin() * 2 + 1).tanh().cos() - y.exp()

    for _ in range(8):
        look_up(torch.tensor([1, 2]))
    assert runs_of(look_up) > 0
    with pytest.raises(IndexError):
        look_up(torch.tensor([1, 7]))
    assert state["begun"] == 0


def some_ops(x):
    for _ in range(4):
        x = torch.tanh(x) * 0.5
    return x


REFUSED = {
    "a read value": (lambda x, _: some_ops(x) * x.sum().item(), "reads a value"),
    "a print": (lambda x, _: print(end="") or some_ops(x), "print"),
    "a clock": (lambda x, _: some_ops(x) * time.time(), "time"),
    "a list": (lambda x, seen: seen.append(1) or some_ops(x), "changes"),
    "an identity": (lambda x, _: some_ops(x) + id(x) * 0, "id"),
    "a version": (lambda x, _: some_ops(x) + x._version, "_version"),
    "a size of values": (lambda x, _: some_ops(x)[x > 0], "mask"),
    "a branch": (lambda x, _: some_ops(x) if x.sum() > 0 else x, "value"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_replayed_runs_in_python(name):
    body, reason = REFUSED[name]
    seen = []
    function = compiled(lambda x: body(x, seen))
    for _ in range(6):
        function(torch.ones(3))
    assert not replays_of(function)
    assert re.search(reason, reason_of(function)), reason_of(function)


def test_draws_advance_the_stream():
    def draw(x):
        return some_ops(x) + torch.rand(3)

    function = compiled(draw)
    x = torch.ones(3)
    torch.manual_seed(0)
    expected = [draw(x).tolist() for _ in range(9)] + [torch.rand(1).item()]
    torch.manual_seed(0)
    actual = [function(x).tolist() for _ in range(9)] + [torch.rand(1).item()]
    assert actual == expected and runs_of(function) > 3


def test_explain_shows_replays():
    function = compiled(some_ops)
    for _ in range(8):
        function(torch.ones(3))
    assert "without Python" in repr(torch.explain(function))
    refused = compiled(lambda x: some_ops(x) * x.sum().item())
    for _ in range(8):
        refused(torch.ones(3))
    assert "no replay" in repr(torch.explain(refused))


@pytest.mark.parametrize("time_of_replay", [50, 99])
def test_a_replay_is_timed_when_it_is_prepared(monkeypatch, time_of_replay):
    step, *_ = make_step()
    step = torch.compile(step, mode="reduce-overhead")
    replayer, timed = None, []

    def add(trial, time, *, without):
        runs = 0 if without else replayer._attempt.candidate.facts()[3]
        is_prepared = without or runs > 3  # the first runs prepare and join its ops
        timed.append(without)
        time = 100 if without else time_of_replay if is_prepared else 1000
        trial.times[without].append(time)

    monkeypatch.setattr(Trial, "add", add)
    x = torch.randn(4, 8)
    for _ in range(60):
        step(x)
        replayer = step._pellucid_compilation.replayer
    if time_of_replay == 50:
        assert replays_of(step) and len(timed) == 8
    else:
        assert not replays_of(step) and len(timed) == 32
        assert reason_of(step) == "a replay is not faster than Python"


def replay_that_reads(entries):
    """A replay with a read set of these entries."""
    x = torch.ones(3)
    torch._C._enter_region(False)
    try:
        torch._C._begin_call_capture((), [x])
        made = torch._C._end_call_capture(torch.tanh(x), (), entries, [], set(), False)
    finally:
        torch._C._leave_region()
    assert isinstance(made, torch._C.Replay), made
    return made


def test_a_replay_is_not_dropped_while_its_read_set_is_compared():
    state = [object()]

    def read():
        for replay in made:
            replay.drop_if_replaced()
        return state[0]

    made = []
    made.append(replay_that_reads([("result", read), ("list", [])]))
    state[0] = object()
    assert made[0].difference()
    assert made[0].facts()[1]


def test_a_dropped_replay_says_so():
    state = [object()]
    dropped, other = (replay_that_reads([("list", s)]) for s in (state, []))
    state[0] = object()
    dropped.drop_if_replaced()
    assert not dropped.facts()[1]
    for call in (
        lambda: dropped.same_as(other),
        lambda: other.same_as(dropped),
        lambda: dropped.recompute(1e9),
    ):
        with pytest.raises(RuntimeError, match="dropped"):
            call()
    with pytest.raises(TypeError, match="replay"):
        other.same_as(state)


def test_a_tuple_may_be_returned_twice():
    def twice(x):
        y = torch.tanh(x)
        for _ in range(6):
            y = torch.tanh(y) * 2 + 1
        pair = (y, ())
        return pair, pair, ()

    function, x = compiled(twice), torch.ones(3)
    for _ in range(8):
        assert function(x)[1][0].equal(twice(x)[0][0])
    assert runs_of(function)
