"""``torch.compile(f)`` without arguments: whatever happens later, calls equal eager.

Two copies of a program are run, eagerly and compiled. When calls are replayed, both get
the same change, or are called in the same context, and must agree. ``no_clock`` makes
every replay win its trial, so that no timing decides what is tested.
"""

import contextlib
import copy
import functools
import gc
import pickle
import threading
import weakref

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._compile import replays
from pellucid._compile.trial import Trial
from pellucid._subclasses import FakeTensorMode
from pellucid.overrides import TorchFunctionMode
from pellucid.utils._python_dispatch import TorchDispatchMode

WARM = 30


@pytest.fixture(autouse=True)
def no_clock(untraced, monkeypatch):
    monkeypatch.setattr(Trial, "is_won", lambda trial, gain=1: True)
    monkeypatch.setattr(Trial, "is_done", lambda trial: all(trial.times.values()))
    monkeypatch.setattr(Trial, "gain", lambda trial: 1.0)
    monkeypatch.setattr(replays, "working_time", lambda: 0)


def runs_of(compiled):
    known = compiled._pellucid_compilation.replays or ()
    return sum(replay.facts()[3] for replay in known)


def reason_of(compiled):
    return compiled._pellucid_compilation.replayer.reason


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 3)
        self.drop = nn.Dropout(0.2)
        self.scale = 0.5
        self.register_buffer("seen", torch.zeros(8))

    def activate(self, x):
        return torch.tanh(x) * self.scale

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.seen.add_(x.mean(0))
        return self.last(self.drop(self.activate(self.first(x)))).sigmoid()


class Program:
    """A model, its optimizer, and a function of both that is compiled or not."""

    def __init__(self, kind, compiles):
        torch.manual_seed(0)
        self.model = Net()
        self.updates = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)
        self.call = getattr(self, f"make_{kind}")()
        if compiles:
            self.call = torch.compile(self.call)

    def make_step(self):
        model, updates = self.model, self.updates

        def step(x):
            updates.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            updates.step()
            return loss.detach()

        return step

    def make_inference(self):
        model = self.model
        return torch.no_grad()(lambda x: model(x) * 2)

    def seen(self, x):
        """What a call returns or raises, and everything that it changes."""
        try:
            result = self.call(x)
        except (RuntimeError, TypeError, AttributeError) as error:
            result = str(error)
        if isinstance(result, torch.Tensor):
            result = type(result), result.dtype, result.detach().clone().tolist()
        values = [*self.model.parameters(), *self.model.buffers()]
        grads = [None if p.grad is None else p.grad.tolist() for p in values]
        return (
            result,
            [(p.tolist(), p._version) for p in values],
            grads,
            torch.rand(1, device="cpu").item(),
        )


def compare(kind, change=None, around=contextlib.nullcontext, make=None):
    """Runs both until calls are replayed, changes both, and compares calls."""
    make = make or (lambda: torch.ones(4, 8))
    seen = {}
    for compiles in (False, True):
        program = Program(kind, compiles)
        seen[compiles] = []
        for number in range(WARM):
            torch.manual_seed(number)
            seen[compiles].append(program.seen(torch.randn(4, 8)))
        if compiles:
            assert runs_of(program.call), reason_of(program.call)
            seen["runs"] = runs_of(program.call)
        undo = change(program) if change else None
        try:
            for number in range(20):
                torch.manual_seed(number)
                with around():
                    seen[compiles].append(program.seen(make()))
        finally:
            if undo:
                undo.remove()
        seen["program"] = program
    assert seen[False] == seen[True]
    return seen


def hook_globally(program):
    return nn.modules.module.register_module_forward_hook(lambda m, a, out: out * 0.5)


def in_place(program):
    with torch.no_grad():
        program.model.first.weight.mul_(0.5)
        program.model.seen[0] = 1


def load(program, **named):
    state = {k: v * 0.5 for k, v in program.model.state_dict().items()}
    program.model.load_state_dict(state, **named)


def patch_class(program):
    class Other(Net):
        def activate(self, x):
            return super().activate(x) + 0.5

    program.model.__class__ = Other


