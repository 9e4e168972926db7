"""``_NamedOptimizer``: states by names of parameters."""

import copy

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed.optim import _NamedOptimizer


def trained(optimizer, **options):
    """A model, its optimizer after a step, and the input."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    named = _NamedOptimizer(dict(model.named_parameters()), optimizer, **options)
    model(torch.ones(4, 3)).pow(2).mean().backward()
    named.step()
    return model, named


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.Adagrad])
def test_state_is_keyed_by_names_and_loads_into_another(kind):
    model, named = trained(kind, lr=0.1)
    state = named.state_dict()
    names = [name for name, _ in model.named_parameters()]
    assert list(state["state"]) == names
    assert state["param_groups"][0]["params"] == sorted(names)
    other = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1), nn.Linear(1, 1))
    loaded = _NamedOptimizer(dict(other.named_parameters()), kind, lr=0.5)
    loaded.init_state()
    loaded.load_state_dict(state)
    actual = loaded.state_dict()
    for name in names:
        for key, value in state["state"][name].items():
            assert torch.equal(actual["state"][name][key], value)
    assert actual["param_groups"][0]["lr"] == 0.5  # it has other parameters


def test_groups_are_loaded_where_their_parameters_are_the_same():
    model, _ = trained(torch.optim.SGD, lr=0.1, momentum=0.9)
    weight, bias = model[0].weight, model[0].bias
    groups = [{"params": weight}, {"params": [bias], "lr": 0.3}]
    own = dict(model.named_parameters()), torch.optim.SGD, groups
    with pytest.warns(UserWarning, match="param_groups"):
        chosen = _NamedOptimizer(*own, lr=0.1, momentum=0.9)
    assert chosen.ordered_param_keys == ["0.weight", "0.bias"]
    chosen.add_param_group({"params": model[1].bias, "lr": 0.7})
    chosen.init_state()
    state = chosen.state_dict()
    state["param_groups"][1]["lr"] = 0.2
    chosen.load_state_dict(state)
    assert [group["lr"] for group in chosen.param_groups] == [0.1, 0.2, 0.7]


def test_what_does_not_fit_is_refused():
    model, named = trained(torch.optim.Adam)
    with pytest.raises(ValueError, match="not among named_parameters"):
        named.add_param_group({"params": nn.Parameter(torch.ones(1))})
    with pytest.raises(TypeError, match="parameters are tensors"):
        named.add_param_group({"params": [3]})
    state = named.state_dict()
    state["state"]["0.bias"] = {"step": 1}
    with pytest.raises(ValueError, match=r"0\.bias has step; expected step, exp"):
        named.load_state_dict(state)
    fresh = _NamedOptimizer(dict(model.named_parameters()), torch.optim.Adam)
    with pytest.raises(ValueError, match="init_state"):
        fresh.load_state_dict(named.state_dict())


def test_hooks_defaults_and_copies_are_of_the_wrapped_optimizer():
    _, named = trained(torch.optim.Adam, lr=0.1)
    assert named.defaults["lr"] == 0.1
    steps = []
    named.register_step_post_hook(lambda *_: steps.append(1))
    named.step()
    assert steps == [1]
    copied = copy.deepcopy(named)
    assert copied.param_groups is copied._optimizer.param_groups
    weight = copied.named_parameters["0.weight"]
    assert copied.state[weight]["step"] == 2 and weight not in named.state
    with pytest.raises(AttributeError, match="no attribute 'rate'"):
        named.rate  # noqa: B018
