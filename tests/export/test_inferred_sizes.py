"""Sizes that ``export`` infers: hints, collections, further examples."""

import io

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._dynamo.exc import UserError
from pellucid.export import (
    AdditionalInputs,
    CustomDecompTable,
    Dim,
    ShapesCollection,
    default_decompositions,
    export,
    load,
    save,
)
from pellucid.export.passes import move_to_device_pass


class Sum(nn.Module):
    def forward(self, x, y, z):
        return x + y + z.sum(1)


class Product(nn.Module):
    def forward(self, x, y):
        return x @ y


def ranges(program):
    return {str(size): str(r) for size, r in program.range_constraints.items()}


@pytest.mark.parametrize("hint", [Dim.AUTO, Dim.DYNAMIC])
def test_sizes_that_must_be_equal_become_one(hint):
    inputs = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 7, 4)
    program = export(Sum(), inputs, dynamic_shapes=({0: hint}, {0: hint}, {0: hint}))
    assert list(ranges(program).values()) == ["VR[2, int_oo]"]
    x, y, z = torch.randn(9, 4), torch.randn(9, 4), torch.randn(9, 7, 4)
    assert torch.equal(program.module()(x, y, z), x + y + z.sum(1))
    with pytest.raises(RuntimeError, match="s0 is 9"):
        program.module()(x, y[:3], z)


def test_equal_examples_of_independent_sizes_stay_apart():
    every = {0: Dim.AUTO, 1: Dim.AUTO}
    inputs = torch.randn(5, 5), torch.randn(5, 5)
    program = export(Product(), inputs, dynamic_shapes=(every, every))
    assert len(ranges(program)) == 3
    assert program.module()(torch.ones(2, 3), torch.ones(3, 6)).shape == (2, 6)


def test_a_size_that_cannot_change_is_refused_or_becomes_a_number():
    class Fixed(nn.Module):
        def forward(self, x):
            return x + torch.ones(4)

    program = export(Fixed(), (torch.ones(4),), dynamic_shapes=({0: Dim.AUTO},))
    assert not program.range_constraints
    with pytest.raises(RuntimeError, match="fails for s0"):
        export(Fixed(), (torch.ones(4),), dynamic_shapes=({0: Dim.DYNAMIC},))


@pytest.mark.parametrize("hint", [Dim.AUTO, Dim.DYNAMIC])
def test_an_inferred_range_is_narrowed_to_the_examples_path(hint):
    class Limited(nn.Module):
        def forward(self, x):
            return x + 1 if 3 < x.shape[0] < 8 else x

    program = export(Limited(), (torch.ones(4),), dynamic_shapes=({0: hint},))
    assert ranges(program) == {"s0": "VR[4, 7]"}
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(8))


def test_sizes_that_a_condition_compares_become_one():
    class Alike(nn.Module):
        def forward(self, x, y):
            return x.sum() + y.sum() if x.shape[0] == y.shape[0] else x.sum()

    inputs, every = (torch.ones(4), torch.ones(4)), {0: Dim.AUTO}
    program = export(Alike(), inputs, dynamic_shapes=(every, every))
    assert ranges(program) == {"s0": "VR[2, int_oo]"}


def test_an_inferred_size_that_is_compared_becomes_a_number():
    class Exact(nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] == 4 else x

    program = export(Exact(), (torch.ones(4, 2),), dynamic_shapes=({0: Dim.AUTO},))
    assert not program.range_constraints
    with pytest.raises(UserError, match="s0 == 4"):
        export(Exact(), (torch.ones(4, 2),), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_a_collection_has_sizes_by_tensor():
    class Nested(nn.Module):
        def forward(self, batch):
            return batch["a"].sum(1) + batch["b"][0].sum()

    a, b = torch.randn(3, 4), torch.randn(3, 2)
    shapes = ShapesCollection()
    shapes[a] = {0: Dim("rows", min=2, max=9)}
    program = export(Nested(), ({"a": a, "b": [b]},), dynamic_shapes=shapes)
    assert ranges(program) == {"rows": "VR[2, 9]"}
    with pytest.raises(AssertionError, match="were given"):
        shapes[a] = {1: Dim("columns")}
    shapes[torch.ones(1)] = {0: Dim("n")}
    with pytest.raises(ValueError, match="not among the arguments"):
        export(Nested(), ({"a": a, "b": [b]},), dynamic_shapes=shapes)


def test_further_examples_make_sizes_dynamic_and_are_run():
    more = AdditionalInputs()
    for rows in (3, 6):
        more.add((torch.randn(rows, 4), torch.randn(rows, 4), torch.randn(rows, 7, 4)))
    inputs = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 7, 4)
    program = export(Sum(), inputs, dynamic_shapes=more)
    assert len(ranges(program)) == 1
    more.add((torch.randn(1, 4), torch.randn(1, 4), torch.randn(1, 7, 4)))
    with pytest.raises(RuntimeError, match=r"== 1, expected \[2"):
        export(Sum(), inputs, dynamic_shapes=more)


