"""Module: registration, lookup, traversal, conversion, copying, printing."""

import copy
import gc
import pickle
import weakref

import pytest

import pellucid as torch
from pellucid import nn


class Scale(nn.Module):
    def __init__(self, factor=2.0):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor([factor]))
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x):
        return x * self.factor


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Scale()
        self.second = nn.Linear(3, 2)
        self.shared = self.first

    def forward(self, x):
        return self.second(self.first(x))


def test_assignment_registers_by_type():
    module = Scale()
    assert list(module._parameters) == ["factor"]
    assert list(module._buffers) == ["calls", "scratch"]
    assert "factor" not in module.__dict__
    module.plain = 3
    assert module.__dict__["plain"] == 3


def test_reassignment_moves_between_tables():
    module = nn.Module()
    module.x = 1
    module.x = nn.Parameter(torch.ones(2))
    assert "x" in module._parameters and "x" not in module.__dict__
    module.x = nn.Linear(1, 1)
    assert "x" in module._modules and "x" not in module._parameters
    module.x = None
    assert module.x is None and "x" in module._modules
    del module.x
    assert not hasattr(module, "x")


def test_reassignment_keeps_the_place():
    module = Pair()
    module.first = nn.Identity()
    assert [n for n, _ in module.named_children()] == ["first", "second", "shared"]


