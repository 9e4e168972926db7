"""``optim.swap_in_optimizer_params_and_state``: steps on lent tensors."""

import copy

import pytest

import pellucid as torch
from pellucid.optim import swap_in_optimizer_params_and_state as lending


def test_a_step_writes_the_lent_tensors_alone():
    own = torch.ones(3, requires_grad=True)
    own.grad = torch.ones(3)
    optimizer = torch.optim.Adam([own], lr=0.1)
    optimizer.step()
    before, state = own.detach().clone(), copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 1.0
    lent = torch.zeros(3, requires_grad=True)
    lent.grad = torch.ones(3)
    with lending(optimizer, {"weight": lent}, state):
        optimizer.step()
        assert optimizer.param_groups[0]["lr"] == 1
    assert lent.tolist() == pytest.approx([-1.0] * 3)
    assert state["state"][0]["step"] == 2
    assert torch.equal(own, before)
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert optimizer.state[own]["step"] == 1
    optimizer.step()
    assert not torch.equal(own, before)


def test_the_optimizer_has_its_own_again_after_an_error():
    own = torch.ones(3, requires_grad=True)
    own.grad = torch.ones(3)
    optimizer = torch.optim.SGD([own], lr=0.1, momentum=0.9)
    state = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(RuntimeError, match="take a step"):
        lending(optimizer, {"x": own}, state).__enter__()
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(KeyError), lending(optimizer, {"x": torch.ones(3)}, state):
        raise KeyError
    assert optimizer.param_groups[0]["params"][0] is own
    with pytest.raises(RuntimeError, match="2 parameters and a state"):
        lending(optimizer, {"x": own, "y": own}, state).__enter__()
