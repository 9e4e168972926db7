"""functional_call and ensembles."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.func import (
    functional_call,
    functionalize,
    grad,
    stack_module_state,
    vmap,
)


def network():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(4, 5)


def test_a_module_as_a_function_of_its_parameters(x):
    model = network()
    twice = {name: 2 * p for name, p in model.named_parameters()}
    copy = network()
    copy.load_state_dict(twice)
    before = model(x)
    assert torch.equal(functional_call(model, twice, (x,)), copy(x))
    assert torch.equal(model(x), before)


def test_names_are_checked(x):
    model = network()
    ignored = functional_call(model, {"missing": x}, (x,))
    assert torch.equal(ignored, model(x))
    with pytest.raises(RuntimeError, match="strict"):
        functional_call(model, {"missing": x}, (x,), strict=True)
    with pytest.raises(RuntimeError, match="strict"):
        functional_call(model, {"0.bias": torch.zeros(8)}, (x,), strict=True)
    with pytest.raises(ValueError, match="several"):
        functional_call(model, ({"0.bias": x}, {"0.bias": x}), (x,))


def test_tied_parameters_are_replaced_together(x):
    model = nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5))
    model[1].weight = model[0].weight
    weight = torch.zeros(5, 5)
    actual = functional_call(model, {"0.weight": weight}, (x,))
    assert torch.equal(actual, model[1].bias.expand(4, 5))
    with pytest.raises(ValueError, match="one tensor"):
        functional_call(model, {"0.weight": weight, "1.weight": weight + 1}, (x,))


def test_an_ensemble_is_its_models(x):
    models = [network() for _ in range(3)]
    params, buffers = stack_module_state(models)
    assert all(p.requires_grad and p.is_leaf for p in params.values())

    def run(params, buffers, x):
        return functional_call(models[0], (params, buffers), (x,))

    actual = vmap(run, (0, 0, None))(params, buffers, x)
    expected = torch.stack([m(x) for m in models])
    assert torch.allclose(actual, expected, 1e-5, 1e-6)
    with pytest.raises(RuntimeError, match="at least one"):
        stack_module_state([])


def test_per_sample_gradients_of_a_network(x):
    model = network()
    params = {name: p.detach() for name, p in model.named_parameters()}
    labels = torch.tensor([0, 2, 1, 1])

    def loss(params, row, label):
        output = functional_call(model, params, (row.unsqueeze(0),))
        return nn.functional.cross_entropy(output, label.unsqueeze(0))

    actual = vmap(grad(loss), (None, 0, 0))(params, x, labels)
    for name, gradient in actual.items():
        rows = [grad(loss)(params, a, b)[name] for a, b in zip(x, labels, strict=True)]
        assert torch.allclose(gradient, torch.stack(rows), 1e-4, 1e-6)
    model.zero_grad()
    nn.functional.cross_entropy(model(x), labels).backward()
    for name, p in model.named_parameters():
        assert torch.allclose(actual[name].mean(0), p.grad, 1e-4, 1e-6)


def test_functionalize_computes_the_same(x):
    def changed(x):
        result = x.clone()
        result.add_(1)
        return result

    assert torch.equal(functionalize(changed)(x), x + 1)
    with pytest.raises(RuntimeError, match="remove"):
        functionalize(changed, remove="everything")


def test_batch_norms_lose_their_statistics() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    assert torch.func.replace_all_batch_norm_modules_(model) is model
    assert model[0].running_mean is None and not model[0].track_running_stats
    x = torch.rand(3, 4, 2)
    actual = torch.func.vmap(lambda batch: model(batch))(x)
    assert torch.allclose(actual[1], model(x[1]), atol=1e-6)


def test_the_old_name_warns(x):
    model = network()
    with pytest.warns(FutureWarning):
        actual = torch.nn.utils.stateless.functional_call(model, {}, (x,))
    assert torch.equal(actual, model(x))
