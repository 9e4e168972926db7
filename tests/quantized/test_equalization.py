"""Cross-layer equalization: equal ranges, the same function, its errors."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao.nn import intrinsic
from pellucid.ao.quantization import _equalize as equalization


def network():
    torch.manual_seed(0)
    made = nn.Sequential(
        *(nn.Conv2d(2, 6, 3), nn.ReLU(), nn.Conv2d(6, 4, 3, bias=False), nn.ReLU()),
        *(nn.Flatten(0, -1), nn.Unflatten(0, (-1, 4)), nn.Linear(4, 5)),
    )
    with torch.no_grad():
        made[0].weight.mul_(torch.logspace(-2, 2, 6).view(6, 1, 1, 1))
    return made


@pytest.mark.parametrize("by_name", [True, False])
def test_equalized_channels_have_the_same_ranges_and_function(by_name):
    model = network()
    x = torch.randn(1, 2, 7, 7)
    before = model[2](model[1](model[0](x)))
    pair = ["0", "2"] if by_name else [model[0], model[2]]
    assert equalization.equalize(model, [pair]) is model
    ranges = [
        equalization.channel_range(model[0].weight, 0),
        equalization.channel_range(model[2].weight, 1),
    ]
    assert torch.allclose(*ranges, rtol=1e-5)
    assert torch.allclose(model[2](model[1](model[0](x))), before, rtol=1e-3, atol=1e-4)
    assert isinstance(model[0].bias, nn.Parameter)


def test_a_group_is_equalized_until_it_stays():
    layers = [nn.Linear(3, 4), nn.Linear(4, 6), nn.Linear(6, 2)]
    model = nn.Sequential(*layers)
    x, weight = torch.randn(5, 3), layers[0].weight.clone()
    copied = equalization.equalize(model, [["0", "1", "2"]], 1e-6, inplace=False)
    assert torch.equal(layers[0].weight, weight) and copied is not model
    assert torch.allclose(copied(x), model(x), rtol=1e-4, atol=1e-5)
    for one, other in ((copied[0], copied[1]), (copied[1], copied[2])):
        first = equalization.channel_range(one.weight, 0)
        second = equalization.channel_range(other.weight, 1)
        assert torch.allclose(first, second, rtol=1e-3)


def test_fused_layers_are_equalized_by_their_first():
    fused = intrinsic.LinearReLU(nn.Linear(3, 4), nn.ReLU())
    last, x = nn.Linear(4, 2), torch.randn(5, 3)
    before = last(fused(x))
    equalization.cross_layer_equalization(fused, last)
    assert torch.allclose(last(fused(x)), before, atol=1e-6)
    equal = [
        equalization.channel_range(fused[0].weight, 0),
        equalization.channel_range(last.weight, 1),
    ]
    assert torch.allclose(*equal)


@pytest.mark.parametrize("layer", [0, 1])
def test_a_constant_channel_and_its_neighbour_stay(layer):
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    channel = model[0].weight[1] if layer == 0 else model[1].weight[:, 1]
    with torch.no_grad():
        channel.zero_()
    first, second = model[0].weight[1].clone(), model[1].weight[:, 1].clone()
    equalization.equalize(model, [["0", "1"]])
    assert torch.equal(model[0].weight[1], first)
    assert torch.equal(model[1].weight[:, 1], second)


def test_modules_that_cannot_be_equalized_are_refused():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(3, 2))
    equalize = equalization.equalize
    with pytest.raises(ValueError, match="not Linear and ReLU"):
        equalize(model, [["0", "1"]])
    with pytest.raises(TypeError, match="4 output channels, the second 3 input"):
        equalize(model, [["0", "2"]])
    with pytest.raises(ValueError, match="at least two"):
        equalize(model, [["0"]])
    with pytest.raises(ValueError, match="not in the model"):
        equalize(model, [[nn.Linear(1, 1), model[0]]])
    with pytest.raises(ValueError, match="the same names of modules"):
        equalization.converged({"a": model[0]}, {"b": model[0]})


def test_groups_and_extremes():
    expand = equalization.expand_groups_in_paired_modules_list
    assert expand([["a", "b", "c"], ["c", "d"]]) == [["a", "b"], ["b", "c"], ["c", "d"]]
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert equalization.max_over_ndim(x, [0, 2]).tolist() == [15, 19, 23]
    assert equalization.min_over_ndim(x, [0, 1], True).shape == (1, 1, 4)
    assert equalization.channel_range(x, 1).tolist() == [15, 15, 15]
