"""Weights that hooks compute before forward: weight_norm, spectral_norm, pruning."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn.utils import prune
from pellucid.testing import assert_close


def test_weight_norm_keeps_the_function_and_splits_the_weight():
    layer = nn.Linear(4, 3)
    weight = layer.weight.detach().clone()
    with pytest.warns(FutureWarning, match="parametrizations"):
        nn.utils.weight_norm(layer)
    assert {"weight_g", "weight_v"} <= dict(layer.named_parameters()).keys()
    layer(torch.randn(2, 4))
    assert_close(layer.weight.detach(), weight)
    nn.utils.remove_weight_norm(layer)
    assert_close(layer.weight.detach(), weight)
    assert isinstance(layer.weight, nn.Parameter)


def test_spectral_norm_holds_the_greatest_singular_value_at_one():
    torch.manual_seed(0)
    layer = nn.utils.spectral_norm(nn.Linear(5, 4), n_power_iterations=50)
    layer(torch.randn(2, 5))
    values = torch.linalg.svdvals(layer.weight.detach())
    assert float(values[0]) == pytest.approx(1, rel=1e-3)


def test_pruning_masks_the_smallest_entries_until_removed():
    layer = nn.Linear(4, 2)
    prune.l1_unstructured(layer, "weight", amount=3)
    assert int((layer.weight == 0).sum()) == 3
    prune.random_unstructured(layer, "weight", amount=2)
    assert int((layer.weight_mask == 0).sum()) == 5
    assert prune.is_pruned(layer)
    prune.remove(layer, "weight")
    assert not prune.is_pruned(layer)
    assert int((layer.weight == 0).sum()) == 5


def test_structured_pruning_takes_whole_slices():
    layer = nn.Linear(4, 6)
    prune.ln_structured(layer, "weight", amount=0.5, n=2, dim=0)
    assert int((layer.weight == 0).all(1).sum()) == 3


def test_global_pruning_compares_all_parameters():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    with torch.no_grad():
        model[0].weight.fill_(1e-3)
        model[1].weight.fill_(1.0)
    pairs = [(model[0], "weight"), (model[1], "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=16)
    assert int((model[0].weight == 0).sum()) == 16
    assert int((model[1].weight == 0).sum()) == 0


def test_global_pruning_after_another_method():
    """The shares of a global mask have their parameters' shapes."""
    layers = nn.Linear(4, 2), nn.Linear(3, 4)
    for layer in layers:
        prune.l1_unstructured(layer, "weight", amount=2)
    pairs = [(layer, "weight") for layer in layers]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=5)
    left = sum(int(layer.weight_mask.sum()) for layer in layers)
    assert [layer.weight_mask.shape for layer in layers] == [(2, 4), (4, 3)]
    assert 20 - 4 - 5 <= left <= 20 - 5
