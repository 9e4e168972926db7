"""``torch.compile``: arguments, results, and unchanged behaviour."""

import copy
import gc
import inspect
import pickle
import weakref

import numpy
import pytest

import pellucid as torch
from pellucid import _C, nn
from pellucid._compile import background
from pellucid._dynamo.exc import InvalidBackend, Unsupported

N = 4096


def chain(x, y=2.0):
    """Four ops of one group."""
    return ((x * y + 1).exp() - x).tanh()


def test_a_function_keeps_its_name_and_its_results():
    compiled = torch.compile(chain)
    assert compiled.__name__ == "chain" and compiled.__doc__ == chain.__doc__
    assert inspect.signature(compiled) == inspect.signature(chain)
    x = torch.randn(N)
    for _ in range(4):
        assert torch.equal(compiled(x), chain(x))
        background.wait(60)
    assert torch.equal(compiled(x, y=0.5), chain(x, 0.5))
    assert torch.compile(compiled)._torchdynamo_orig_callable is chain


def test_groups_run_as_one_kernel():
    compiled = torch.compile(chain)
    x = torch.randn(N)
    for _ in range(2):
        compiled(x)
    assert background.wait(60)
    recorded, _, launches, fused, _ = _C._recording_counts()
    compiled(x)
    after = _C._recording_counts()
    assert after[0] - recorded == 5
    assert after[2] - launches == 1 and after[3] - fused == 1


def test_one_kernel_serves_all_sizes():
    compiled = torch.compile(chain)
    for size in (N, N + 1, 3 * N, N):
        compiled(torch.randn(size))
    background.wait(60)
    before = len(_C._recorded_groups())
    for size in range(N, N + 40, 3):
        x = torch.randn(size // 2, 2)
        assert torch.equal(compiled(x), chain(x))
    assert len(_C._recorded_groups()) == before


def test_decorators_methods_and_modules():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(8, 8)
            self.calls = 0

        @torch.compile
        def method(self, x):
            return chain(x) + self.calls

        def forward(self, x):
            self.calls += 1
            return chain(self.inner(x))

    @torch.compile(dynamic=True, mode="max-autotune")
    def decorated(x):
        return chain(x)

    x = torch.randn(512, 8)
    model = Model()
    assert torch.equal(decorated(x), chain(x))
    assert torch.equal(model.method(x), chain(x))
    compiled = torch.compile(model)
    assert torch.equal(compiled(x), model(x)) and model.calls == 2
    assert torch.equal(torch.compile(model.forward)(x), model(x))
    model.compile()
    assert torch.equal(model(x), chain(model.inner(x)))
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(compiled.inner))):
        assert isinstance(copied, nn.Module)


def test_a_hook_added_after_compiling_is_called():
    model = nn.Sequential(nn.Linear(64, 64), nn.GELU())
    compiled = torch.compile(model)
    x = torch.randn(64, 64)
    before = compiled(x)
    model[1].register_forward_hook(lambda module, args, output: output * 2)
    assert torch.equal(compiled(x), before * 2)


def test_arguments_are_checked():
    with pytest.raises(InvalidBackend, match="nope"):
        torch.compile(chain, backend="nope")
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        torch.compile(chain, mode="fast")
    with pytest.raises(RuntimeError, match="both"):
        torch.compile(chain, mode="default", options={"a": 1})
    with pytest.raises(AssertionError, match="int"):
        torch.compile(1)
    assert torch.compile(chain, disable=True) is chain
    assert "inductor" in torch._dynamo.list_backends()


def test_fullgraph_names_the_line_that_reads_a_value():
    def branches(x):
        y = x * 2
        if y.sum() > 0:  # this line
            return y
        return -y

    x = torch.ones(N)
    compiled = torch.compile(branches, fullgraph=True)
    line = inspect.getsourcelines(branches)[1] + 2
    with pytest.raises(Unsupported, match=rf"test_compile.py:{line} in branches"):
        compiled(x)
    assert torch.equal(torch.compile(branches)(x), branches(x))
    assert torch.equal(torch.compile(chain, fullgraph=True)(x), chain(x))
    with pytest.raises(Unsupported, match="nonzero"):
        torch.compile(lambda x: x.nonzero(), fullgraph=True)(x)
    with pytest.raises(Unsupported, match="tolist"):
        torch.compile(lambda x: x.tolist(), fullgraph=True)(x)


def test_writes_before_an_exception_stay():
    x = torch.zeros(N)

    @torch.compile
    def fails(x):
        y = x + 1
        x.add_(3)
        x.copy_(x * y)
        raise ValueError(f"{y[0].item()}")

    with pytest.raises(ValueError, match=r"1\.0"):
        fails(x)
    assert x[0] == 3.0


def test_errors_of_shapes_are_caught_where_they_arise():
    @torch.compile
    def recovers(x):
        try:
            return (x * 2) + torch.ones(7)
        except RuntimeError:
            return x * 3

    assert torch.equal(recovers(torch.ones(N)), torch.full((N,), 3.0))


def test_an_unread_draw_advances_the_stream():
    @torch.compile
    def draws(x):
        torch.rand(3)
        return x * 2

    torch.manual_seed(1)
    draws(torch.ones(N))
    after = torch.rand(2)
    torch.manual_seed(1)
    torch.rand(3)
    assert torch.equal(after, torch.rand(2))


def test_writes_from_outside_are_seen_in_order():
    x = torch.ones(N)
    array = x.numpy()

    @torch.compile
    def mixes(x):
        y = x * 2
        array[:] = 5
        z = x * 2
        return y, z

    for _ in range(3):
        array[:] = 1
        y, z = mixes(x)
        assert y[0] == 2 and z[0] == 10


