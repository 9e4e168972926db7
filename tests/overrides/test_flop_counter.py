"""FlopCounterMode: products forward and backward, by module."""

import pellucid as torch
from pellucid import nn
from pellucid.utils.flop_counter import FlopCounterMode


def counted(function):
    with FlopCounterMode(display=False) as counter:
        result = function()
    return counter.get_total_flops(), result


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def test_products_forward_and_backward():
    cases = [
        (lambda: leaf(3, 4) @ leaf(4, 5), 120, 240),
        (lambda: torch.bmm(leaf(2, 3, 4), torch.ones(2, 4, 5)), 240, 240),
        (lambda: torch.addmm(leaf(7), leaf(3, 4), leaf(4, 7)), 168, 336),
        (lambda: leaf(2, 3, 4) @ leaf(4, 5), 240, 480),
        (lambda: nn.functional.linear(leaf(2, 4), torch.ones(5, 4), leaf(5)), 80, 80),
    ]
    for function, forward, backward in cases:
        flops, result = counted(function)
        assert flops == forward
        assert counted(lambda y=result: y.sum().backward())[0] == backward


def test_modules_are_named():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 4)))
    counter = FlopCounterMode(display=False)
    with counter:
        model(torch.ones(5, 8)).sum()
    counts = {k: sum(v.values()) for k, v in counter.get_flop_counts().items()}
    assert counts["Global"] == counts["Sequential"] == 1920
    assert counts["Sequential.0"] == 1280 and counts["Sequential.2.0"] == 640
    assert "Sequential.2.0" not in counter.get_table(depth=2)


def test_formulas_can_be_given():
    formulas = {torch.ops.aten.relu: lambda shape, out_shape: 7}
    with FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        torch.relu(torch.ones(3))
    assert counter.get_total_flops() == 7


def test_convolutions_and_attention_count_as_their_definition():
    """The figures that PyTorch's formulas give for these shapes."""
    F = nn.functional
    image, weight = leaf(2, 4, 9, 9), leaf(6, 4, 3, 3)
    attention = F.scaled_dot_product_attention
    cases = [
        (lambda: F.conv1d(leaf(2, 3, 20), leaf(6, 3, 3), leaf(6)), 3888, 7776),
        (lambda: F.conv2d(image, weight, padding=1, stride=2), 21600, 43200),
        (lambda: F.conv2d(torch.ones(2, 4, 9, 9), weight), 42336, 42336),
        (lambda: F.conv2d(image, torch.ones(6, 4, 3, 3)), 42336, 42336),
        (lambda: F.conv3d(leaf(1, 2, 5, 5, 5), leaf(3, 2, 3, 3, 3)), 8748, 17496),
        (lambda: F.conv_transpose2d(image, leaf(4, 6, 3, 3), stride=2), 69984, 139968),
        (lambda: attention(*[leaf(2, 4, 8, 16)] * 3), 32768, 81920),
        (lambda: attention(*[leaf(2, 4, 8, 16)] * 3, is_causal=True), 32768, 81920),
    ]
    for function, forward, backward in cases:
        flops, result = counted(function)
        assert flops == forward
        assert counted(lambda y=result: y.sum().backward())[0] == backward


def test_what_is_no_product_of_matrices_counts_nothing():
    x = torch.ones(8, 8)
    assert counted(lambda: (x * x).sum() + x.softmax(-1).sum() + x[0] @ x[1])[0] == 0
