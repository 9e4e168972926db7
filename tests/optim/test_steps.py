"""SGD, Adam, AdamW: three steps against PyTorch 2.13, options, bad values."""

import copy

import pytest

import pellucid as torch
from pellucid import optim

STEPS = [
    ("SGD", {"lr": 0.1}, [0.512, -1.458, 0.032]),
    ("SGD", {"lr": 0.1, "momentum": 0.9}, [0.062, -0.972, -0.427]),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        [-0.140468, -0.547535, -0.145793],
    ),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True},
        [1.92, -2.8755, 2.162],
    ),
    ("Adam", {"lr": 0.1}, [0.701586, -1.700623, 0.204871]),
    (
        "Adam",
        {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True},
        [0.701586, -1.700623, 0.204871],
    ),
    (
        "Adam",
        {"lr": 0.1, "betas": (0.5, 0.6), "eps": 0.1, "maximize": True},
        [1.287387, -2.28666, 0.79254],
    ),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.5}, [0.574974, -1.431025, 0.150503]),
    ("AdamW", {"lr": 0.1, "amsgrad": True}, [0.698911, -1.694945, 0.203712]),
]


def run(name, options, steps=3, between=lambda parameter, optimizer: optimizer):
    """Minimises a quadratic; returns the parameter."""
    parameter = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    optimizer = getattr(optim, name)([parameter], **options)
    for _ in range(steps):
        optimizer.zero_grad()
        (parameter**2 * torch.tensor([1.0, 0.5, 3.0])).sum().backward()
        optimizer.step()
        optimizer = between(parameter, optimizer)
    return parameter


@pytest.mark.parametrize(("name", "options", "wanted"), STEPS)
def test_three_steps_are_pytorchs(name, options, wanted):
    assert run(name, options).tolist() == pytest.approx(wanted, abs=5e-6)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"centered": True}, [-1e-06, -0.302341, -0.074786]),
        ({"centered": True, "momentum": 0.5}, [-0.298191, 0.454475, 0.196108]),
    ],
)
def test_state_that_is_not_stored_leaves_a_gap(options, wanted):
    """RMSprop's momentum stands between the averages that it keeps."""
    actual = run("RMSprop", {"lr": 0.1, **options})
    assert actual.tolist() == pytest.approx(wanted, abs=5e-6)


@pytest.mark.parametrize(("name", "options", "wanted"), STEPS)
def test_differentiable_steps_agree(name, options, wanted):
    parameter = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    result = parameter.clone()
    optimizer = getattr(optim, name)([result], **options, differentiable=True)
    for _ in range(3):
        result.grad = 2 * result.detach() * torch.tensor([1.0, 0.5, 3.0])
        optimizer.step()
    assert result.tolist() == pytest.approx(wanted, abs=1e-4)
    result.sum().backward()
    assert parameter.grad is not None


@pytest.mark.parametrize(("name", "options", "wanted"), STEPS)
def test_steps_go_on_from_a_loaded_state(name, options, wanted):
    def reload(parameter, optimizer):
        fresh = getattr(optim, name)([parameter], **{**options, "lr": 9.0})
        fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        return fresh

    assert run(name, options, between=reload).tolist() == pytest.approx(
        wanted, abs=5e-6
    )


def test_a_learning_rate_may_be_a_tensor():
    number, tensor = (run("Adam", {"lr": lr}) for lr in (0.1, torch.tensor(0.1)))
    assert tensor.tolist() == pytest.approx(number.tolist(), abs=1e-6)


def test_parameters_without_gradient_are_left_alone():
    used, unused = (torch.ones(1, requires_grad=True) for _ in range(2))
    optimizer = optim.Adam([used, unused], lr=0.1)
    used.sum().backward()
    optimizer.step()
    assert unused.item() == 1 and unused not in optimizer.state
    (used + unused).sum().backward()
    optimizer.step()
    assert optimizer.state[used]["step"].item() == 2
    assert optimizer.state[unused]["step"].item() == 1


def test_momentum_starts_when_a_gradient_first_comes():
    first, second = (torch.ones(1, requires_grad=True) for _ in range(2))
    optimizer = optim.SGD([first, second], lr=1.0, momentum=0.5)
    first.grad = torch.ones(1)
    optimizer.step()
    second.grad = torch.ones(1)
    optimizer.step()
    assert first.item() == pytest.approx(1 - 1 - 1.5)
    assert second.item() == 0


def test_state_that_was_replaced_is_used():
    parameter = torch.ones(1, requires_grad=True)
    optimizer = optim.SGD([parameter], lr=1.0, momentum=0.5)
    parameter.grad = torch.zeros(1)
    optimizer.step()
    optimizer.state[parameter]["momentum_buffer"] = torch.tensor([4.0])
    optimizer.step()
    assert parameter.item() == -1
    optimizer.state.clear()
    optimizer.step()
    assert parameter.item() == -1


def test_steps_leave_grad_mode_as_it_was():
    run("SGD", {"lr": 0.1})
    assert torch.is_grad_enabled()


def test_a_step_keeps_the_parameter_a_leaf():
    parameter = run("Adam", {"lr": 0.1})
    assert parameter.is_leaf and parameter.requires_grad


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": -1.0}),
        ("SGD", {"momentum": -1.0}),
        ("SGD", {"weight_decay": -1.0}),
        ("SGD", {"nesterov": True}),
        ("SGD", {"lr": float("nan")}),
        ("Adam", {"eps": -1.0}),
        ("Adam", {"betas": (1.0, 0.9)}),
        ("Adam", {"betas": (0.9, -0.1)}),
        ("AdamW", {"weight_decay": -1.0}),
    ],
)
def test_bad_options_are_refused(name, options):
    with pytest.raises(ValueError):
        getattr(optim, name)([torch.ones(1, requires_grad=True)], **options)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_options_that_exclude_each_other(name):
    parameters = [torch.ones(1, requires_grad=True)]
    for options in (
        {"fused": True, "foreach": True},
        {"fused": True, "differentiable": True},
    ):
        with pytest.raises(RuntimeError):
            getattr(optim, name)(parameters, **options)
