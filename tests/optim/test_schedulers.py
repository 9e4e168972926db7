"""Learning rate schedulers: six rates each, computed with PyTorch 2.13."""

import pytest

import pellucid as torch
from pellucid import optim
from pellucid.optim import lr_scheduler as S


def make_optimizer():
    return optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)


RATES = [
    (lambda o: S.StepLR(o, 2), [1.0, 1.0, 0.1, 0.1, 0.01, 0.01]),
    (lambda o: S.MultiStepLR(o, [1, 3, 3]), [1.0, 0.1, 0.1, 0.001, 0.001, 0.001]),
    (lambda o: S.CyclicLR(o, 0.1, 0.5, 2, 3), [0.1, 0.3, 0.5, 0.366667, 0.233333, 0.1]),
    (
        lambda o: S.CyclicLR(o, 0.1, 0.5, 1, mode="triangular2"),
        [0.1, 0.5, 0.1, 0.3, 0.1, 0.2],
    ),
    (
        lambda o: S.CyclicLR(o, 0.1, 0.5, 2, mode="exp_range", gamma=0.9),
        [0.1, 0.28, 0.424, 0.2458, 0.1, 0.218098],
    ),
    (lambda o: S.ConstantLR(o, 0.5, 2), [0.5, 0.5, 1.0, 1.0, 1.0, 1.0]),
    (lambda o: S.LinearLR(o, 0.5, 1.0, 2), [0.5, 0.75, 1.0, 1.0, 1.0, 1.0]),
    (lambda o: S.ExponentialLR(o, 0.5), [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125]),
    (lambda o: S.PolynomialLR(o, 4, 2.0), [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]),
    (lambda o: S.CosineAnnealingLR(o, 3), [1.0, 0.75, 0.25, 0.0, 0.25, 0.75]),
    (
        lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2),
        [1.0, 0.5, 1.0, 0.853553, 0.5, 0.146447],
    ),
    (
        lambda o: S.LambdaLR(o, lambda epoch: 1 / (epoch + 1)),
        [1.0, 0.5, 0.333333, 0.25, 0.2, 0.166667],
    ),
    (
        lambda o: S.MultiplicativeLR(o, lambda epoch: 0.5),
        [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125],
    ),
    (
        lambda o: S.SequentialLR(
            o, [S.ConstantLR(o, 0.1, 9), S.ExponentialLR(o, 0.5)], [2]
        ),
        [0.1, 0.1, 1.0, 0.5, 0.25, 0.125],
    ),
    (
        lambda o: S.ChainedScheduler(
            [S.ConstantLR(o, 0.5, 2), S.ExponentialLR(o, 0.5)]
        ),
        [0.5, 0.25, 0.25, 0.125, 0.0625, 0.03125],
    ),
    (
        lambda o: S.OneCycleLR(o, 2.0, 6),
        [0.08, 1.988831, 1.623491, 0.925274, 0.266955, 8e-06],
    ),
]


def rates(optimizer, scheduler, steps):
    result = [optimizer.param_groups[0]["lr"]]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        result.append(optimizer.param_groups[0]["lr"])
    return result


@pytest.mark.parametrize(("make", "wanted"), RATES)
def test_rates_are_pytorchs(make, wanted):
    optimizer = make_optimizer()
    scheduler = make(optimizer)
    assert rates(optimizer, scheduler, 5) == pytest.approx(wanted, abs=1e-6)
    assert scheduler.get_last_lr() == [optimizer.param_groups[0]["lr"]]


@pytest.mark.parametrize(("make", "wanted"), RATES)
def test_schedules_go_on_from_a_loaded_state(make, wanted):
    optimizer = make_optimizer()
    scheduler = make(optimizer)
    rates(optimizer, scheduler, 2)
    other = make_optimizer()
    resumed = make(other)
    resumed.load_state_dict(scheduler.state_dict())
    other.load_state_dict(optimizer.state_dict())
    assert rates(other, resumed, 3) == pytest.approx(wanted[2:], abs=1e-6)


def test_one_cycle_moves_momentum_the_other_way():
    optimizer = make_optimizer()
    scheduler = S.OneCycleLR(optimizer, 2.0, 6)
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95)
    rates(optimizer, scheduler, 1)
    assert optimizer.param_groups[0]["momentum"] < 0.86


@pytest.mark.parametrize(
    ("mode", "metrics", "rate"),
    [
        ("min", [3.0, 2.0, 2.0, 2.0, 2.0], 0.1),
        ("min", [5.0, 4.0, 3.0, 2.0, 1.0], 1.0),
        ("max", [5.0, 4.0, 3.0, 2.0, 1.0], 0.1),
    ],
)
def test_plateaus_reduce_the_rate(mode, metrics, rate):
    optimizer = make_optimizer()
    scheduler = S.ReduceLROnPlateau(optimizer, mode, patience=2, cooldown=5)
    for metric in metrics:
        scheduler.step(torch.tensor(metric))
    assert optimizer.param_groups[0]["lr"] == pytest.approx(rate)


def test_the_order_of_calls_is_watched():
    scheduler = S.StepLR(make_optimizer(), 2)
    with pytest.warns(UserWarning, match="before optimizer.step"):
        scheduler.step()


def test_get_lr_outside_a_step_warns():
    scheduler = S.StepLR(make_optimizer(), 2)
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def test_a_tensor_rate_is_written_in_place():
    rate = torch.tensor(1.0)
    optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=rate)
    rates(optimizer, S.ExponentialLR(optimizer, 0.5), 2)
    assert rate.item() == 0.25


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda o: S.StepLR(3, 2), TypeError),
        (lambda o: S.StepLR(o, 2, last_epoch=4), KeyError),
        (lambda o: S.LambdaLR(o, [len, len]), ValueError),
        (lambda o: S.ConstantLR(o, 2.0), ValueError),
        (lambda o: S.LinearLR(o, 0.0), ValueError),
        (lambda o: S.CosineAnnealingWarmRestarts(o, 0), ValueError),
        (lambda o: S.OneCycleLR(o, 1.0), ValueError),
        (lambda o: S.SequentialLR(o, [S.StepLR(o, 1)], [1]), ValueError),
        (lambda o: S.ChainedScheduler([]), ValueError),
        (lambda o: S.ReduceLROnPlateau(o, factor=2.0), ValueError),
    ],
)
def test_bad_options_are_refused(make, error):
    with pytest.raises(error):
        make(make_optimizer())


def test_state_dicts_have_the_names_of_pytorch():
    plateau = S.ReduceLROnPlateau(make_optimizer(), mode="max").state_dict()
    assert plateau["mode_worse"] == plateau["best"] == -float("inf")
    cycle = S.OneCycleLR(make_optimizer(), 0.1, total_steps=10).state_dict()
    assert cycle["_schedule_phases"][1] == {
        "end_step": 9,
        "start_lr": "max_lr",
        "end_lr": "min_lr",
        "start_momentum": "base_momentum",
        "end_momentum": "max_momentum",
    }
