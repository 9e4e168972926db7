"""``unflatten``: exported programs with their modules; ``nn_module_stack``."""

import io

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.export import Dim, FlatArgsAdapter, export, load, save, unflatten
from pellucid.fx.experimental.proxy_tensor import make_fx


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))
        self.register_buffer("scratch", torch.zeros(4), persistent=False)

    def forward(self, x, scale=2):
        return self.linear(x).relu() * scale + self.shift + self.scratch


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Part()
        self.layers = nn.ModuleList([nn.Linear(4, 4), Part()])
        self.shared = Part()

    def forward(self, x, *, y):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return {"out": self.shared(x) + self.shared(y), "x": x}


def inputs(rows=2):
    return (torch.randn(rows, 4),), {"y": torch.randn(rows, 4)}


@pytest.fixture(scope="module")
def exported():
    args, kwargs = inputs()
    batch = Dim("batch", min=2, max=64)
    model = Whole()
    sizes = {"x": {0: batch}, "y": {0: batch}}
    return model, export(model, args, kwargs, dynamic_shapes=sizes)


def assert_same(actual, expected):
    assert list(actual) == list(expected)
    assert all(torch.equal(actual[key], expected[key]) for key in actual)


def test_nodes_tell_the_calls_that_they_belong_to(exported):
    stacks = {n.name: n.meta.get("nn_module_stack") for n in exported[1].graph.nodes}
    kind = f"{Part.__module__}.Part"
    assert stacks["x"] is None and list(stacks["add_8"]) == ["L__self__"]
    assert list(stacks["linear"].items())[1:] == [
        ("L__self__first", ("first", kind)),
        (
            "L__self__first.linear",
            ("first.linear", "pellucid.nn.modules.linear.Linear"),
        ),
    ]
    assert list(stacks["relu_3"].items())[1:] == [
        ("L__self__shared@1", ("shared", kind))
    ]


def test_the_parts_are_modules_again(exported):
    model, program = exported
    whole = unflatten(program)
    for rows in (2, 9):
        args, kwargs = inputs(rows)
        assert_same(whole(*args, **kwargs), model(*args, **kwargs))
    assert list(whole.state_dict()) == list(model.state_dict())
    calls = [str(n.target) for n in whole.graph.find_nodes(op="call_module")]
    assert calls == ["first", "layers.0", "layers.1", "shared", "shared"]
    assert [n for n, _ in whole.named_modules()] == [
        n for n, _ in model.named_modules()
    ]
    args, kwargs = inputs(65)
    with pytest.raises(RuntimeError, match="Guard failed"):
        whole(*args, **kwargs)


def test_another_module_takes_the_place_of_a_part(exported):
    model, program = exported
    args, kwargs = inputs()
    whole = unflatten(program)
    whole.first = nn.Identity()
    expected = model.layers[1](model.layers[0](args[0]))
    assert torch.equal(whole(*args, **kwargs)["x"], expected)


def test_a_part_keeps_its_signature_where_that_is_wanted():
    layers = [nn.TransformerEncoderLayer(8, 2, 16, batch_first=True) for _ in range(2)]
    model = nn.Sequential(*layers).eval()
    batch = Dim("batch", min=2, max=9)
    x = torch.randn(3, 5, 8)
    program = export(
        model,
        (x,),
        dynamic_shapes={"input": {0: batch}},
        preserve_module_call_signature=["1"],
    )
    whole = unflatten(program)
    assert torch.equal(whole(x), model(x))
    setattr(whole, "1", layers[0])
    x = torch.randn(7, 5, 8)
    assert torch.equal(whole(x), layers[0](layers[0](x)))
    with pytest.raises(ValueError, match="names \\['2'\\]"):
        export(model, (x,), preserve_module_call_signature=["2"])


def test_calls_that_differ_are_modules_of_their_own():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x):
            return self.part(self.part(x), scale=3) * self.part.linear.weight

    model, x = Twice(), torch.randn(4, 4)
    whole = unflatten(export(model, (x,)))
    calls = [str(n.target) for n in whole.graph.find_nodes(op="call_module")]
    assert calls == ["part", "part@1"]
    assert torch.equal(whole(x), model(x))
    assert getattr(whole, "part@1").linear.weight is whole.part.linear.weight


def test_stored_and_smaller_programs_have_their_parts(exported):
    model, program = exported
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    args, kwargs = inputs(5)
    for other in (load(file), program.run_decompositions()):
        whole = unflatten(other)
        assert_same(whole(*args, **kwargs), model(*args, **kwargs))
        assert whole.get_submodule("layers.1.linear").weight.shape == (4, 4)


def test_a_trace_tells_modules_where_that_is_wanted():
    part = Part()
    x = torch.randn(2, 4)
    for told in (False, True):
        module = make_fx(part, record_module_stack=told)(x)
        (relu,) = module.graph.find_nodes(
            op="call_function", target=torch.ops.aten.relu.default
        )
        assert ("nn_module_stack" in relu.meta) is told
    assert nn.Module.__call__(part, x).shape == (2, 4)


class Named(FlatArgsAdapter):
    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        (names,) = (
            spec.context for spec in input_spec.children_specs[0].children_specs
        )
        return [input_args[list(names).index(name)] for name in ("x", "y")]


def test_an_adapter_takes_arguments_in_other_containers():
    class Difference(nn.Module):
        def forward(self, x, y):
            return x - y

    x, y = torch.randn(3), torch.randn(3)
    program = export(Difference(), (x, y))
    whole = unflatten(program, Named())
    assert torch.equal(whole(x, y), x - y)
    assert torch.equal(whole({"y": y, "x": x}), x - y)
    with pytest.raises(TypeError, match="program takes"):
        unflatten(program)({"y": y, "x": x})