def test_buffer_class_registers_a_buffer():
    module = nn.Module()
    module.kept = nn.Buffer(torch.ones(1))
    module.dropped = nn.Buffer(torch.ones(1), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    assert isinstance(module.dropped, nn.Buffer)
    assert not isinstance(torch.ones(1), nn.Buffer)


def test_a_plain_tensor_does_not_become_a_buffer():
    module = nn.Module()
    module.x = torch.ones(1)
    assert not module._buffers and "x" in module.__dict__


@pytest.mark.parametrize(
    "assign",
    [
        lambda m: setattr(m, "factor", torch.ones(1)),
        lambda m: setattr(m, "calls", 3),
        lambda m: m.register_buffer("b", 3),
        lambda m: m.register_parameter("p", torch.ones(1)),
        lambda m: m.add_module("m", 3),
        lambda m: m.register_buffer(3, None),
    ],
)
def test_wrong_types_are_refused(assign):
    with pytest.raises(TypeError):
        assign(Scale())


@pytest.mark.parametrize("name", ["a.b", "", "factor", "forward"])
def test_unusable_names_are_refused(name):
    with pytest.raises(KeyError):
        Scale().register_buffer(name, torch.ones(1))


def test_parameter_must_be_a_leaf():
    with pytest.raises(TypeError):
        nn.Module().register_parameter("p", torch.ones(1, requires_grad=True) * 2)


def test_use_before_init_says_what_to_do():
    class Forgetful(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(torch.ones(1))

    with pytest.raises(AttributeError, match=r"super\(\).__init__"):
        Forgetful()


def test_missing_attribute_names_class_and_attribute():
    with pytest.raises(AttributeError, match="'Scale' object has no attribute 'nope'"):
        Scale().nope  # noqa: B018


def test_subclass_getattr_can_fall_back():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    wrapper = Wrapper(Scale())
    assert wrapper.factor is wrapper.inner.factor


def test_init_takes_no_arguments():
    with pytest.raises(TypeError):
        nn.Module(3)


def test_forward_must_be_defined():
    with pytest.raises(NotImplementedError):
        nn.Module()(1)


def test_forward_set_on_the_instance_is_called():
    module = Scale()
    module.forward = lambda x: "patched"
    assert module(1) == "patched"


def test_a_method_may_be_replaced_on_the_instance_and_in_the_class():
    scale, other = Scale(), Scale()
    bound = scale.extra_repr
    assert bound.__self__ is scale
    assert bound.__func__ is nn.Module.extra_repr
    scale.extra_repr = lambda: "own"
    assert scale.extra_repr() == "own"
    assert other.extra_repr() == ""
    del scale.extra_repr
    assert scale.extra_repr() == ""


def test_call_passes_keywords():
    class Keywords(nn.Module):
        def forward(self, a, *rest, b=0):
            return a, rest, b

    assert Keywords()(1, 2, 3, b=4) == (1, (2, 3), 4)


def test_traversal_gives_each_thing_once_in_order():
    module = Pair()
    assert [n for n, _ in module.named_modules()] == ["", "first", "second"]
    assert [n for n, _ in module.named_children()] == ["first", "second"]
    names = [n for n, _ in module.named_parameters()]
    assert names == ["first.factor", "second.weight", "second.bias"]
    assert [n for n, _ in module.named_buffers("p")] == [
        "p.first.calls",
        "p.first.scratch",
    ]
    assert len(list(module.parameters(recurse=False))) == 0
    doubled = [n for n, _ in module.named_parameters(remove_duplicate=False)]
    assert doubled == [*names, "shared.factor"]


def test_dotted_paths():
    module = Pair()
    assert module.get_submodule("first") is module.first
    assert module.get_submodule("") is module
    assert module.get_parameter("second.weight") is module.second.weight
    assert module.get_buffer("first.calls") is module.first.calls
    for call in (
        lambda: module.get_submodule("first.factor"),
        lambda: module.get_submodule("third"),
        lambda: module.get_parameter("first.calls"),
        lambda: module.get_buffer("second.weight"),
    ):
        with pytest.raises(AttributeError):
            call()
    module.set_submodule("second", nn.Identity())
    assert isinstance(module.second, nn.Identity)


def test_train_and_eval_reach_all_modules():
    module = Pair()
    module.eval()
    assert not any(m.training for m in module.modules())
    module.train()
    assert all(m.training for m in module.modules())
    with pytest.raises(ValueError):
        module.train("yes")


def test_apply_visits_children_first():
    seen = []
    Pair().apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Scale", "Linear", "Pair"]


def test_requires_grad_and_zero_grad():
    module = Scale()
    module(torch.ones(1)).sum().backward()
    assert module.factor.grad is not None
    module.zero_grad(set_to_none=False)
    assert module.factor.grad.item() == 0
    module.zero_grad()
    assert module.factor.grad is None
    assert not module.requires_grad_(False).factor.requires_grad


def test_conversion_keeps_parameters_and_casts_floats_only():
    module = Scale()
    module.register_buffer("count", torch.zeros(1, dtype=torch.int64))
    before = module.factor
    module.double()
    assert module.factor is before
    assert module.factor.dtype == module.calls.dtype == torch.float64
    assert module.count.dtype == torch.int64
    assert module.to(torch.float32).factor.dtype == torch.float32
    assert module.to("cpu", torch.float64).factor.dtype == torch.float64
    assert module.to(torch.ones(1)).factor.dtype == torch.float32
    assert module.to(device="cpu").factor.dtype == torch.float32
    with pytest.raises(TypeError):
        module.to(torch.int64)
    assert module.to() is module


def test_conversion_casts_gradients():
    module = Scale()
    module(torch.ones(1)).sum().backward()
    module.double()
    assert module.factor.grad.dtype == torch.float64


def test_copies_are_deep_and_pickles_whole():
    module = Pair()
    module.note = "kept"
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other.first is other.shared
        assert other.note == "kept"
        assert isinstance(other.second.weight, nn.Parameter)
        assert torch.equal(other.second.weight, module.second.weight)
        with torch.no_grad():
            other.second.weight.zero_()
        assert not torch.equal(other.second.weight, module.second.weight)


def test_modules_are_collected_when_unreachable():
    module = Scale()
    module.self_reference = [module]
    reference = weakref.ref(module)
    del module
    gc.collect()
    assert reference() is None


def test_repr_nests_and_indents():
    module = nn.Sequential(nn.Linear(3, 4), nn.ModuleDict({"a": nn.ReLU(inplace=True)}))
    assert repr(module) == (
        "Sequential(\n"
        "  (0): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (1): ModuleDict(\n"
        "    (a): ReLU(inplace=True)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Module()) == "Module()"


def test_dir_lists_registered_names():
    assert {"first", "second", "forward", "training"} <= set(dir(Pair()))


def test_parameter_is_a_leaf_that_shares_storage():
    data = torch.zeros(2)
    parameter = nn.Parameter(data)
    assert parameter.requires_grad and parameter.is_leaf
    data += 1
    assert parameter.tolist() == [1, 1]
    assert isinstance(nn.Parameter(), torch.Tensor)
    assert type(parameter + 1) is torch.Tensor
    assert repr(parameter) == (
        "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )


def test_parameter_of_a_subclass_keeps_the_class():
    class Tagged(torch.Tensor):
        pass

    parameter = nn.Parameter(torch.ones(2).as_subclass(Tagged))
    assert type(parameter) is Tagged and isinstance(parameter, nn.Parameter)
