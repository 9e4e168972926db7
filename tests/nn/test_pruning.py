"""``ao.pruning``: masks by norms of blocks, their state, schedules of their levels.

The masks were computed with PyTorch 2.13.
"""

import copy

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import pruning

WEIGHT = torch.tensor([[1.0, -4, 2, 8], [-3, 5, 7, -6]])
MASKS = [
    ({"sparse_block_shape": (1, 2)}, [[0, 0, 1, 1], [0, 0, 1, 1]]),
    ({"sparse_block_shape": (1, 2), "norm": 1}, [[0, 0, 1, 1], [0, 0, 1, 1]]),
    ({"sparse_block_shape": (2, 1)}, [[0, 0, 1, 1], [0, 0, 1, 1]]),
    ({"sparse_block_shape": (1, 1)}, [[0, 0, 0, 1], [0, 1, 1, 1]]),
    ({"sparse_block_shape": (1, 4), "sparsity_level": 0.2}, [[1] * 4] * 2),
    ({"sparse_block_shape": (1, 4), "sparsity_level": 0.6}, [[0] * 4, [1] * 4]),
    (
        {"sparse_block_shape": (1, 4), "sparsity_level": 1.0, "zeros_per_block": 2},
        [[0, 1, 0, 1], [0, 0, 1, 1]],
    ),
    ({"sparse_block_shape": (1, 4), "zeros_per_block": 0}, [[1] * 4] * 2),
    # A block that reaches beyond the matrix.
    (
        {"sparse_block_shape": (2, 3), "sparsity_level": 1.0, "zeros_per_block": 2},
        [[0, 1, 0, 0], [1, 1, 1, 0]],
    ),
]


def model():
    layers = nn.Sequential(nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 4, bias=False)))
    with torch.no_grad():
        layers[0].weight.copy_(WEIGHT)
        layers[1][0].weight.copy_(WEIGHT.T)
    return layers


def prepared(config=None, sparsifier=None, **options):
    layers = model()
    sparsifier = sparsifier or pruning.WeightNormSparsifier(**options)
    sparsifier.prepare(layers, config)
    return layers, sparsifier


def mask(layers):
    return layers[0].parametrizations.weight[0].mask


@pytest.mark.parametrize(("options", "expected"), MASKS)
def test_the_smallest_blocks_are_masked(options, expected):
    layers, sparsifier = prepared([{"tensor_fqn": "0.weight"}], **options)
    assert (mask(layers) == 1).all()
    sparsifier.step()
    assert mask(layers).tolist() == expected
    assert torch.equal(layers[0].weight, WEIGHT * torch.tensor(expected))


def test_a_norm_may_be_a_function_and_options_are_of_a_weight():
    config = [
        {"tensor_fqn": "0.weight"},
        {"tensor_fqn": "1.0.weight", "sparsity_level": 1},
    ]
    layers, sparsifier = prepared(config, norm=lambda x: -x, sparse_block_shape=(1, 2))
    sparsifier.step()
    assert mask(layers).tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert not layers[1][0].weight.any()


BANDS = [(1, [[1, 0, 0, 0], [0, 1, 0, 0]]), (3, [[1, 1, 0, 0], [1, 1, 1, 0]])]


@pytest.mark.parametrize(("nearliness", "expected"), BANDS)
def test_bands_are_kept(nearliness, expected):
    sparsifier = pruning.NearlyDiagonalSparsifier(nearliness)
    layers, _ = prepared(sparsifier=sparsifier)
    sparsifier.step()
    assert mask(layers).tolist() == expected


def test_gradients_do_not_change_what_is_masked():
    layers, sparsifier = prepared(sparse_block_shape=(1, 2))
    sparsifier.step()
    before = layers[0].weight.detach().clone()
    layers(torch.ones(1, 4)).sum().backward()
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter -= 0.1 * parameter.grad
    assert ((layers[0].weight == 0) == (before == 0)).all()
    sparsifier.enable_mask_update = False
    mask(layers).fill_(1)
    sparsifier.step()
    assert mask(layers).all()


def test_masks_are_state_of_the_sparsifier():
    layers, sparsifier = prepared()
    sparsifier.step()
    assert "mask" not in "".join(layers.state_dict())
    state = copy.deepcopy(sparsifier.state_dict())
    assert state["groups"][0] == {
        "sparsity_level": 0.5,
        "sparse_block_shape": (1, 4),
        "zeros_per_block": 4,
        "tensor_fqn": "0.weight",
    }
    others, other = prepared()
    other.load_state_dict(state)
    assert torch.equal(mask(others), mask(layers))
    other.step()
    assert torch.equal(mask(others), other.state["0.weight"]["mask"])
    _, part = prepared([{"tensor_fqn": "0.weight"}])
    with pytest.raises(RuntimeError, match=r"'1\.0\.weight', which is not prepared"):
        part.load_state_dict(state)
    part.load_state_dict(state, strict=False)
    assert len(part.groups) == 1