def test_a_condition_that_part_of_a_range_violates_is_a_users_error():
    class Limited(nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] < 8 else x

    with pytest.raises(UserError, match="max=7"):
        export(Limited(), (torch.ones(4),), dynamic_shapes=({0: Dim("n")},))


def test_constants_have_the_names_of_attributes():
    class Constants(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Module()
            self.inner.scale = torch.ones(3)

        def forward(self, x):
            return x * self.inner.scale + torch.tensor([1.0, 2.0, 3.0])

    program = export(Constants(), (torch.zeros(3),))
    assert list(program.constants) == ["inner.scale", "lifted_tensor_0"]
    assert not list(program.module().named_buffers())
    core = program.run_decompositions()
    assert (program.dialect, core.dialect) == ("TRAINING", "ATEN")
    metas = [
        node.meta["tensor_meta"] for node in core.graph.nodes if "val" in node.meta
    ]
    assert {meta.shape for meta in metas} == {(3,)}
    assert core.module()(torch.zeros(3)).tolist() == [1.0, 2.0, 3.0]
    assert "class GraphModule" in program.graph_module.print_readable(False)


def test_the_module_is_one_graph_that_owns_its_state():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)
            self.unused = nn.Parameter(torch.ones(1))
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x, *, scale):
            self.calls.add_(1)
            return self.layer(x) * scale + self.calls

    program = export(Counting(), (torch.ones(2, 4),), {"scale": 2.0})
    for each in (program, program.run_decompositions()):
        made = each.module()
        assert isinstance(made, torch.fx.GraphModule)
        assert made.state_dict().keys() == Counting().state_dict().keys()
        before = made.calls.item()
        made(torch.ones(2, 4), scale=2.0).sum().backward()
        assert made.calls.item() == before + 1
        assert made.layer.weight.grad is not None
        with pytest.raises(NotImplementedError, match="exported"):
            made.eval()
        with pytest.raises(ValueError, match="was given"):
            made(torch.ones(2, 4))
        with pytest.raises(AssertionError, match="Guard failed"):
            made(torch.ones(3, 4), scale=2.0)
        assert each.module(check_guards=False)(torch.ones(3, 4), scale=2.0).shape


def test_programs_move_to_devices_and_carry_files():
    class Made(nn.Module):
        def forward(self, x):
            return x + torch.zeros(3, device="cpu")

    program = export(Made(), (torch.ones(3),))

    class Branch(nn.Module):
        def forward(self, x):
            def filled(x):
                return x + torch.ones(3, device="cpu")

            return torch.cond(x.sum() > 0, filled, torch.neg, (x,))

    branch = move_to_device_pass(export(Branch(), (torch.ones(3),)), "meta")
    codes = [m.code for m in branch.graph_module.modules() if hasattr(m, "code")]
    assert any("meta" in code for code in codes)
    assert not any("device(type='cpu')" in code for code in codes)
    moved = move_to_device_pass(program, {"cpu": "meta"})
    assert moved.module()(torch.ones(3, device="meta")).device.type == "meta"
    assert program.module()(torch.ones(3)).tolist() == [1.0] * 3
    file = io.BytesIO()
    save(program, file, extra_files={"note.txt": "hello"})
    file.seek(0)
    files = {"note.txt": "", "absent": "kept"}
    load(file, extra_files=files)
    assert files == {"note.txt": "hello", "absent": "kept"}


def test_a_table_of_decompositions_can_be_changed():
    table = default_decompositions()
    assert isinstance(table, CustomDecompTable)
    kept = torch.ops.aten.linear.default
    for overload in (kept, torch.ops.aten.addmm.default):
        table.pop(overload, None)
    program = export(nn.Linear(3, 2), (torch.ones(1, 3),))
    targets = {n.target for n in program.run_decompositions(table).graph.nodes}
    assert targets & {kept, torch.ops.aten.addmm.default}
