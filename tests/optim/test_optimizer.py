"""The Optimizer base: groups, state dicts, hooks, closures, printing."""

import copy
import pickle

import pytest

import pellucid as torch
from pellucid import nn, optim
from pellucid.optim.optimizer import Optimizer, register_optimizer_step_pre_hook


def parameter(value=1.0):
    return torch.tensor([value], requires_grad=True)


class Plain(Optimizer):
    """What a user writes: p -= rate * grad."""

    def __init__(self, params, rate=0.5):
        super().__init__(params, {"rate": rate})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p -= group["rate"] * p.grad


def test_groups_take_defaults_and_keep_their_own():
    groups = [{"params": parameter()}, {"params": [parameter()], "lr": 0.5}]
    optimizer = optim.SGD(iter(groups), lr=0.1)
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5]
    assert isinstance(optimizer.param_groups[0]["params"], list)


def test_named_parameters_keep_their_names():
    optimizer = optim.SGD(nn.Linear(1, 1).named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == [
        "weight",
        "bias",
    ]


@pytest.mark.parametrize(
    ("params", "error"),
    [
        (lambda: parameter(), TypeError),
        (list, ValueError),
        (lambda: [3], TypeError),
        (lambda: [{"params": {parameter()}}], TypeError),
        (lambda: [parameter() * 2], ValueError),
        (lambda: [{"params": [p]} for p in [parameter()] * 2], ValueError),
        (lambda: [("a", parameter()), parameter()], ValueError),
    ],
)
def test_unfit_parameters_are_refused(params, error):
    with pytest.raises(error):
        optim.SGD(params(), lr=0.1)


def test_the_same_parameter_twice_warns():
    shared = parameter()
    with pytest.warns(UserWarning, match="more than once"):
        optim.SGD([shared, shared], lr=0.1)


def test_zero_grad_forgets_or_zeroes():
    shared = parameter()
    optimizer = optim.SGD([shared], lr=0.1)
    shared.grad = torch.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert shared.grad.item() == 0
    optimizer.zero_grad()
    assert shared.grad is None


def test_closures_run_with_gradients_and_give_the_loss():
    shared = parameter(3.0)
    optimizer = optim.SGD([shared], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (shared**2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert shared.item() == 0.0


def test_state_dict_numbers_parameters():
    params = [parameter(), parameter()]
    optimizer = optim.SGD(
        [{"params": params[:1]}, {"params": params[1:]}], momentum=0.9
    )
    params[1].grad = torch.ones(1)
    optimizer.step()
    state = optimizer.state_dict()
    assert [g["params"] for g in state["param_groups"]] == [[0], [1]]
    assert list(state["state"]) == [1]
    assert state["state"][1]["momentum_buffer"].item() == 1


def test_loading_restores_options_and_casts_state():
    old, new = parameter(), torch.ones(1, dtype=torch.float64, requires_grad=True)
    source = optim.Adam([old], lr=0.25)
    old.grad = torch.ones(1)
    source.step()
    target = optim.Adam([new])
    target.load_state_dict(copy.deepcopy(source.state_dict()))
    assert target.param_groups[0]["lr"] == 0.25
    assert target.param_groups[0]["params"][0] is new
    assert target.state[new]["exp_avg"].dtype == torch.float64
    assert target.state[new]["step"].item() == 1


def test_loading_refuses_other_groups():
    state = optim.SGD([parameter()], lr=0.1).state_dict()
    with pytest.raises(ValueError):
        optim.SGD([parameter(), parameter()], lr=0.1).load_state_dict(state)


def test_hooks_around_steps():
    shared, log = parameter(), []
    shared.grad = torch.ones(1)
    optimizer = optim.SGD([shared], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: log.append("pre"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: log.append("post"))
    with register_optimizer_step_pre_hook(lambda o, a, k: log.append("all")):
        optimizer.step()
    optimizer.step()
    assert log == ["all", "pre", "post", "pre", "post"]


def test_hooks_around_state_dicts():
    optimizer, log = optim.SGD([parameter()], lr=0.1), []
    optimizer.register_state_dict_pre_hook(lambda o: log.append("before"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(
        lambda o, state: log.append(state["more"])
    )
    optimizer.register_load_state_dict_post_hook(lambda o: log.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert log == ["before", 1, "loaded"]


def test_users_optimizers_work_with_hooks_and_schedulers():
    shared, log = parameter(), []
    shared.grad = torch.ones(1)
    optimizer = Plain([shared])
    optimizer.register_step_post_hook(lambda *_: log.append(1))
    optimizer.step()
    assert shared.item() == 0.5 and log == [1]


def test_pickling_keeps_state_and_options():
    shared = parameter()
    shared.grad = torch.ones(1)
    optimizer = optim.SGD([shared], lr=0.1, momentum=0.9)
    optimizer.step()
    other = pickle.loads(pickle.dumps(optimizer))
    assert other.param_groups[0]["lr"] == 0.1
    assert len(other.state) == 1


def test_optimizers_print_their_groups():
    assert repr(Plain([parameter()])) == "Plain (\nParameter Group 0\n    rate: 0.5\n)"


def test_adafactor_has_no_option_to_differentiate():
    assert "differentiable" not in optim.Adafactor([torch.ones(2)]).param_groups[0]


def test_lbfgs_keeps_the_factors_of_its_direction():
    p = torch.zeros(2, requires_grad=True)
    optimizer = optim.LBFGS([p], max_iter=3, history_size=4)

    def closure():
        optimizer.zero_grad()
        loss = ((p - torch.tensor([1.0, 3.0])) ** 4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    state = optimizer.state[p]
    kept = len(state["old_dirs"])
    assert len(state["al"]) == 4 and 0 < kept < 4
    assert all(isinstance(factor, torch.Tensor) for factor in state["al"][:kept])
    assert state["al"][kept:] == [None] * (4 - kept)
