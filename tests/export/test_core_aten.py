"""``run_decompositions``: programs in Core ATen ops."""

import math

import numpy as np
import pytest
from tools.op_samples import calls

import pellucid as torch
from pellucid import nn
from pellucid._decomp import core_aten_decompositions
from pellucid._decomp.core_aten import is_core
from pellucid._decomp.expressible import is_expressible
from pellucid._decomp.graphs import results_of
from pellucid.export import Dim, default_decompositions, export
from pellucid_compiler.declare import REGISTRY

F = nn.functional
EXACT = {
    "silu": F.silu,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "softplus": F.softplus,
    "softshrink": F.softshrink,
    "celu": F.celu,
    "log_sigmoid": F.logsigmoid,
    "glu": F.glu,
    "addcmul": lambda x: torch.addcmul(x, x, x + 1, value=0.3),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.3),
    "xlogy": lambda x: torch.xlogy(x.abs(), x.abs()),
    "logaddexp": lambda x: torch.logaddexp(x, 1 - x),
    "nan_to_num": lambda x: torch.nan_to_num(x / (x > 0)),
    "isfinite": lambda x: (x / 0).isfinite(),
    "std": lambda x: x.std(1),
    "tril": lambda x: x.tril() + x.triu(1),
    "masked": lambda x: x.masked_fill(x > 0, -math.inf).amax(1),
    "stack": lambda x: torch.stack([x, x.t().t()]).unbind(0)[1],
    "chunks": lambda x: x.chunk(3, 1)[2].squeeze() * torch.ones_like(x[0, :2]),
    "eye": lambda x: x @ torch.eye(6) + torch.arange(6),
    "all": lambda x: (x > 0).all(1) & (x < 9).all(),
    "losses": lambda x: F.mse_loss(x, x + 1) + F.huber_loss(x, x * 3),
    "logits": lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid()),
    "classes": lambda x: F.cross_entropy(x, torch.tensor([1, -100, 3, 0])),
    "shuffled": lambda x: F.pixel_shuffle(x.reshape(1, 4, 2, 3), 2),
}


