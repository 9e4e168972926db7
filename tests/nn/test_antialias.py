"""interpolate(antialias=True): means of what an output pixel covers.

The figures were computed with PyTorch 2.13.
"""

import pytest

import pellucid as torch
from pellucid.nn import functional as F
from pellucid.testing import assert_close

MODES = ("bilinear", "bicubic", "lanczos")
ROW = torch.tensor([0.0, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0])
SMALLER = {
    "bilinear": [1.2857141, 9.9411774, 26.9999981],
    "bicubic": [0.6774198, 9.3638582, 28.0645142],
    "lanczos": [0.4192438, 9.0, 28.6460476],
}


def resized(x, *size, mode="bilinear", **options):
    return F.interpolate(x, size=size, mode=mode, antialias=True, **options)


@pytest.mark.parametrize("mode", MODES)
def test_values(mode):
    actual = resized(ROW.expand(1, 1, 2, 7), 2, 3, mode=mode)
    assert_close(actual, torch.tensor(SMALLER[mode]).expand(1, 1, 2, 3))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(3, 5), (9, 20), (1, 1)])
def test_an_even_image_stays_even(mode, size):
    assert_close(
        resized(torch.ones(2, 3, 6, 7), *size, mode=mode), torch.ones(2, 3, *size)
    )


def test_gradients_and_bytes():
    x = torch.randn(1, 2, 6, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: resized(x, 3, 2, mode="bicubic"), x)
    image = torch.tensor([[[[0, 255, 0, 255]]]], dtype=torch.uint8)
    assert resized(image, 1, 2).dtype == torch.uint8


@pytest.mark.parametrize(
    "options", [{"mode": "nearest"}, {"mode": "lanczos", "align_corners": True}]
)
def test_other_modes_are_refused(options):
    with pytest.raises(ValueError, match="antialias"):
        resized(torch.ones(1, 1, 4, 4), 2, 2, **options)
