"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from collections import OrderedDict

import pytest

import pellucid as torch
from pellucid import nn


def names(module):
    return [name for name, _ in module.named_parameters()]


def test_sequential_calls_in_order_and_takes_names():
    layers = OrderedDict(first=nn.Linear(2, 3), second=nn.ReLU())
    module = nn.Sequential(layers)
    assert module.first is module[0] and names(module) == ["first.weight", "first.bias"]
    x = torch.ones(1, 2)
    assert torch.equal(module(x), module.second(module.first(x)))


def test_sequential_indexing_and_slicing():
    module = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Tanh())
    assert module[-1] is module[2]
    assert [type(m).__name__ for m in module[1:]] == ["ReLU", "Tanh"]
    for index in (3, -4):
        with pytest.raises(IndexError):
            module[index]


def test_sequential_editing_renumbers():
    module = nn.Sequential(nn.ReLU(), nn.Tanh())
    module.append(nn.Sigmoid()).insert(0, nn.Identity())
    del module[1]
    assert list(module._modules) == ["0", "1", "2"]
    assert [type(m).__name__ for m in module] == ["Identity", "Tanh", "Sigmoid"]
    assert type(module.pop(1)).__name__ == "Tanh" and len(module) == 2
    module[0] = nn.ELU()
    assert isinstance(module[0], nn.ELU)


def test_sequential_arithmetic():
    relu = nn.Sequential(nn.ReLU())
    assert len(relu + nn.Sequential(nn.Tanh())) == 2
    assert len(relu * 3) == len(3 * relu) == 3
    with pytest.raises(ValueError):
        relu * 0
    with pytest.raises(TypeError):
        relu * 1.5
    with pytest.raises(TypeError):
        nn.Sequential(3)


def test_module_list_behaves_as_a_list():
    modules = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    modules.extend([nn.Tanh()])
    modules += [nn.ELU()]
    modules.insert(1, nn.Identity())
    assert len(modules) == 5 and isinstance(modules[1], nn.Identity)
    del modules[1:3]
    assert [type(m).__name__ for m in modules] == ["Linear", "Tanh", "ELU"]
    assert names(modules) == ["0.weight", "0.bias"]
    assert isinstance(modules[:2], nn.ModuleList)
    with pytest.raises(NotImplementedError):
        modules(1)
    with pytest.raises(TypeError):
        modules.extend(3)


def test_module_list_repr_folds_equal_neighbours():
    modules = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])
    assert repr(modules) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict_behaves_as_a_dict():
    modules = nn.ModuleDict({"a": nn.Linear(1, 1)})
    modules["b"] = nn.ReLU()
    modules.update([("c", nn.Tanh())])
    assert list(modules) == list(modules.keys()) == ["a", "b", "c"]
    assert "b" in modules and len(modules) == 3
    assert isinstance(modules.pop("b"), nn.ReLU)
    del modules["c"]
    assert names(modules) == ["a.weight", "a.bias"]
    modules.clear()
    assert not len(modules)
    with pytest.raises(ValueError):
        modules.update([("x",)])


def test_parameter_list_registers_tensors_and_keeps_others():
    values = nn.ParameterList([torch.ones(1), 3])
    values.append(torch.zeros(2))
    assert names(values) == ["0", "2"] and values[1] == 3
    assert isinstance(values[-1], nn.Parameter)
    values[0] = torch.full((1,), 5.0)
    assert values[0].item() == 5 and len(values) == 3
    assert isinstance(values[1:], nn.ParameterList)
    assert "Parameter containing: [torch.float32 of size 2]" in repr(values)
    with pytest.raises(RuntimeError):
        values()


def test_parameter_dict_registers_tensors_under_keys():
    values = nn.ParameterDict({"a": torch.ones(1)})
    values["b"] = torch.zeros(2)
    assert names(values) == ["a", "b"] and list(values.keys()) == ["a", "b"]
    assert (values | nn.ParameterDict({"c": torch.ones(1)})).keys() >= {"a", "c"}
    assert values.pop("a").item() == 1 and "a" not in values
    assert values.get("nope") is None
    assert values.setdefault("d", torch.ones(1)) is values["d"]
    assert values.popitem()[0] == "d"
    with pytest.raises(KeyError):
        values["nope"]


def test_the_old_container_warns():
    with pytest.warns(FutureWarning, match="use nn.Module"):
        actual = nn.Container(first=nn.ReLU(), second=nn.Tanh())
    assert isinstance(actual.second, nn.Tanh)
    assert [name for name, _ in actual.named_children()] == ["first", "second"]