def test_squashed_weights_are_parameters_with_zeros():
    layers, sparsifier = prepared()
    sparsifier.step()
    masked = layers[0].weight.detach().clone()
    sparsifier.squash_mask(("zeros_per_block",), {"0": ("sparsity_level",)})
    assert isinstance(layers[0].weight, nn.Parameter)
    assert type(layers[0]) is nn.Linear and torch.equal(layers[0].weight, masked)
    assert layers[0].sparse_params == {"zeros_per_block": 4, "sparsity_level": 0.5}
    assert layers[1][0].sparse_params == {"zeros_per_block": 4}


def test_masked_layers_are_converted():
    class Dense(nn.Linear):
        @classmethod
        def from_dense(cls, layer):
            result = cls(layer.in_features, layer.out_features)
            result.zeros = int((layer.weight == 0).sum())
            return result

    layers, sparsifier = prepared([{"tensor_fqn": "0.weight"}])
    sparsifier.step()
    converted = sparsifier.convert(layers, {nn.Linear: Dense})
    assert isinstance(converted[0], Dense) and converted[0].zeros == 4
    assert type(converted[1][0]) is nn.Linear and not isinstance(layers[0], Dense)
    with pytest.raises(NotImplementedError, match="give the mapping"):
        sparsifier.convert(layers)


def levels(make, count=6):
    _, sparsifier = prepared(sparsity_level=0.8)
    scheduler = make(sparsifier)
    actual = [sparsifier.groups[0]["sparsity_level"]]
    for _ in range(count):
        sparsifier.step()
        scheduler.step()
        actual.append(scheduler.get_last_sl()[1])
    return actual


def test_levels_follow_a_function():
    actual = levels(lambda s: pruning.LambdaSL(s, lambda step: 1 - 0.5**step), 3)
    assert actual == pytest.approx([0, 0.4, 0.6, 0.7])
    actual = levels(lambda s: pruning.LambdaSL(s, [lambda _: 1, lambda t: t]), 1)
    assert actual == pytest.approx([0.8, 0.8])


def test_levels_rise_by_a_cube():
    actual = levels(lambda s: pruning.CubicSL(s, 0.1, 1, 2, 6))
    expected = [0.1, 0.1, 0.260822, 0.394907, 0.504688, 0.592593, 0.661053]
    assert actual == pytest.approx(expected, abs=1e-6)
    actual = levels(lambda s: pruning.CubicSL(s, [0.1] * 2, 2, 1, 3, True))
    assert actual == pytest.approx([0, 0, 0.1, 0.592593, 0.774074, 0.8, 0.8], abs=1e-6)


def test_schedules_have_a_state(capsys):
    _, sparsifier = prepared(sparsity_level=0.8)
    scheduler = pruning.LambdaSL(sparsifier, lambda step: step / 10)
    scheduler.step()
    state = scheduler.state_dict()
    assert "sparsifier" not in state and state["last_epoch"] == 1
    other = pruning.LambdaSL(sparsifier, lambda step: step / 5, verbose=True)
    assert "group 1 is 0.0000e+00" in capsys.readouterr().out
    other.load_state_dict(state)
    other.step()
    assert other.get_last_sl() == pytest.approx([0.16, 0.16])


def test_names_of_modules_and_tensors():
    layers = model()
    assert pruning.module_to_fqn(layers, layers[1][0]) == "1.0"
    assert pruning.module_to_fqn(layers, nn.ReLU()) is None
    assert pruning.fqn_to_module(layers, "1.0.weight") is layers[1][0].weight
    assert pruning.fqn_to_module(layers, "7.weight") is None
    assert pruning.get_arg_info_from_tensor_fqn(layers, "1.0.weight") == {
        "module_fqn": "1.0",
        "module": layers[1][0],
        "tensor_name": "weight",
        "tensor_fqn": "1.0.weight",
    }


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: prepared([{"tensor_fqn": "7.weight"}]), AttributeError, "7.weight"),
        (lambda: prepared([{"module": nn.ReLU()}]), AssertionError, "as 'tensor_fqn'"),
        (lambda: pruning.WeightNormSparsifier(norm=3), NotImplementedError, "not 3"),
        (lambda: prepared(zeros_per_block=5)[1].step(), ValueError, "5 zeros in a"),
        (lambda: pruning.LambdaSL(3, abs), AttributeError, "groups"),
        (
            lambda: prepared(sparsifier=pruning.NearlyDiagonalSparsifier(2))[1].step(),
            ValueError,
            "odd number, not 2",
        ),
        (
            lambda: prepared(sparsifier=pruning.NearlyDiagonalSparsifier(9))[1].step(),
            ValueError,
            "too large for a matrix",
        ),
    ],
)
def test_what_cannot_be_masked_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_parametrized_layers_are_copied_with_their_masks():
    layers, sparsifier = prepared(sparse_block_shape=(1, 2))
    sparsifier.step()
    copied = copy.deepcopy(layers)
    assert torch.equal(copied[0].weight, layers[0].weight)
    mask(layers).zero_()
    assert copied[0].weight.any() and not layers[0].weight.any()
