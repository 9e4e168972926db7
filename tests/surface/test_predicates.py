"""Questions that programs ask rarely, and functions of the package that nn has too."""

import pytest

import pellucid as torch


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (torch.tensor([1], dtype=torch.int32), 1.0, torch.float32),
        (torch.tensor([1], dtype=torch.int32), torch.tensor(5), torch.int32),
        (torch.tensor(1.0), torch.tensor([1.0], dtype=torch.float64), torch.float64),
        (torch.tensor([True]), torch.tensor([False]), torch.bool),
        (torch.tensor([1.0], dtype=torch.bfloat16), 1j, torch.complex64),
        (1, 2.5, torch.float32),
    ],
    ids=str,
)
def test_result_types_are_those_of_arithmetic(left, right, expected):
    assert torch.result_type(left, right) == expected


def test_questions_about_one_tensor():
    x = torch.ones(2, 3, dtype=torch.uint8)
    assert not torch.is_signed(x) and torch.is_signed(x.float())
    assert torch.is_same_size(x, x.float()) and not torch.is_same_size(x, x.t())


def test_ranges_have_their_end():
    with pytest.warns(UserWarning, match="arange"):
        assert torch.range(1, 2, 0.5).tolist() == [1.0, 1.5, 2.0]
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="from 2 to 1"):
        torch.range(2, 1)


def test_functions_of_layers_are_functions_of_the_package():
    image = torch.arange(16.0).reshape(1, 4, 2, 2)
    functional = torch.nn.functional
    assert torch.equal(
        torch.pixel_shuffle(image, 2), functional.pixel_shuffle(image, 2)
    )
    assert torch.channel_shuffle(image, 2)[0, 1, 0, 0] == 8


@pytest.mark.parametrize("shape", [(20, 9), (2, 9, 20)], ids=str)
def test_leading_singular_values(shape):
    torch.manual_seed(0)
    low = torch.randn(*shape[:-1], 4) @ torch.randn(4, shape[-1])
    left, values, right = torch.svd_lowrank(low, 4)
    assert torch.allclose(left * values.unsqueeze(-2) @ right.mT, low, atol=1e-4)
    assert torch.allclose(values, torch.linalg.svdvals(low)[..., :4], rtol=1e-4)


def test_leading_components():
    torch.manual_seed(0)
    samples = torch.randn(30, 5) * torch.tensor([9.0, 5.0, 1.0, 0.1, 0.1]) + 100
    _, values, components = torch.pca_lowrank(samples, q=2)
    centred = samples - samples.mean(0)
    assert torch.allclose(values, torch.linalg.svdvals(centred)[:2], rtol=1e-4)
    assert components.shape == (5, 2)
    with pytest.raises(ValueError, match="q is 6"):
        torch.pca_lowrank(samples, q=6)
