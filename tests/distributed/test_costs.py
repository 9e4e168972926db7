"""The cost model of collectives among many ranks, against measurements with few."""

from tools import collective_costs as model


def test_the_model_of_two_ranks_explains_four():
    costs = model.fitted(model.measured(2))
    for name, seconds in model.measured(4).items():
        actual = model.simulated(4, model.SIZES[name], costs, model.HERE)
        assert seconds / 2 < actual < 2 * seconds
    here = model.Cluster(2, 2, 0.0, float("inf"))
    for name in model.SIZES:
        actual = model.simulated(2, model.SIZES[name], costs, here)
        assert abs(actual / model.measured(2)[name] - 1) < 0.1


def test_more_ranks_messages_and_bytes_take_longer():
    costs = model.Costs(1e-6, 1e-10, 1e-10, 1e-5)
    times = [model.simulated(n, 8, costs, model.CLUSTER) for n in (1, *model.RANKS)]
    assert times == sorted(times) and times[0] == 0 and times[-1] > 100 * times[1]
    slow = model.CLUSTER._replace(bandwidth=1e8)
    assert model.simulated(16, 1 << 24, costs, slow) > 2 * model.simulated(
        16, 1 << 24, costs, model.CLUSTER
    )
