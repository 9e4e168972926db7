"""Backends of ``torch.compile``: the graphs that they receive, and what runs."""

import inspect
import operator

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._dynamo.backends.common import aot_autograd
from pellucid._dynamo.exc import BackendCompilerFailed, RecompileError, Unsupported
from pellucid._functorch.aot_autograd import make_boxed_func
from pellucid.nn import functional as F
from pellucid.utils.checkpoint import checkpoint
from tests.compile.programs import inputs, make_program, observed, run


class Collect:
    """A backend that stores the graphs that it receives and runs them unchanged."""

    def __init__(self):
        self.graphs, self.examples, self.calls = [], [], 0

    def __call__(self, graph_module, example_inputs):
        self.graphs.append(graph_module)
        self.examples.append(example_inputs)

        def run_graph(*args):
            self.calls += 1
            return graph_module.forward(*args)

        return run_graph

    def ops(self, index=-1):
        return [n.target for n in self.graphs[index].graph.nodes if "call" in n.op]


def toy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def test_graphs_end_where_a_value_is_read():
    collect = Collect()
    compiled = torch.compile(toy, backend=collect)
    a, b = torch.randn(10), -torch.ones(10)
    for sign in (1, -1, 1, -1):
        assert torch.equal(compiled(a, b * sign), toy(a, b * sign))
    assert len(collect.graphs) == 3 and collect.calls == 8
    first = [torch.abs, operator.add, operator.truediv, "sum", operator.lt]
    assert collect.ops(0) == first
    placeholders = [
        n.name for n in collect.graphs[0].graph.find_nodes(op="placeholder")
    ]
    assert placeholders == ["l_a_", "l_b_"]
    assert collect.examples[0][0] is a
    line = inspect.getsourcelines(toy)[1] + 1
    node = next(iter(collect.graphs[0].graph.find_nodes(op="call_method")))
    assert f"line {line + 1}" in node.meta["stack_trace"]
    assert node.meta["example_value"].shape == ()


def test_modules_are_handed_over_with_their_parameters_and_trained():
    def losses(wrap):
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Dropout()
        )
        head = nn.Linear(48, 5)
        optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
        compiled = wrap(nn.Sequential(model, head))
        actual = []
        for size in (4, 4, 6, 5):
            x, y = torch.randn(size, 1, 6, 6), torch.arange(size) % 5
            optimizer.zero_grad()
            loss = F.cross_entropy(compiled(x), y)
            loss.backward()
            optimizer.step()
            actual.append(loss.item())
        return actual, model[1].running_var.tolist()

    collect = Collect()
    expected = losses(lambda model: model)
    assert losses(lambda m: torch.compile(m, backend=collect)) == expected
    # The second size makes the batch dynamic; the third needs no graph.
    assert len(collect.graphs) == 2
    names = [n.target for n in collect.graphs[0].graph.find_nodes(op="placeholder")]
    assert "L_self_modules_1_parameters_weight_" in names
    for backend in ("aot_eager", "eager"):
        assert losses(lambda m, b=backend: torch.compile(m, backend=b)) == expected


def test_aot_autograd_gives_forward_and_backward():
    graphs = []

    def compiler(graph_module, example_inputs):
        graphs.append([str(n.target) for n in graph_module.graph.nodes])
        return make_boxed_func(graph_module.forward)

    compiled = torch.compile(
        lambda x: (x.sin() * 2).sum(), backend=aot_autograd(fw_compiler=compiler)
    )
    x = torch.randn(5, requires_grad=True)
    compiled(x).backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos())
    assert "aten.sin.default" in graphs[0] and "aten.cos.default" in graphs[1]


def test_a_backend_may_replace_ops():
    def multiply(graph_module, example_inputs):
        for node in graph_module.graph.nodes:
            if node.target is operator.add:
                node.target = operator.mul
        graph_module.recompile()
        return graph_module

    assert torch.compile(lambda x: x + 3, backend=multiply)(torch.ones(1)).item() == 3


def test_sizes_that_differ_are_left_open():
    def shaped(x):
        return x.view(x.shape[0] * 2, -1) + torch.zeros(x.shape[0] * 2, 1)

    collect = Collect()
    compiled = torch.compile(shaped, backend=collect)
    for size in (4, 8, 16, 6):
        x = torch.randn(size, 6)
        assert torch.equal(compiled(x), shaped(x))
    assert len(collect.graphs) == 2
    assert collect.examples[1][0] == 16  # a dynamic number
    compiled(torch.randn(1, 6))  # 1 broadcasts: sizes 0 and 1 have their own graphs
    assert len(collect.graphs) == 3
    for settings, count in (({"dynamic": False}, 3), ({"dynamic": True}, 1)):
        collect = Collect()
        compiled = torch.compile(shaped, backend=collect, **settings)
        for size in (4, 8, 16):
            compiled(torch.randn(size, 6))
        assert len(collect.graphs) == count
    collect = Collect()
    compiled = torch.compile(shaped, backend=collect)
    for size in (4, 8):
        x = torch.randn(size, 6)
        torch._dynamo.mark_dynamic(x, 0)
        compiled(x)
    assert len(collect.graphs) == 1


