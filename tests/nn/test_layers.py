"""Layers: values of activations and normalisation, shapes, printing, errors.

The figures were computed with PyTorch 2.13.
"""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F

POINTS = [-2.0, -0.5, 0.0, 0.5, 4.0]
ACTIVATIONS = [
    ("ReLU", [0.0, 0.0, 0.0, 0.5, 4.0]),
    ("ReLU6", [0.0, 0.0, 0.0, 0.5, 4.0]),
    ("ELU", [-0.864665, -0.393469, 0.0, 0.5, 4.0]),
    ("SELU", [-1.520167, -0.691758, 0.0, 0.525351, 4.202804]),
    ("CELU", [-0.864665, -0.393469, 0.0, 0.5, 4.0]),
    ("LeakyReLU", [-0.02, -0.005, 0.0, 0.5, 4.0]),
    ("GELU", [-0.0455, -0.154269, 0.0, 0.345731, 3.999874]),
    ("SiLU", [-0.238406, -0.18877, 0.0, 0.31123, 3.928055]),
    ("Mish", [-0.252501, -0.220744, 0.0, 0.375245, 3.997413]),
    ("Hardswish", [-0.333333, -0.208333, 0.0, 0.291667, 4.0]),
    ("Hardsigmoid", [0.166667, 0.416667, 0.5, 0.583333, 1.0]),
    ("Hardtanh", [-1.0, -0.5, 0.0, 0.5, 1.0]),
    ("Softplus", [0.126928, 0.474077, 0.693147, 0.974077, 4.01815]),
    ("Softsign", [-0.666667, -0.333333, 0.0, 0.333333, 0.8]),
    ("Tanhshrink", [-1.035972, -0.037883, 0.0, 0.037883, 3.000671]),
    ("Sigmoid", [0.119203, 0.377541, 0.5, 0.622459, 0.982014]),
    ("Tanh", [-0.964028, -0.462117, 0.0, 0.462117, 0.999329]),
    ("LogSigmoid", [-2.126928, -0.974077, -0.693147, -0.474077, -0.01815]),
    ("Hardshrink", [-2.0, 0.0, 0.0, 0.0, 4.0]),
    ("Softshrink", [-1.5, 0.0, 0.0, 0.0, 3.5]),
]


@pytest.mark.parametrize(("name", "wanted"), ACTIVATIONS)
def test_activation_values(name, wanted):
    result = getattr(nn, name)()(torch.tensor(POINTS))
    assert result.tolist() == pytest.approx(wanted, abs=2e-6)


@pytest.mark.parametrize(
    "name", ["ReLU", "ReLU6", "ELU", "SELU", "CELU", "LeakyReLU", "SiLU", "Hardtanh"]
)
def test_in_place_activations_write_to_their_input(name):
    x = torch.tensor(POINTS)
    wanted = getattr(nn, name)()(x)
    assert getattr(nn, name)(inplace=True)(x) is x
    assert torch.equal(x, wanted)


def test_softmaxes_normalise_along_dim():
    x = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    wanted = [0.0900306, 0.2447285, 0.6652409]
    assert nn.Softmax(1)(x)[0].tolist() == pytest.approx(wanted)
    assert nn.Softmin(1)(-x)[0].tolist() == pytest.approx(wanted)
    assert nn.LogSoftmax(1)(x).exp()[0].tolist() == pytest.approx(wanted)
    with pytest.warns(UserWarning, match="dim"):
        nn.Softmax()(x)


def test_linear_maps_the_last_dimension():
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
        layer.bias.copy_(torch.tensor([0.0, 10.0]))
    assert layer(torch.tensor([1.0, 2.0, 3.0])).tolist() == [1.0, 16.0]
    assert layer(torch.ones(4, 5, 3)).shape == (4, 5, 2)
    assert nn.Linear(3, 2, bias=False).bias is None


def test_linear_with_wrong_input_raises():
    with pytest.raises(RuntimeError):
        nn.Linear(3, 2)(torch.ones(4, 5))


def test_linear_draws_pytorchs_weights():
    torch.manual_seed(0)
    layer = nn.Linear(2, 2)
    drawn = layer.weight.flatten().tolist() + layer.bias.tolist()
    wanted = [-0.005294, 0.379323, -0.581981, -0.520387, -0.272345, 0.189616]
    assert drawn == pytest.approx(wanted, abs=1e-6)


def test_embedding_looks_up_rows_and_pads():
    torch.manual_seed(0)
    layer = nn.Embedding(3, 2, padding_idx=-2)
    drawn = layer.weight.flatten().tolist()
    wanted = [1.540996, -0.293429, 0.0, 0.0, -1.084522, -1.398595]
    assert drawn == pytest.approx(wanted, abs=1e-5)
    layer(torch.tensor([[0, 1], [0, 2]])).sum().backward()
    assert layer.weight.grad.tolist() == [[2, 2], [0, 0], [1, 1]]
    with pytest.raises(IndexError):
        layer(torch.tensor([3]))
    with pytest.raises(AssertionError):
        nn.Embedding(3, 2, padding_idx=3)


def test_embedding_from_pretrained_is_frozen():
    layer = nn.Embedding.from_pretrained(torch.ones(2, 3))
    assert not layer.weight.requires_grad


