"""functorch's older names: modules as functions of tuples of tensors."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._functorch import exports as functorch

pytestmark = pytest.mark.filterwarnings("ignore:functorch")


@pytest.fixture
def x():
    return torch.arange(8.0).reshape(4, 2)


def test_a_module_becomes_a_function_of_its_parameters(x):
    layer = nn.Linear(2, 3)
    function, params = functorch.make_functional(layer)
    assert function.param_names == ("weight", "bias")
    assert all(isinstance(p, nn.Parameter) for p in params)
    assert torch.equal(function(params, x), layer(x))
    halves = tuple(p.detach() / 2 for p in params)
    assert torch.equal(function(halves, x), layer(x) / 2)
    grads = functorch.grad(lambda p: function(p, x).sum())(params)
    assert torch.equal(grads[1], torch.full((3,), 4.0))


def test_a_shared_tensor_is_one_parameter(x):
    layer = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    layer[1].weight = layer[0].weight
    function, params = functorch.make_functional(layer)
    assert len(params) == 3
    doubled = (params[0].detach() * 2, *params[1:])
    with torch.no_grad():
        expected = function(params, x)
        layer[0].weight.mul_(2)
        assert not torch.equal(layer(x), expected)
    assert torch.equal(function(doubled, x), layer(x))


def test_buffers_are_passed_with_parameters(x):
    model = nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError, match="make_functional_with_buffers"):
        functorch.make_functional(model)
    function, params, buffers = functorch.make_functional_with_buffers(model)
    assert torch.equal(function(params, buffers, x), model(x))
    assert int(buffers[2]) == 1
    untracked = functorch.make_functional_with_buffers(model, True)[1]
    assert not any(p.requires_grad for p in untracked)


def test_models_of_one_class_are_stacked(x):
    models = [nn.Linear(2, 3) for _ in range(5)]
    function, params, buffers = functorch.combine_state_for_ensemble(models)
    actual = functorch.vmap(function, (0, 0, None))(params, buffers, x)
    torch.testing.assert_close(actual, torch.stack([model(x) for model in models]))
    for wrong in ([], [nn.Linear(1, 1), nn.ReLU()], [models[0], models[1].eval()]):
        with pytest.raises(RuntimeError):
            functorch.combine_state_for_ensemble(wrong)


def test_the_older_names_say_what_is_newer():
    with pytest.warns(FutureWarning, match="functional_call"):
        functorch.make_functional(nn.Linear(1, 1))