def test_a_result_has_memory_outside():
    results = []

    @torch.compile
    def leaks(x):
        results.append(x * 2)
        results.append(results[0].view(2, -1))
        return results[0].data_ptr()

    address = leaks(torch.ones(N))
    assert results[0].data_ptr() == results[1].data_ptr() == address
    assert numpy.asarray(results[1]).sum() == 2 * N


def test_a_step_with_gradients_has_the_bits_of_eager():
    def train(step_of):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        x = torch.randn(64, 64)

        def step():
            optimizer.zero_grad()
            y = model(x)
            loss = ((y - x) ** 2 * torch.sigmoid(y)).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss.detach()

        run = step_of(step)
        losses = [run() for _ in range(6)]
        return losses, [p.detach() for p in model.parameters()]

    expected, actual = train(lambda step: step), train(torch.compile)
    background.wait(60)
    for a, b in zip(expected[0] + expected[1], actual[0] + actual[1], strict=True):
        assert torch.equal(a, b)


def test_double_backward_and_checkpoint():
    from pellucid.utils.checkpoint import checkpoint

    def penalty(x):
        y = checkpoint(lambda x: (x * 2).tanh() * x, x, use_reentrant=False)
        (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (gradient.square() * 3).sum().backward()
        return x.grad

    x = torch.randn(N)
    expected = penalty(x.clone().requires_grad_())
    compiled = torch.compile(penalty)
    for _ in range(3):
        assert torch.equal(compiled(x.clone().requires_grad_()), expected)


def test_writes_to_recorded_results_are_recorded():
    def writes(x):
        y = x * 2
        before = y + 1
        alias = y.detach()
        y.add_(x)
        y.relu_()
        after = alias * 3
        alias.mul_(0.5)
        return y, before, alias, after

    compiled = torch.compile(writes)
    x = torch.randn(5 * N, 10)
    for _ in range(3):
        recorded = _C._recording_counts()[0]
        actual = compiled(x)
        assert _C._recording_counts()[0] - recorded == 6
        for a, b in zip(actual, writes(x), strict=True):
            assert torch.equal(a, b) and a._version == b._version
        assert actual[0].data_ptr() == actual[2].data_ptr()
        background.wait(60)


def test_what_a_recorded_write_spoils_is_refused():
    @torch.compile
    def spoils(x):
        y = (x * 1).exp()
        y.add_(1)
        return y.sum()

    with pytest.raises(RuntimeError, match="modified"):
        spoils(torch.zeros(10 * N, requires_grad=True)).backward()


def test_explain_says_what_ran_and_why():
    from pellucid import explain

    @torch.compile
    def sums(x):
        y = (x + 1) * 3
        return y.sum() + y.exp()

    assert "not called yet" in repr(explain(sums))
    sums(torch.ones(N + 3))
    report = explain(sums)
    assert [e.op for e in report.segments[0].recorded] == [
        "aten::add.Tensor",
        "aten::mul.Tensor",
    ]
    assert "read by sum" in report.segments[0].end
    assert "test_compile.py" in repr(report)


def test_a_callable_with_nothing_to_group_is_left_alone():
    from pellucid import explain

    compiled = torch.compile(lambda x: x + 1)
    for _ in range(12):
        compiled(torch.ones(3))
    assert "run without a region" in repr(explain(compiled))


def test_a_callable_that_rests_is_still_the_same_callable():
    class Holder:
        @torch.compile
        def method(self, x, *, factor=1):
            """Documented."""
            return x * factor

    holder = Holder()
    state = Holder.method._pellucid_compilation
    state.left = 2
    x = torch.ones(3)
    assert torch.equal(holder.method(x, factor=2), x * 2)
    assert Holder.method(holder, x)[0] == 1 and state.left == 0
    assert holder.method(x, factor=3)[0] == 3 and state.calls == 1
    assert Holder.method.__doc__ == "Documented."
    assert list(inspect.signature(holder.method).parameters) == ["x", "factor"]
    with pytest.raises(TypeError, match="factor_"):
        holder.method(x, factor_=1)


def test_compiled_callables_are_freed():
    class Target:
        def __call__(self, x):
            return x + 1

    target = Target()
    compiled = torch.compile(target)
    target.own = compiled  # a cycle
    assert compiled(torch.ones(1)).item() == 2
    alive = weakref.ref(target)
    del target, compiled
    gc.collect()
    assert alive() is None


COMPILERS = ({}, {"backend": "aot_eager"}, {"mode": "reduce-overhead"})


@pytest.mark.parametrize("options", COMPILERS)
def test_a_branch_on_identity_is_taken_in_every_call(options):
    a, b = torch.ones(2), torch.ones(2)
    compiled = torch.compile(lambda x, y: x + 1 if x is y else x - 1, **options)
    for _ in range(12):
        assert compiled(a, a).tolist() == [2, 2]
        assert compiled(a, b).tolist() == [0, 0]


@pytest.mark.parametrize("options", COMPILERS)
def test_a_gradient_penalty_has_eagers_gradient(options):
    def penalty(weight, x):
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad((x @ weight).tanh().sum(), x, create_graph=True)
        ((slope.norm() - 1) ** 2).backward()

    weight, x = torch.randn(3, 3, requires_grad=True), torch.randn(2, 3)
    penalty(weight, x)
    expected, weight.grad = weight.grad, None
    torch.compile(penalty, **options)(weight, x)
    assert torch.equal(weight.grad, expected)
