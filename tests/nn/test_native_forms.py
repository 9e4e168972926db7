"""Ops of layers by PyTorch's aten names give what the layers' functions give."""

import pytest

import pellucid as torch

aten = torch.ops.aten
F = torch.nn.functional


def test_statistics_move_as_batch_norm_moves_them():
    x = torch.randn(4, 3, 5)
    moved = torch.zeros(3), torch.ones(3)
    wanted = torch.zeros(3), torch.ones(3)
    mean, variance = torch.batch_norm_update_stats(x, *moved, 0.1)
    F.batch_norm(x, *wanted, training=True)
    torch.testing.assert_close(mean, x.mean((0, 2)))
    torch.testing.assert_close(variance, x.var((0, 2), correction=0))
    for actual, other in zip(moved, wanted, strict=True):
        torch.testing.assert_close(actual, other)


def test_results_go_where_out_says():
    x, labels = torch.randn(3, 4).log_softmax(1), torch.tensor([0, 3, 1])
    loss, weight = torch.empty(0), torch.empty(0)
    arguments = x, labels, None, 1, -100
    aten.nll_loss_forward.output(*arguments, output=loss, total_weight=weight)
    assert loss.item() == F.nll_loss(x, labels).item()
    assert weight.item() == 3


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_resampling_by_size_or_by_factors(mode):
    x = torch.randn(1, 2, 4, 4)
    op = getattr(aten, f"upsample_{mode}2d")
    corners = () if mode == "nearest" else (False,)
    wanted = F.interpolate(x, scale_factor=1.5, mode=mode)
    assert torch.equal(op.vec(x, None, *corners, [1.5, 1.5]), wanted)
    assert torch.equal(op(x, [6, 6], *corners, 1.5, 1.5), wanted)


def test_lengths_as_numbers():
    scores = torch.randn(5, 2, 4).log_softmax(2)
    targets = torch.tensor([[1, 2], [3, 1]])
    by_numbers = torch.ctc_loss(scores, targets, [5, 4], [2, 1])
    by_tensors = torch.ctc_loss(
        scores, targets, torch.tensor([5, 4]), torch.tensor([2, 1])
    )
    assert by_numbers.item() == by_tensors.item()
