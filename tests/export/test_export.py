"""``torch.export``: programs for every size of their ranges; files."""

import dataclasses
import io

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.export import (
    Dim,
    ExportedProgram,
    export,
    load,
    register_dataclass,
    save,
)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)
        mask = torch.tril(torch.ones(64, 64, dtype=torch.bool))
        self.register_buffer("mask", mask)

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.embedding(tokens)
        parts = self.qkv(self.norm(x)).view(batch, length, 3, 2, 8)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / 8**0.5
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, 16)
        return {"x": x + self.out(y), "sums": (y.sum(),)}


@pytest.fixture(scope="module")
def exported():
    model = Block()
    sizes = {"tokens": {0: Dim("batch", max=512), 1: Dim("length", min=2, max=64)}}
    tokens = torch.randint(0, 50, (4, 10))
    return model, export(model, (tokens,), dynamic_shapes=sizes)


@pytest.mark.parametrize("shape", [(4, 10), (7, 64), (2, 2), (1, 33)])
def test_the_program_serves_every_size_of_its_ranges(exported, shape):
    model, program = exported
    tokens = torch.randint(0, 50, shape)
    actual, expected = program.module()(tokens), model(tokens)
    assert torch.equal(actual["x"], expected["x"])
    assert torch.equal(actual["sums"][0], expected["sums"][0])


@pytest.mark.parametrize("shape", [(7, 65), (513, 4)])
def test_sizes_outside_of_the_ranges_are_refused(exported, shape):
    with pytest.raises(RuntimeError, match=r"Guard failed: tokens\.size"):
        exported[1].module()(torch.zeros(shape, dtype=torch.int64))


def test_the_signature_names_parameters_buffers_and_inputs(exported):
    model, program = exported
    signature = program.graph_signature
    assert set(signature.parameters) == {name for name, _ in model.named_parameters()}
    assert signature.buffers == ("mask",)
    assert signature.user_inputs == ("tokens",)
    assert str(program.range_constraints) == "{batch: VR[0, 512], length: VR[2, 64]}"


def test_gradients_pass_through_the_program(exported):
    model, program = exported
    program.module()(torch.ones(2, 3, dtype=torch.int64))["x"].sum().backward()
    assert torch.count_nonzero(model.out.weight.grad) > 0


def test_a_stored_program_needs_no_code(exported):
    model, program = exported
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    loaded = load(file)
    assert isinstance(loaded, ExportedProgram)
    tokens = torch.randint(0, 50, (3, 21))
    assert torch.equal(loaded.module()(tokens)["x"], model(tokens)["x"])
    with pytest.raises(RuntimeError, match="Guard failed"):
        loaded.module()(torch.zeros(3, 65, dtype=torch.int64))


def test_a_stored_program_can_be_decomposed(exported):
    model, program = exported
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    loaded = load(file)
    (tokens,), keywords = loaded.example_inputs
    assert torch.equal(tokens, program.example_inputs[0][0]) and not keywords
    smaller = loaded.run_decompositions()
    assert smaller.graph_module.code == program.run_decompositions().graph_module.code
    assert torch.allclose(smaller.module()(tokens)["x"], model(tokens)["x"], atol=1e-5)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d, nn.InstanceNorm1d])
def test_running_statistics_of_a_program_have_no_history(layer):
    model = nn.Sequential(
        nn.Linear(4, 4), layer(3, affine=True, track_running_stats=True)
    )
    program = export(model, (torch.randn(5, 3, 4),)).module()
    for _ in range(2):  # the second pass would reach the first one's graph
        program(torch.randn(5, 3, 4)).sum().backward()
    assert not any(buffer.requires_grad for buffer in program.buffers())


def test_decompositions_give_smaller_ops(exported):
    model, program = exported
    smaller = program.run_decompositions()
    assert torch.ops.aten.linear.default in {n.target for n in program.graph.nodes}
    assert torch.ops.aten.linear.default not in {n.target for n in smaller.graph.nodes}
    tokens = torch.randint(0, 50, (5, 12))
    actual, expected = smaller.module()(tokens)["x"], model(tokens)["x"]
    assert torch.allclose(actual, expected, atol=1e-5)


def test_buffers_are_written_by_the_program():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    program = export(model, (torch.randn(6, 3),), dynamic_shapes=({0: Dim("batch")},))
    module = program.module()
    module(torch.randn(9, 3))
    assert int(model[1].num_batches_tracked) == 1
    assert module.get_buffer("1.running_mean") is model[1].running_mean
    assert torch.count_nonzero(model[1].running_mean) == 4