def test_layer_norm_normalises_the_last_dimensions():
    x = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]])
    wanted = [-1.224736, 0.0, 1.224736, 0.0, -1.224736, 1.224736]
    layer = nn.LayerNorm(3)
    assert layer(x).flatten().tolist() == pytest.approx(wanted, abs=1e-5)
    assert layer.weight.tolist() == [1, 1, 1] and layer.bias.tolist() == [0, 0, 0]
    assert nn.LayerNorm((2, 3), bias=False).bias is None
    assert nn.LayerNorm(3, elementwise_affine=False).weight is None


def test_dropout_scales_what_it_keeps():
    torch.manual_seed(0)
    layer = nn.Dropout(0.5)
    assert layer(torch.ones(8)).tolist() == [0, 0, 2, 0, 0, 0, 2, 2]
    assert layer.eval()(torch.ones(8)).tolist() == [1] * 8
    assert nn.Dropout(1.0)(torch.ones(3)).tolist() == [0, 0, 0]
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError):
            nn.Dropout(p)


def test_flatten_and_unflatten():
    x = torch.zeros(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Unflatten(1, (3, -1))(torch.zeros(2, 12)).shape == (2, 3, 4)
    with pytest.raises(TypeError):
        nn.Unflatten(1, 3)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (nn.Dropout(0.1), "Dropout(p=0.1, inplace=False)"),
        (nn.LeakyReLU(0.2), "LeakyReLU(negative_slope=0.2)"),
        (nn.ReLU(), "ReLU()"),
        (nn.ReLU6(), "ReLU6()"),
        (nn.Hardtanh(), "Hardtanh(min_val=-1.0, max_val=1.0)"),
        (nn.ELU(), "ELU(alpha=1.0)"),
        (nn.GELU(), "GELU(approximate='none')"),
        (nn.Softplus(), "Softplus(beta=1.0, threshold=20.0)"),
        (nn.Softmax(1), "Softmax(dim=1)"),
        (nn.Embedding(3, 2, padding_idx=0), "Embedding(3, 2, padding_idx=0)"),
        (
            nn.LayerNorm(3),
            "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)",
        ),
        (nn.RMSNorm(3), "RMSNorm((3,), eps=None, elementwise_affine=True)"),
        (nn.Flatten(), "Flatten(start_dim=1, end_dim=-1)"),
        (nn.CrossEntropyLoss(), "CrossEntropyLoss()"),
        (nn.Identity(3, a=1), "Identity()"),
    ],
)
def test_layers_print_as_in_pytorch(module, text):
    assert repr(module) == text


def test_an_unknown_function_says_so():
    with pytest.raises(AttributeError, match="no_such_function"):
        F.no_such_function  # noqa: B018


def test_ops_of_the_namespace_are_found():
    assert F.linear is F.linear
    assert "linear" in dir(F) and "relu" in dir(F)


def test_batch_norm_of_one_process():
    model = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.ReLU())
    converted = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert isinstance(converted[0], torch.nn.SyncBatchNorm)
    assert converted[0].weight is model[0].weight
    x = torch.arange(24.0).reshape(2, 3, 2, 2)
    assert torch.equal(converted(x), torch.nn.BatchNorm2d(3)(x).relu())
    assert converted[0].num_batches_tracked == 1


def test_means_of_integers_are_cut_off_towards_zero():
    x = torch.tensor([[[1, 2, -4, -1, 7]]])
    assert torch.nn.functional.avg_pool1d(x, 2, 1).tolist() == [[[1, -1, -2, 3]]]


def test_steps_of_flags_are_flags():
    x, at_zero = torch.tensor([True, False]), torch.tensor([False, True])
    assert torch.heaviside(x, at_zero).tolist() == [True, True]


def test_dropout2d_takes_three_dims_for_a_batch_of_rows():
    rows = F.dropout2d(torch.ones(1, 64, 3), 0.5)
    assert rows[0].unique(dim=0).tolist() == [[0, 0, 0], [2, 2, 2]]
    x = torch.ones(2, 3, 4)
    assert F.dropout2d(x, 0.5, training=False) is x


def test_a_convolution_says_how_it_pads():
    assert "padding=same" in repr(nn.Conv1d(4, 2, 3, padding="same"))


def test_dropout_of_channels_warns_of_other_dimensions():
    with pytest.warns(UserWarning, match="3 or 4 dimensions"):
        dropped = F.dropout2d(torch.ones(2, 3), 1.0)
    assert dropped.tolist() == [[0.0] * 3] * 2
    with pytest.raises(RuntimeError, match="2 or 3 dimensions"):
        F.dropout1d(torch.ones(2), 0.5)


def test_means_of_integers_lose_their_fraction_for_divisors_of_both_signs():
    x = torch.tensor([[[1, 2], [-1, -2]]])
    for divisor, expected in ((2, [1, -1]), (-2, [-1, 1])):
        actual = F.avg_pool2d(x, (1, 2), divisor_override=divisor)
        assert actual.flatten().tolist() == expected


@pytest.mark.parametrize("make", [torch.nn.Embedding, torch.nn.EmbeddingBag])
def test_max_norm_scales_the_rows_that_are_used(make):
    table = make(4, 3, max_norm=0.5)
    before = table.weight.detach().clone()
    taken = table(torch.tensor([[1, 3]]))
    norms = table.weight.detach().norm(dim=1)
    assert bool((norms[[1, 3]] <= 0.5 + 1e-6).all())
    torch.testing.assert_close(table.weight.detach()[[0, 2]], before[[0, 2]])
    taken.sum().backward()
    assert table.weight.grad.sum(1).tolist()[0] == 0 != table.weight.grad.sum(1)[1]
