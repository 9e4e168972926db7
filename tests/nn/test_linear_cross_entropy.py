"""The cross-entropy of a linear layer: as a composition, and in pieces of the batch."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F
from pellucid.nn._functional.linear_cross_entropy import _rows_of_a_piece
from pellucid.testing import assert_close

PIECES = nn.LinearCrossEntropyOptions(batch_chunk_size=3, chunking_method=None)


def operands():
    torch.manual_seed(0)
    rows = torch.randn(7, 4, requires_grad=True)
    classes = torch.randn(5, 4, requires_grad=True)
    bias = torch.randn(5, requires_grad=True)
    return (rows, classes, bias), torch.tensor([0, 1, -100, 3, 4, 0, 2])


def reference(arguments, target, **options):
    return F.cross_entropy(F.linear(*arguments), target, **options)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("options", [None, nn.LinearCrossEntropyOptions(), PIECES])
@pytest.mark.parametrize("weight", [None, torch.tensor([0.5, 1, 2, 0.1, 3])])
def test_values_and_gradients(reduction, options, weight):
    inputs, target = operands()
    rows, classes, bias = inputs
    actual = F.linear_cross_entropy(
        rows, classes, target, linear_bias=bias, weight=weight, reduction=reduction,
        options=options,
    )  # fmt: skip
    wanted = reference(inputs, target, weight=weight, reduction=reduction)
    assert_close(actual, wanted)
    grads = torch.autograd.grad(actual.sum(), inputs)
    for grad, other in zip(
        grads, torch.autograd.grad(wanted.sum(), inputs), strict=True
    ):
        assert_close(grad, other)


def test_several_dims_of_classes_and_probabilities():
    torch.manual_seed(1)
    loss = nn.LinearCrossEntropyLoss(4, 10, out_features=(2, 3), bias=True)
    assert loss.linear.weight.shape == (60, 4)
    rows = torch.randn(6, 4)
    logits = loss.linear(rows).reshape(6, 10, 2, 3)
    for target in (torch.randint(10, (6, 2, 3)), torch.rand(6, 10, 2, 3).softmax(1)):
        assert_close(loss(rows, target), F.cross_entropy(logits, target))


def test_pieces_are_as_large_as_the_options_say():
    def rows(**options):
        inputs = nn.LinearCrossEntropyOptions(**options)
        return _rows_of_a_piece(inputs, 100, 8, 64)

    assert rows(batch_chunk_size=3, chunking_method=None) == 3
    assert rows(chunking_method="aspect_ratio") == 16
    assert rows(chunking_method="aspect_ratio:4") == 4
    assert rows(chunking_method=None) == 100


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.linear_cross_entropy(
            torch.ones(2, 3), torch.ones(5, 4), torch.zeros(2).long()
        ),
        lambda: F.linear_cross_entropy(
            torch.ones(4), torch.ones(5, 2, 4), torch.zeros(2).long()
        ),
        lambda: F.linear_cross_entropy(
            torch.ones(2, 4), torch.ones(5, 4), torch.ones(2, 5), ignore_index=0
        ),
        lambda: nn.LinearCrossEntropyLoss(4, 5, label_smoothing=2.0),
        lambda: nn.LinearCrossEntropyLoss(4, 5, weight=torch.ones(4)),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(RuntimeError):
        call()


def test_pieces_of_what_cannot_be_cut_are_refused_with_a_warning():
    with pytest.warns(UserWarning, match="options"):
        F.linear_cross_entropy(
            torch.ones(2, 4),
            torch.ones(5, 4),
            torch.tensor([0, 1]),
            label_smoothing=0.1,
            options=PIECES,
        )
    with pytest.raises(ValueError, match="chunking_method"):
        nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:0")
