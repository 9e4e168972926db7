"""``run_decompositions``: programs in Core ATen ops."""

import math

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._decomp import core_aten_decompositions
from pellucid._ops.core import CORE
from pellucid.export import Dim, default_decompositions, export

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


@pytest.mark.parametrize("name", EXACT)
def test_a_program_is_in_ops_of_the_set(name):
    x = torch.randn(4, 6)
    program = export(Program(EXACT[name]), (x,)).run_decompositions()
    assert ops_of(program) <= CORE
    torch.testing.assert_close(
        program.module()(x), EXACT[name](x), rtol=1e-6, atol=1e-6, equal_nan=True
    )


def test_a_transformer_is_in_ops_of_the_set_for_every_size():
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    sizes = {"src": {0: Dim("batch", min=2, max=9)}}
    program = export(model, (torch.randn(3, 5, 8),), dynamic_shapes=sizes)
    smaller = program.run_decompositions()
    assert ops_of(smaller) <= CORE and not ops_of(program) <= CORE
    x = torch.randn(7, 5, 8)
    torch.testing.assert_close(smaller.module()(x), model(x))


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
