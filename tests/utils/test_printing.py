"""How tensors print: golden text, from PyTorch 2.13."""

import pytest

import pellucid as torch
from pellucid import tensor as T
from pellucid._tensor import printing as printing

GOLDEN = [
    (lambda: T([1.0, 2.5, -3.0]), "tensor([ 1.0000,  2.5000, -3.0000])"),
    (lambda: T([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: T(3), "tensor(3)"),
    (lambda: T(2.5), "tensor(2.5000)"),
    (lambda: T([1e-8, 1.0]), "tensor([1.0000e-08, 1.0000e+00])"),
    (lambda: T([1e10]), "tensor([1.0000e+10])"),
    (lambda: T([float("nan"), float("inf"), -1.0]), "tensor([nan, inf, -1.])"),
    (lambda: T([float("nan"), 0.5]), "tensor([   nan, 0.5000])"),
    (lambda: T([True, False]), "tensor([ True, False])"),
    (lambda: T([[1, -20], [300, 4]]), "tensor([[  1, -20],\n        [300,   4]])"),
    (lambda: T([]), "tensor([])"),
    (lambda: torch.zeros(0, 3), "tensor([], size=(0, 3))"),
    (
        lambda: torch.zeros(2, 2, dtype=torch.float64),
        "tensor([[0., 0.],\n        [0., 0.]], dtype=torch.float64)",
    ),
    (lambda: T([1], dtype=torch.int32), "tensor([1], dtype=torch.int32)"),
    (lambda: T([1.0], dtype=torch.bfloat16), "tensor([1.], dtype=torch.bfloat16)"),
    (lambda: T([1 + 2j, -0.5 - 1j]), "tensor([ 1.0000+2.j, -0.5000-1.j])"),
    (lambda: torch.zeros(2, 1, 2), "tensor([[[0., 0.]],\n\n        [[0., 0.]]])"),
    (
        lambda: torch.arange(1001),
        "tensor([   0,    1,    2,  ...,  998,  999, 1000])",
    ),
    (
        lambda: torch.zeros(40, 40),
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        ...,\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.]])",
    ),
    (
        lambda: torch.arange(30),
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16,"
        " 17,\n        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])",
    ),
    (lambda: T([0.1], requires_grad=True), "tensor([0.1000], requires_grad=True)"),
    (
        lambda: T([1.0], requires_grad=True) * 2,
        "tensor([2.], grad_fn=<MulBackward0>)",
    ),
    (
        lambda: torch.ones(2, 3, device="meta"),
        "tensor(..., device='meta', size=(2, 3))",
    ),
]


@pytest.mark.parametrize(("make", "text"), GOLDEN)
def test_text_is_pytorchs(make, text):
    assert repr(make()) == text


def test_long_lines_break_before_suffixes():
    tensor = torch.full((8,), 0.123456, requires_grad=True)
    assert repr(tensor).endswith("0.1235],\n       requires_grad=True)")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"precision": 2}, "tensor([0.12, 1.00, 2.00, 3.00])"),
        (
            {"sci_mode": True, "precision": 1},
            "tensor([1.2e-01, 1.0e+00, 2.0e+00, 3.0e+00])",
        ),
        ({"threshold": 3, "edgeitems": 1}, "tensor([0.1200,  ..., 3.0000])"),
        (
            {"linewidth": 20},
            "tensor([0.1200,\n        1.0000,\n        2.0000,\n        3.0000])",
        ),
        ({"profile": "short"}, "tensor([0.12, 1.00, 2.00, 3.00])"),
    ],
)
def test_options_change_the_text(options, text):
    before = printing.get_printoptions()
    with printing.printoptions(**options):
        assert repr(T([0.12, 1.0, 2.0, 3.0])) == text
    assert printing.get_printoptions() == before


def test_subclasses_print_their_name():
    class Tagged(torch.Tensor):
        pass

    assert repr(torch.ones(2).as_subclass(Tagged)) == "Tagged([1., 1.])"
