"""nn.init: PyTorch 2.13's values for a seed, shapes that are refused."""

import pytest

import pellucid as torch
from pellucid.nn import init

DRAWS = {
    "kaiming_uniform": (
        lambda t: init.kaiming_uniform_(t, a=5**0.5),
        [-0.004323, 0.309716, -0.475185, -0.424895, -0.222369, 0.154821],
    ),
    "kaiming_normal": (
        lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"),
        [1.540996, -0.293429, -2.178789, 0.568431, -1.084522, -1.398595],
    ),
    "xavier_uniform": (
        lambda t: init.xavier_uniform_(t, gain=2),
        [-0.016403, 1.175289, -1.803202, -1.612362, -0.843831, 0.587503],
    ),
    "xavier_normal": (
        init.xavier_normal_,
        [0.974612, -0.185581, -1.377987, 0.359508, -0.685912, -0.884549],
    ),
    "uniform": (
        lambda t: init.uniform_(t, -1, 2),
        [0.48877, 1.304665, -0.734568, -0.603909, -0.077732, 0.902236],
    ),
    "normal": (
        lambda t: init.normal_(t, 1, 0.5),
        [1.770498, 0.853286, -0.089395, 1.284216, 0.457739, 0.300702],
    ),
    "trunc_normal": (
        lambda t: init.trunc_normal_(t, a=-0.5, b=1),
        [0.403347, -0.293429, 0.370394, 0.568431, 0.93981, 0.182036],
    ),
    "trunc_normal of a tail": (
        lambda t: init.trunc_normal_(t, a=1.5, b=3),
        [1.533489, 1.753288, 1.632716, 1.698046, 1.961134, 2.060126],
    ),
    "sparse": (
        lambda t: init.sparse_(t, 0.5),
        [0.0, -0.002934, 0.0, 0.005684, 0.0, -0.013986],
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_pytorchs(name):
    fill, wanted = DRAWS[name]
    torch.manual_seed(0)
    tensor = torch.empty(2, 3)
    assert fill(tensor) is tensor
    assert tensor.flatten().tolist() == pytest.approx(wanted, abs=2e-6)


def test_filling_records_no_gradient():
    tensor = torch.empty(2, 3, requires_grad=True)
    for fill in (init.uniform_, init.normal_, init.ones_, init.zeros_):
        assert fill(tensor).grad_fn is None
    assert init.constant_(tensor, 3).tolist() == [[3, 3, 3], [3, 3, 3]]


def test_eye_and_dirac():
    assert init.eye_(torch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    weight = init.dirac_(torch.empty(2, 1, 3), groups=2)
    assert weight.tolist() == [[[0, 1, 0]], [[0, 1, 0]]]


def test_gains():
    assert init.calculate_gain("linear") == 1
    assert init.calculate_gain("relu") == 2**0.5
    assert init.calculate_gain("leaky_relu", 1) == 1
    for arguments in (("nope",), ("leaky_relu", True)):
        with pytest.raises(ValueError):
            init.calculate_gain(*arguments)


def test_unfit_shapes_are_refused():
    for call in (
        lambda: init.xavier_uniform_(torch.empty(3)),
        lambda: init.kaiming_uniform_(torch.empty(3, 2), mode="fan"),
        lambda: init.eye_(torch.empty(3)),
        lambda: init.dirac_(torch.empty(3, 3)),
        lambda: init.dirac_(torch.empty(3, 3, 3), groups=2),
        lambda: init.orthogonal_(torch.empty(3)),
        lambda: init.sparse_(torch.empty(3), 0.5),
    ):
        with pytest.raises(ValueError):
            call()


def test_tensors_without_elements_are_left_alone():
    with pytest.warns(UserWarning, match="without elements"):
        init.kaiming_uniform_(torch.empty(0, 3))


def test_old_names_warn():
    with pytest.warns(FutureWarning, match="uniform_"):
        init.uniform(torch.empty(2))