CHANGES = {
    "forward hook": lambda p: p.model.first.register_forward_hook(
        lambda m, a, out: out + 1
    ),
    "pre-hook": lambda p: p.model.register_forward_pre_hook(lambda m, a: (a[0] * 2,)),
    "backward hook": lambda p: p.model.last.register_full_backward_hook(
        lambda m, i, o: (i[0] * 2,)
    ),
    "tensor hook": lambda p: p.model.first.weight.register_hook(lambda g: g * 2),
    "gradient hook": lambda p: p.model.first.bias.register_post_accumulate_grad_hook(
        lambda t: t.grad.mul_(2)
    ),
    "optimizer hook": lambda p: p.updates.register_step_post_hook(
        lambda o, a, k: o.param_groups[0].update(lr=0.05)
    ),
    "global hook": hook_globally,
    "evaluation": lambda p: p.model.eval() and None,
    "parameter in place": in_place,
    "state dict": load,
    "assigned state dict": functools.partial(load, assign=True),
    "rate": lambda p: p.updates.param_groups[0].update(lr=0.01),
    "frozen parameter": lambda p: p.model.first.requires_grad_(False) and None,
    "module": lambda p: setattr(p.model, "drop", nn.Identity()),
    "buffer": lambda p: setattr(p.model, "seen", torch.ones(8)),
    "number": lambda p: setattr(p.model, "scale", 2.0),
    "instance method": lambda p: setattr(p.model, "activate", torch.sin),
    "class": patch_class,
    "data": lambda p: setattr(p.model.last.bias, "data", torch.ones(3)),
    "gradient": lambda p: setattr(p.model.last.bias, "grad", torch.ones(3)),
    "pruned weight": lambda p: (
        nn.utils.prune.random_unstructured(p.model.first, "weight", amount=0.5) and None
    ),
}


