"""Programs that write buffers and inputs: in place as exported, as outputs after
``run_decompositions``.
"""

import io

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.export import Dim, export, load, save, unflatten
from pellucid.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymIntArgument,
    TensorArgument,
)


class Cache(nn.Module):
    """Caches keys, counts its calls, changes its argument."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(4, 3))
        self.register_buffer("calls", torch.tensor(0), persistent=False)

    def forward(self, position, x):
        self.keys.index_copy_(0, position, x)
        self.keys[0:1] = x
        self.calls += 1
        x.add_(1)
        return self.keys * 2, self.calls, x


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache, self.norm = Cache(), nn.BatchNorm1d(3)

    def forward(self, position, x):
        keys, calls, x = self.cache(position, x * 1)
        return self.norm(keys) + calls, x


def inputs():
    return torch.tensor([1]), torch.ones(1, 3)


def stored(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def writes(program):
    schemas = [getattr(n.target, "_schema", None) for n in program.graph.nodes]
    return [s.name for s in schemas if s is not None and s.is_mutable]


def test_the_signature_says_what_is_written():
    program = export(Cache(), inputs())
    assert not program.graph_signature.buffers_to_mutate
    assert writes(program) == [
        *("aten::index_copy_", "aten::copy_", "aten::add_", "aten::add_")
    ]
    functional = program.run_decompositions()
    assert not writes(functional)
    signature = functional.graph_signature
    assert signature.buffers_to_mutate == {"slice_scatter": "keys", "add": "calls"}
    assert signature.user_inputs_to_mutate == {"add_1": "x"}
    assert signature.user_outputs == ("mul", "add", "add_1")
    assert signature.non_persistent_buffers == ("calls",)
    assert [s.kind for s in signature.output_specs] == [
        *([OutputKind.BUFFER_MUTATION] * 2),
        OutputKind.USER_INPUT_MUTATION,
        *([OutputKind.USER_OUTPUT] * 3),
    ]
    assert "slice_scatter: BUFFER_MUTATION target='keys'" in str(functional)
    nodes = functional.graph.output_node().args[0]
    assert [n.name for n in nodes[:3]] == ["slice_scatter", "add", "add_1"]


@pytest.mark.parametrize("whole", [lambda p: p.module(), unflatten])
@pytest.mark.parametrize("again", [lambda p: p, stored])
@pytest.mark.parametrize("kind", [Cache, Nested])
def test_what_a_program_writes_is_written_by_who_runs_it(kind, again, whole):
    programs = [export(kind(), inputs()) for _ in range(2)]
    programs[1] = programs[1].run_decompositions()
    modules = [kind(), *(whole(again(program)) for program in programs)]
    rows = []
    for module in modules:
        actual = []
        for place in (1, 2, 3):
            x = torch.full((1, 3), float(place))
            actual += [t.clone() for t in (*module(torch.tensor([place]), x), x)]
        rows.append(actual + [b for _, b in sorted(module.named_buffers())])
    for expected, *others in zip(*rows, strict=True):
        for actual in others:
            torch.testing.assert_close(actual, expected)


def test_a_result_that_was_written_is_what_it_was_written_to():
    program = export(Cache(), inputs()).run_decompositions()
    for module in (program.module(), unflatten(program)):
        position, x = inputs()
        _, calls, returned = module(position, x)
        assert returned is x
        assert calls.data_ptr() == dict(module.named_buffers())["calls"].data_ptr()


def test_statistics_of_a_trained_program_have_no_gradients():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    sizes = ({0: Dim("batch", min=2)},)
    program = export(model, (torch.randn(6, 3),), dynamic_shapes=sizes)
    smaller = program.run_decompositions()
    assert list(smaller.graph_signature.buffers_to_mutate.values()) == [
        *("1.running_mean", "1.running_var", "1.num_batches_tracked")
    ]
    for module in (smaller.module(), unflatten(smaller)):
        expected = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        expected.load_state_dict(module.state_dict())
        for rows in (7, 3):
            x = torch.randn(rows, 3)
            module(x).sum().backward()
            expected(x)
        for name, value in expected.named_buffers():
            actual = module.get_buffer(name)
            assert not actual.requires_grad
            torch.testing.assert_close(actual, value)


def test_a_program_without_writes_stays_one():
    once = export(Cache(), inputs()).run_decompositions({})
    twice = once.run_decompositions()
    assert twice.graph_signature.buffers_to_mutate.keys() == {"slice_scatter", "add"}
    assert twice.graph_signature.user_outputs == once.graph_signature.user_outputs


def test_arguments_are_tensors_sizes_and_constants():
    class Sized(nn.Module):
        def forward(self, x, scale, flag):
            return x * scale if flag else x, x.shape[0], 3, None

    sizes = {"x": {0: Dim("n", min=2)}, "scale": None, "flag": None}
    program = export(Sized(), (torch.ones(4), 2.0, True), dynamic_shapes=sizes)
    for actual in (program, stored(program), program.run_decompositions()):
        signature = actual.graph_signature
        assert [s.arg for s in signature.input_specs] == [
            TensorArgument("x"),
            ConstantArgument("scale", 2.0),
            ConstantArgument("flag", True),
        ]
        assert {s.kind for s in signature.input_specs} == {InputKind.USER_INPUT}
        assert signature.user_inputs == ("x", 2.0, True)
        tensor, size, *rest = [s.arg for s in signature.output_specs]
        assert isinstance(tensor, TensorArgument) and isinstance(size, SymIntArgument)
        assert rest == [ConstantArgument("", 3), ConstantArgument("", None)]
        assert actual.module()(torch.ones(5), 2.0, True)[1:] == (5, 3, None)