def test_recompilation_has_a_limit():
    compiled = torch.compile(lambda x: x + 1, backend=Collect(), dynamic=False)
    with pytest.warns(UserWarning, match="recompile_limit"):
        for size in range(2, 14):
            assert compiled(torch.ones(size)).sum() == 2 * size
    forbidding = torch._dynamo.config.patch(error_on_recompile=True)
    with forbidding, pytest.raises(RecompileError):
        compiled(torch.ones(20))
    torch._dynamo.reset()
    with torch.compiler.set_stance("eager_on_recompile"):
        assert compiled(torch.ones(3))[0] == 2


def test_fullgraph_refuses_what_no_graph_can_have():
    collect = Collect()
    for function, name in (
        (toy, "__bool__"),
        (lambda x, y: x.nonzero(), "nonzero"),
        (lambda x, y: (x + y).tolist(), "tolist"),
    ):
        with pytest.raises(Unsupported, match=rf"{name}[^\n]*, at\n.*test_backends"):
            torch.compile(function, backend=collect, fullgraph=True)(
                torch.ones(3), torch.ones(3)
            )
    compiled = torch.compile(torch.add, backend=collect, fullgraph=True)
    assert compiled(torch.ones(2), 1)[0] == 2


def test_what_backends_raise_and_give_back_is_reported():
    def raises(graph_module, example_inputs):
        raise ValueError("not today")

    with pytest.raises(BackendCompilerFailed, match="not today"):
        torch.compile(lambda x: x + 1, backend=raises)(torch.ones(1))
    with pytest.raises(BackendCompilerFailed, match="callable"):
        torch.compile(lambda x: x + 1, backend=lambda g, e: None)(torch.ones(1))
    suppressing = torch._dynamo.config.patch(suppress_errors=True)
    with suppressing, pytest.warns(UserWarning, match="not today"):
        y = torch.compile(lambda x: x + 1, backend=raises)(torch.ones(1))
    assert y.item() == 2


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 7


def draws_and_seeds(x):
    y = F.dropout(x * 1)
    torch.manual_seed(1)
    return y + torch.rand(x.shape) * x


def recomputes(x):
    return checkpoint(
        lambda a: F.dropout(a * 2).sin(), F.dropout(x * 3), use_reentrant=False
    )


def casts(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
    return y.float() + 1


def hooks(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient + 1)
    return y * 3


def writes_under_no_grad(x):
    y = x * 2
    with torch.no_grad():
        y.add_(1)
        z = x.detach().clone()
        z.mul_(2)
    return y * z


@pytest.mark.parametrize(
    "function",
    [
        lambda x: Doubled.apply(x * 1) * 3,
        lambda x: torch.func.vmap(torch.func.grad(lambda a: (a * a).sum()))(x * 2) * x,
        *(draws_and_seeds, recomputes, casts, hooks, writes_under_no_grad),
    ],
)
def test_what_no_mode_sees_happens_in_order(function):
    def observe(run):
        torch.manual_seed(3)
        x = torch.randn(4, 6, requires_grad=True)
        y = run(x)
        y.sum().backward()
        return [y.tolist(), x.grad.tolist(), torch.rand(2).tolist(), y._version]

    compiled = torch.compile(function, backend=Collect())
    for _ in range(2):
        assert observe(compiled) == observe(function)


def test_random_programs_agree():
    """All steps except threads: other threads see tensors without data."""
    torch._dynamo.reset()
    with torch._dynamo.config.patch(recompile_limit=99):
        for seed in range(12):
            program = [step for step in make_program(seed) if step[0] != "thread"]
            compiled = torch.compile(run, backend=Collect())
            expected = observed(run(program, inputs(seed)))
            for _ in range(2):
                assert observed(compiled(program, inputs(seed))) == expected, seed


def test_disabled_functions_and_breaks_end_graphs():
    @torch.compiler.disable
    def inner(x):
        return x * 3

    def breaks(x):
        y = inner(x + 1)
        torch._dynamo.graph_break()
        return y - 1 if torch.compiler.is_compiling() else y

    collect = Collect()
    assert torch.compile(breaks, backend=collect)(torch.ones(1)).item() == 5
    assert [collect.ops(k) for k in range(2)] == [[operator.add], [operator.sub]]
    assert not torch.compiler.is_compiling()


def test_names_of_backends():
    collect = Collect()
    torch._dynamo.register_backend(collect, name="collect")
    try:
        assert torch.compile(lambda x: x + 1, backend="collect")(torch.ones(1)) == 2
    finally:
        del torch._dynamo.backends.registry._BACKENDS["collect"]
    assert collect.calls == 1
    module = collect.graphs[0]
    for name in ("eager", "aot_eager", "inductor"):
        function = torch._dynamo.lookup_backend(name)(module, collect.examples[0])
        assert function(torch.ones(1))[0].item() == 2