@pytest.mark.parametrize("kind", ["step", "inference"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_later_change_is_noticed(kind, name):
    compare(kind, CHANGES[name])


class Doubles(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.tanh else result


class Counts(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        torch.rand(1)  # shows in the random stream
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def swapped(setter, value=True, before=False):
    setter(value)
    yield
    setter(before)


CONTEXTS = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "anomaly": torch.autograd.detect_anomaly,
    "saved tensors": lambda: torch.autograd.graph.saved_tensors_hooks(
        lambda t: t * 2, lambda t: t
    ),
    "function mode": Doubles,
    "dispatch mode": Counts,
    "force_eager": lambda: torch.compiler.set_stance("force_eager"),
    "profiler": torch.profiler.profile,
    "deterministic": functools.partial(swapped, torch.use_deterministic_algorithms),
    "default dtype": lambda: swapped(
        torch.set_default_dtype, torch.float64, torch.float32
    ),
    "default device": lambda: torch.device("meta"),
    "two threads": lambda: swapped(torch.set_num_threads, 2, torch.get_num_threads()),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["step", "inference"])
@pytest.mark.parametrize("name", CONTEXTS)
def test_a_context_around_calls_is_noticed(kind, name):
    compare(kind, around=CONTEXTS[name])


class Marked(torch.Tensor):
    pass


ARGUMENTS = {
    "strides": lambda: torch.ones(8, 4).t(),
    "rows": lambda: torch.ones(2, 8),
    "double": lambda: torch.ones(4, 8, dtype=torch.float64),
    "leaf": lambda: torch.ones(4, 8).requires_grad_(),
    "parameter": lambda: nn.Parameter(torch.ones(4, 8)),
    "subclass": lambda: torch.ones(4, 8).as_subclass(Marked),
    "view": lambda: torch.ones(5, 8)[1:],
    "history": lambda: torch.ones(4, 8).requires_grad_() * 2,
    "wrong shape": lambda: torch.ones(4, 7),
    "not a tensor": lambda: 3.0,
    "meta": lambda: torch.ones(4, 8, device="meta"),
    "sparse": lambda: torch.ones(4, 8).to_sparse(),
    "conjugate": lambda: torch.ones(4, 8, dtype=torch.complex64).conj(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["step", "inference"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_other_arguments_are_noticed(kind, name):
    compare(kind, make=ARGUMENTS[name])


def test_calls_go_on_being_replayed():
    seen = compare("step")
    assert runs_of(seen["program"].call) == seen["runs"] + 20


def inference():
    program = Program("inference", compiles=True)
    for number in range(WARM):
        program.call(torch.full((4, 8), float(number)))
    program.model.eval()
    for number in range(WARM):
        program.call(torch.full((4, 8), float(number)))
    assert runs_of(program.call)
    return program, Program.make_inference(program)


@pytest.mark.parametrize(
    "transform",
    [
        torch.vmap,
        lambda f: torch.func.jacrev(f),
        lambda f: lambda x: torch.func.jvp(f, (x,), (x,))[1],
        lambda f: torch.func.grad(lambda x: f(x).sum()),
        lambda f: torch.fx.experimental.proxy_tensor.make_fx(f)(torch.ones(4, 8)),
    ],
)
def test_function_transforms_see_the_program(transform):
    program, eager = inference()
    x = torch.randn(2, 4, 8) if transform is torch.vmap else torch.randn(4, 8)
    assert torch.equal(transform(program.call)(x), transform(eager)(x))


def test_fake_tensors_stay_fake():
    program, eager = inference()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = mode.from_tensor(torch.ones(4, 8))
        assert type(program.call(fake)) is type(eager(fake))


def test_threads_have_their_own_modes():
    program, eager = inference()
    x, seen = torch.randn(4, 8), []

    def work():
        with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
            seen.append(program.call(x))
            seen.append(eager(x))
        seen.extend(program.call(x) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4 * 52
    expected = {torch.float32: eager(x)}
    with torch.autocast("cpu", torch.bfloat16):
        expected[eager(x).dtype] = eager(x)
    assert all(torch.equal(result, expected[result.dtype]) for result in seen)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copied_module_is_independent(copied):
    torch.manual_seed(0)
    model = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)))
    x = torch.randn(4, 8)
    with torch.no_grad():
        for _ in range(WARM):
            expected = model(x)
        other = copied(model)
        for _ in range(WARM):
            assert torch.equal(other(x), expected)
        other._orig_mod[0].weight.zero_()
        assert torch.equal(model(x), expected)
        assert not torch.equal(other(x), expected)
        model._orig_mod[0].weight.zero_()
        assert torch.equal(model(x), other(x))


# ------------------------------------------------------------------------- lifetimes


def net_and_step():
    model = Net().eval()
    return model, torch.no_grad()(lambda x: model(x) * 2)


def test_a_deleted_step_frees_its_model_at_once():
    gc.collect()
    gc.disable()
    try:
        model, step = net_and_step()
        compiled = torch.compile(step)
        for _ in range(WARM):
            compiled(torch.ones(4, 8))
        assert runs_of(compiled)
        reference = weakref.ref(model)
        del model, step, compiled
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("release", [gc.collect, None])
def test_a_replaced_model_is_freed(release):
    holder = {"model": Net().eval()}

    @torch.compile
    @torch.no_grad()
    def step(x):
        return holder["model"](x) * 2

    for _ in range(WARM):
        step(torch.ones(4, 8))
    assert runs_of(step)
    reference = weakref.ref(holder["model"])
    holder["model"] = Net().eval()
    if release:
        release()
    for _ in range(200 * (release is None)):  # before, the program might alternate
        step(torch.ones(4, 8))
    assert reference() is None


def test_arguments_are_not_kept_alive():
    @torch.compile
    def apply(model, x):
        with torch.no_grad():
            return model(x) * 2

    class Holder:
        @torch.compile
        def apply(self, x):
            return (x * self.scale).tanh().sin().cos() * self.scale + 1

    model, holder = Net().eval(), Holder()
    holder.scale = 2.0
    x = torch.ones(4, 8)
    for _ in range(WARM):
        apply(model, x)
        result = holder.apply(x)
    assert "keep an argument alive" in reason_of(apply)
    references = [weakref.ref(o) for o in (model, holder, x, result)]
    del model, holder, x, result
    assert not any(r() for r in references)


def test_an_interrupted_analysis_keeps_nothing_alive():
    holder = {"model": Net().eval()}

    @torch.compile
    @torch.no_grad()
    def step(x):
        return holder["model"](x) * 2

    for calls in range(1, 14):
        for _ in range(calls):
            step(torch.ones(4, 8))
        reference = weakref.ref(holder["model"])
        holder["model"] = Net().eval()
        gc.collect()
        assert reference() is None, calls


# ------------------------------------------------------ what calls return and raise


def some_ops(x):
    for _ in range(4):
        x = torch.tanh(x) * 0.5
    return x


def both(function):
    """Results of calls of a function, eager and compiled, on copies of its state."""
    compiled = torch.compile(function)
    for number in range(WARM):
        torch.manual_seed(number)
        x = torch.randn(3)
        yield function(x), compiled(x), compiled


def test_containers_of_the_program_are_returned_themselves():
    numbers, state, pair = [1.0], {"rate": 0.5}, (torch.ones(3), 2)
    for _, (_, a, b, c, d), compiled in both(
        lambda x: (some_ops(x) * state["rate"] + numbers[0], numbers, state, pair, [])
    ):
        assert a is numbers and b is state and c is pair and d == []
        d.append(1)
        runs = runs_of(compiled)
    assert runs


def test_a_container_that_is_returned_twice_is_one():
    def twice(x):
        made = [some_ops(x)]
        return made, made

    for _, (a, b), _ in both(twice):
        assert a is b


def test_keyword_arguments_are_replayed_by_name():
    @torch.compile
    def shifted(x, scale=1.0, *, shift):
        return some_ops(x) * scale + shift

    eager = shifted._torchdynamo_orig_callable
    x, y = torch.ones(3), torch.full((3,), 2.0)
    for _ in range(WARM):
        shifted(x, shift=y)
    assert runs_of(shifted)
    for named in (
        {"shift": y},
        {"shift": x},
        {"shift": y, "scale": 2.0},
        {"scale": 2.0, "shift": y},
        {"scale": y, "shift": x},
    ):
        for _ in range(WARM):
            assert torch.equal(shifted(x, **named), eager(x, **named))
    runs = runs_of(shifted)
    assert torch.equal(shifted(x=x, shift=y), eager(x=x, shift=y))
    assert runs_of(shifted) == runs
    with pytest.raises(TypeError, match="shift"):
        shifted(x)


def test_exceptions_come_from_the_program():
    state = {"limit": 100}

    @torch.compile
    def limited(x, index):
        if state["limit"] < 0:
            raise ValueError("below")
        return some_ops(x)[index] * 2

    x, index = torch.randn(5), torch.tensor([1, 2])
    for _ in range(WARM):
        limited(x, index)
    assert runs_of(limited)
    with pytest.raises(IndexError):
        limited(x, torch.tensor([1, 9]))
    state["limit"] = -1
    with pytest.raises(ValueError, match="below"):
        limited(x, index)
    state["limit"] = 1
    assert torch.equal(limited(x, index), some_ops(x)[index] * 2)


def test_generators_go_on():
    def scales():
        for k in range(1000):
            yield 1.0 + k

    def per_layer():
        yield from (0.5, 2.0)

    outer, expected = scales(), 1.0

    @torch.compile
    def scaled(x):
        for scale in per_layer():
            x = some_ops(x) * scale
        return x, next(outer)

    for _ in range(WARM):
        assert scaled(torch.ones(3))[1] == expected
        expected += 1


def test_checkpoints_and_custom_functions_agree():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    weight = torch.randn(3, requires_grad=True)

    def step(x):
        weight.grad = None
        y = torch.utils.checkpoint.checkpoint(
            lambda t: some_ops(t * weight), x, use_reentrant=False
        )
        (Cube.apply(y) * weight).sum().backward()
        return weight.grad.clone()

    for expected, actual, _ in both(step):
        assert torch.equal(expected, actual)


# --------------------------------------------------------------------- how often


def analysed(monkeypatch):
    """Counts calls that are observed."""
    seen = []
    enter = replays.Watch.__enter__

    def count(watch):
        seen.append(watch)
        return enter(watch)

    monkeypatch.setattr(replays.Watch, "__enter__", count)
    return seen


def test_numbers_that_change_in_each_call_are_analysed_rarely(monkeypatch):
    seen = analysed(monkeypatch)
    rates = {"now": 0.1}

    @torch.compile
    def step(x, factor, items):
        return some_ops(x) * rates["now"] * factor + items[0]

    for number in range(600):
        rates["now"] = 0.1 / (1 + number)
        step(torch.ones(3), 1.0 / (1 + number), [torch.ones(3)])
    assert len(seen) < 40


def test_replays_that_never_pay_are_sought_rarely(monkeypatch):
    seen = analysed(monkeypatch)
    monkeypatch.setattr(Trial, "gain", lambda trial: -1.0)
    rates = {"now": 0.1}

    @torch.compile
    def step(x):
        return some_ops(x) * rates["now"]

    for number in range(2000):
        rates["now"] = 1.0 + number // 15
        assert torch.equal(step(torch.ones(3)), some_ops(torch.ones(3)) * rates["now"])
    assert runs_of(step)
    assert len(seen) < 60


def test_a_replay_that_never_ran_is_not_sought_again_and_again(monkeypatch):
    seen = analysed(monkeypatch)

    @functools.partial(torch.compile, options={"replay": "always"})
    def step(x):
        return some_ops(x)

    with CONTEXTS["saved tensors"]():
        for _ in range(600):
            step(torch.ones(3))
    assert not runs_of(step)
    assert len(seen) < 60


@pytest.mark.parametrize("replay", ["faster", "always"])
@pytest.mark.parametrize("around", ["function mode", "anomaly", "default device"])
@pytest.mark.filterwarnings("ignore")
def test_nothing_is_analysed_in_modes_without_replays(around, replay, monkeypatch):
    seen = analysed(monkeypatch)
    step = torch.compile(some_ops, options={"replay": replay})
    with CONTEXTS[around]():
        for _ in range(200):
            step(torch.ones(3))
    assert not seen
    assert not runs_of(step)


@pytest.mark.parametrize("calls", range(1, 24))
def test_a_function_mode_sees_the_calls_of_a_trial(calls, monkeypatch):
    step = torch.compile(some_ops)
    for _ in range(calls):
        step(torch.ones(3))
    with Doubles():
        assert torch.equal(step(torch.ones(3)), some_ops(torch.ones(3)))


def test_two_states_in_turn_have_a_replay_each():
    program = Program("inference", compiles=True)
    x = torch.ones(4, 8)
    for number in range(8 * WARM):
        program.model.train(number // 20 % 2 == 0)
        program.call(x)
    assert all(r.difference() is None or r.facts()[0] for r in _replays(program))
    before = runs_of(program.call)
    for number in range(20):
        program.model.train(number % 2 == 0)
        program.call(x)
    assert runs_of(program.call) == before + 20


def _replays(program):
    return program.call._pellucid_compilation.replays


def test_two_objects_in_turn_have_a_replay_each():
    scales = torch.full((3,), 0.5), torch.full((3,), 2.0)
    holder = {"now": scales[0]}

    @torch.compile
    def step(x):
        return some_ops(x) * holder["now"]

    x = torch.ones(3)
    for number in range(16 * WARM):
        holder["now"] = scales[number // 50 % 2]
        step(x)
    before = runs_of(step)
    for number in range(100):
        holder["now"] = scales[number // 25 % 2]
        assert torch.equal(step(x), some_ops(x) * holder["now"])
    assert runs_of(step) == before + 100


def _turned_twice(x):
    x.t_()
    x.t_()
    return some_ops(x)


def _with_a_mark(x):
    x.mark = 1
    return some_ops(x)


def _with_a_marked_gradient(x):
    weight.grad.mark = 1
    return some_ops(x) * weight


weight = torch.ones(3)


@pytest.mark.parametrize(
    "function", [_turned_twice, _with_a_mark, _with_a_marked_gradient]
)
def test_what_a_call_does_to_objects_of_tensors_is_done_by_all_calls(function):
    step = torch.compile(function)
    for _ in range(WARM):
        x = torch.ones(2, 3)
        weight.grad = torch.ones(3)
        step(x)
        assert x.shape == (2, 3)
        assert hasattr(x, "mark") == (function is _with_a_mark)
        assert hasattr(weight.grad, "mark") == (function is _with_a_marked_gradient)