class Program(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def ops_of(program):
    calls = [n.target for n in program.graph.nodes if n.op == "call_function"]
    names = {op.name() for op in calls if isinstance(op, torch._ops.OpOverload)}
    assert names
    return {n.removeprefix("aten::").removesuffix(".default") for n in names}


def whole_ops_of(program):
    """The ops that are not in the set."""
    calls = [n.target for n in program.graph.nodes if n.op == "call_function"]
    ops = [op for op in calls if isinstance(op, torch._ops.OpOverload)]
    return {op.name() for op in ops if not is_core(op)}


@pytest.mark.parametrize("name", EXACT)
def test_a_program_is_in_ops_of_the_set(name):
    x = torch.randn(4, 6)
    program = export(Program(EXACT[name]), (x,)).run_decompositions()
    assert not whole_ops_of(program)
    torch.testing.assert_close(
        program.module()(x), EXACT[name](x), rtol=1e-6, atol=1e-6, equal_nan=True
    )


def test_a_transformer_is_in_ops_of_the_set_for_every_size():
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    sizes = {"src": {0: Dim("batch", min=2, max=9)}}
    program = export(model, (torch.randn(3, 5, 8),), dynamic_shapes=sizes)
    smaller = program.run_decompositions()
    assert not whole_ops_of(smaller) and whole_ops_of(program)
    x = torch.randn(7, 5, 8)
    torch.testing.assert_close(smaller.module()(x), model(x))


LAYERS = {
    "lstm": lambda: nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True),
    "projected": lambda: nn.LSTM(4, 6, proj_size=3),
    "gru": lambda: nn.GRU(4, 6, bidirectional=True),
    "tanh": lambda: nn.RNN(4, 6),
    "relu": lambda: nn.RNN(4, 6, nonlinearity="relu", bias=False),
    "normed": lambda: nn.BatchNorm1d(5),
    "encoder": lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_in_ops_of_the_set(name):
    layer, x = LAYERS[name](), torch.randn(3, 5, 4)
    program = export(layer, (x,)).run_decompositions()
    assert not whole_ops_of(program)
    actual, expected = program.module()(x), LAYERS[name]()
    expected.load_state_dict(layer.state_dict())
    if name == "normed":
        expected.reset_running_stats()
    torch.testing.assert_close(actual, expected(x), rtol=1e-5, atol=1e-6)


def test_a_cell_is_in_ops_of_the_set():
    for cell in (nn.LSTMCell(4, 6), nn.GRUCell(4, 6), nn.RNNCell(4, 6)):
        x = torch.randn(2, 4)
        program = export(cell, (x,)).run_decompositions()
        assert not whole_ops_of(program)
        torch.testing.assert_close(program.module()(x), cell(x), rtol=1e-5, atol=1e-6)


def test_a_recurrent_layer_for_every_length_stays():
    layer = nn.LSTM(4, 6)
    sizes = {"input": {0: Dim("time", min=2, max=64)}}
    program = export(layer, (torch.randn(3, 5, 4),), dynamic_shapes=sizes)
    smaller = program.run_decompositions()
    assert whole_ops_of(smaller) == {"pellucid::_lstm"}
    x = torch.randn(7, 5, 4)
    torch.testing.assert_close(smaller.module()(x), layer(x), rtol=1e-5, atol=1e-6)


def test_rows_may_be_removed_and_replaced():
    x = torch.randn(4, 6)
    program = export(Program(lambda x: F.silu(x) * F.mish(x)), (x,))
    table = default_decompositions()
    assert table.keys() == core_aten_decompositions().keys()
    del table[torch.ops.aten.silu.default]
    table[torch.ops.aten.mish.default] = lambda x: x.sin()
    changed = program.run_decompositions(table)
    assert ops_of(changed) == {"silu", "sin", "mul.Tensor"}
    assert torch.equal(changed.module()(x), F.silu(x) * x.sin())
    assert ops_of(program.run_decompositions({})) == {"silu", "mish", "mul.Tensor"}


def test_declarations_say_which_overloads_are_of_the_set():
    names = set()
    for name, op in REGISTRY.items():
        core = op.options.core
        names |= {name} if core is True else set(core or ())
    assert len(names) > 150 and {"add.Tensor", "add.Scalar", "atan2.out"} <= names
    for name in names | {"rand", "empty_strided", "grid_sampler_2d"}:
        packet, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        assert torch.Tag.core in op.tags, name
    assert torch.Tag.core not in torch.ops.aten.add.out.tags


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        *(("view", 15), ("factory", 19), ("reduction", 33), ("fused", 24)),
        *(("loop", 53), ("contraction", 24), ("join", 2)),
    ],
)
def test_an_op_is_the_ops_that_its_graph_says(kind, least):
    checked = set()
    for name in (n for n, op in REGISTRY.items() if op.kind == kind):
        for call, traced, arrays, expected in calls(name, "float32"):
            if not is_expressible(traced.graph):
                continue
            tensors = [torch.from_numpy(np.array(array)) for array in arrays]
            actual = results_of(traced.graph, tensors, call.env, None)
            for a, b in zip(actual, expected, strict=True):
                b = torch.from_numpy(np.array(b))
                torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6, msg=name)
            checked.add(name)
    assert len(checked) >= least


def test_batch_norm_returns_its_new_statistics():
    layer, x = nn.BatchNorm2d(3), torch.randn(2, 3, 4, 4)
    program = export(layer, (x,)).run_decompositions()
    ops = {n.target for n in program.graph.nodes if n.op == "call_function"}
    assert torch.ops.aten._native_batch_norm_legit_functional.default in ops
    module = program.module()
    torch.testing.assert_close(module(x), layer(x))
    torch.testing.assert_close(module.running_var, layer.running_var)
    evaluated = export(layer.eval(), (x,)).run_decompositions()
    torch.testing.assert_close(evaluated.module()(x), layer(x))


def test_a_composite_without_an_entry_stays_whole():
    layer, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(2, 4)
    table = default_decompositions()
    del table[torch.ops.aten.linear.default]
    for kept in (table, {}):
        program = export(layer, (x,)).run_decompositions(kept)
        assert "aten.linear.default" in program.graph_module.code
        torch.testing.assert_close(program.module()(x), layer(x))


def test_an_entry_of_the_user_replaces_a_composite():
    layer, x = nn.Linear(4, 4), torch.randn(2, 4)

    def by_product(x, weight, bias=None):
        return torch.ops.aten.mm(x, weight.t()) - bias

    program = export(layer, (x,)).run_decompositions(
        {torch.ops.aten.linear.default: by_product}
    )
    torch.testing.assert_close(program.module()(x), x @ layer.weight.t() - layer.bias)
