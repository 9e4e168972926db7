"""Lengths and targets of ``ctc_loss``: which are refused, and one without a batch."""

import pytest

import pellucid as torch

F = torch.nn.functional
LOG_PROBS = torch.zeros(5, 2, 3).log_softmax(-1)
LABELS = torch.tensor([[1, 2], [1, 1]])


@pytest.mark.parametrize(
    ("targets", "lengths", "message"),
    [
        (LABELS, (torch.tensor([5.0, 5.0]), torch.tensor([2, 2])), "give integers"),
        (LABELS, (torch.tensor([5]), torch.tensor([2, 2])), "1 elements for a batch"),
        (LABELS, ([6, 5], [2, 2]), "number of steps"),
        (LABELS, ([5, 5], [3, 2]), "number of targets"),
        (LABELS, ([5, 5], [-1, 2]), "below 0"),
        (LABELS.reshape(-1), ([5, 5], [2, 1]), "sum of target_lengths"),
    ],
)
def test_lengths_of_ctc_loss_fit_its_tensors(targets, lengths, message):
    for function in torch.ctc_loss, F.ctc_loss:
        with pytest.raises(RuntimeError, match=message):
            function(LOG_PROBS, targets, *lengths)


def test_lengths_of_ctc_loss_are_of_one_kind():
    with pytest.raises(TypeError):
        F.ctc_loss(LOG_PROBS, LABELS, [5, 5], torch.tensor([2, 2]))
    with pytest.raises(TypeError):
        F.ctc_loss(LOG_PROBS, LABELS, [5.0, 5.0], [2, 2])


def test_ctc_loss_takes_one_example_without_a_batch():
    whole = F.ctc_loss(LOG_PROBS, LABELS, [5, 5], [2, 2], reduction="none")
    one = F.ctc_loss(LOG_PROBS[:, 0], LABELS[0], [5], [2], reduction="none")
    torch.testing.assert_close(one, whole[0])
