"""nn.utils: clipping gradients, parameters as a vector."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import utils


def parameters_with_grads():
    first, second = (nn.Parameter(torch.zeros(n)) for n in (2, 1))
    first.grad, second.grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
    return [first, second, nn.Parameter(torch.zeros(1))]


def test_clip_grad_norm_scales_all_gradients_together():
    parameters = parameters_with_grads()
    assert utils.clip_grad_norm_(parameters, 1.0).item() == 5.0
    assert parameters[0].grad.tolist() == pytest.approx([0.6, 0.0], abs=1e-6)
    assert parameters[1].grad.tolist() == pytest.approx([0.8], abs=1e-6)


def test_clip_grad_norm_leaves_small_gradients():
    parameters = parameters_with_grads()
    utils.clip_grad_norm_(iter(parameters), 10.0)
    assert parameters[0].grad.tolist() == [3.0, 0.0]


def test_other_norms():
    parameters = parameters_with_grads()
    assert utils.clip_grad_norm_(parameters, 100.0, norm_type=1).item() == 7.0
    assert utils.clip_grad_norm_(parameters, 100.0, norm_type="inf").item() == 4.0


def test_norms_that_are_not_finite_raise_on_request():
    parameters = parameters_with_grads()
    parameters[1].grad = torch.tensor([float("inf")])
    with pytest.raises(RuntimeError):
        utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)


def test_no_gradients_have_norm_zero():
    assert utils.clip_grad_norm_([nn.Parameter(torch.ones(1))], 1.0).item() == 0


def test_clip_grad_value():
    parameters = parameters_with_grads()
    utils.clip_grad_value_(parameters, 3.5)
    assert parameters[0].grad.tolist() == [3.0, 0.0]
    assert parameters[1].grad.tolist() == [3.5]


def test_parameters_as_a_vector_and_back():
    layer = nn.Linear(2, 1)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (3,)
    utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), layer.parameters())
    assert layer.weight.tolist() == [[1, 2]] and layer.bias.tolist() == [3]
    with pytest.raises(TypeError):
        utils.vector_to_parameters([1.0], layer.parameters())


def test_skip_init_makes_the_module_without_drawing():
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    layer = utils.skip_init(nn.Linear, 3, 2)
    assert layer.weight.shape == (2, 3)
    assert torch.equal(before, torch.random.get_rng_state())