class Branch(nn.Module):
    def forward(self, x):
        if x.shape[0] > 100:
            return x + 1
        return x - 1


def test_a_branch_on_a_size_needs_a_range_on_one_side():
    sizes = {"x": {0: Dim("batch")}}
    with pytest.raises(ValueError, match=r"batch <= 100[^$]*if x.shape\[0\] > 100:"):
        export(Branch(), (torch.ones(4),), dynamic_shapes=sizes)
    narrow = {"x": {0: Dim("batch", max=100)}}
    program = export(Branch(), (torch.ones(4),), dynamic_shapes=narrow)
    assert program.module()(torch.ones(100)).sum() == 0


def test_a_loop_over_a_size_is_refused_with_its_line():
    class Loop(nn.Module):
        def forward(self, x):
            total = x[0]
            for i in range(1, x.shape[0]):
                total = total * x[i]
            return total

    with pytest.raises(RuntimeError, match="something else for batch"):
        sizes = {"x": {0: Dim("batch", max=9)}}
        export(Loop(), (torch.ones(4),), dynamic_shapes=sizes)


def test_automatic_sizes_are_open_where_the_program_lets_them():
    program = export(
        nn.Linear(3, 2),
        (torch.ones(4, 3),),
        dynamic_shapes={"input": (Dim.AUTO, Dim.AUTO)},
    )
    assert [(r.dim, r.lower) for r in program.ranges] == [(0, 2)]
    assert program.module()(torch.ones(8, 3)).shape == (8, 2)


def test_a_branch_on_a_value_names_its_line():
    class Positive(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(RuntimeError, match=r"x if x\.sum\(\) > 0"):
        export(Positive(), (torch.ones(3),))


def test_constants_of_the_program_are_lifted():
    constant = torch.arange(3.0)

    class Shift(nn.Module):
        def forward(self, x):
            return x + constant

    program = export(Shift(), (torch.ones(3),))
    assert len(program.constants) == 1
    assert not program.graph.find_nodes(op="get_attr")
    assert program.module()(torch.ones(3)).tolist() == [1.0, 2.0, 3.0]


@dataclasses.dataclass
class Pair:
    left: torch.Tensor
    right: torch.Tensor


def test_dataclasses_are_nests_of_arguments_and_results():
    class Sums(nn.Module):
        def forward(self, pair):
            return Pair(pair.left + pair.right, pair.right * 2)

    register_dataclass(Pair)
    program = export(Sums(), (Pair(torch.ones(3), torch.ones(3)),))
    actual = program.module()(Pair(torch.ones(3) * 2, torch.ones(3)))
    assert actual.left.tolist() == [3.0] * 3 and actual.right.tolist() == [2.0] * 3


class Halves(nn.Module):
    def forward(self, x, y):
        half = x.shape[0] // 2
        return x.reshape(2, half) + y[1:] + torch.arange(half)


def test_a_size_may_be_computed_of_another(tmp_path):
    n = Dim("n", min=2, max=64)
    shapes = {"x": {0: 2 * n}, "y": {0: 1 + n}}
    program = export(Halves(), (torch.randn(8), torch.randn(5)), dynamic_shapes=shapes)
    save(program, tmp_path / "program.pt2")
    x, y = torch.randn(12), torch.randn(7)
    for actual in (
        program,
        load(tmp_path / "program.pt2"),
        program.run_decompositions(),
    ):
        ranges = {str(k): str(r) for k, r in actual.range_constraints.items()}
        assert ranges == {"2*n": "VR[4, 128]", "n + 1": "VR[3, 65]"}
        assert torch.equal(actual.module()(x, y), Halves()(x, y))
        with pytest.raises(RuntimeError, match=r"expected n \+ 1, but n is 6"):
            actual.module()(x, torch.randn(8))
        with pytest.raises(RuntimeError, match=r"== 7, expected 2\*n in \[4, 128\]"):
            actual.module()(torch.randn(7), y)


@pytest.mark.parametrize(
    "wrong", [lambda n: n + 0.5, lambda n: n * n, lambda n: -1 * n]
)
def test_other_computations_of_dims_are_refused(wrong):
    with pytest.raises(NotImplementedError, match="an integer times it"):
        wrong(Dim("n"))


def test_an_example_must_fit_the_computed_size():
    n, args = Dim("n"), (torch.randn(8), torch.randn(5))
    with pytest.raises(ValueError, match=r"8 is not of the form 3\*n"):
        export(Halves(), args, dynamic_shapes={"x": {0: 3 * n}})
    with pytest.raises(ValueError, match="does not fit"):
        export(Halves(), args, dynamic_shapes={"x": {0: 2 * n}, "y": {0: n}})
