"""A model in stages against the whole model in one process."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
)
from pellucid.nn import functional as F
from tests.distributed.ranks import run_ranks


def layers(count):
    torch.manual_seed(0)
    parts = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(count)]
    return parts, torch.randn(10, 4), torch.randn(10, 4)


def rank_runs(rank, size):
    parts, x, y = layers(size)
    chunks = zip(x.tensor_split(5), y.tensor_split(5), strict=True)
    expected = [F.mse_loss(nn.Sequential(*parts)(a), b) for a, b in chunks]
    (sum(expected) / 5).backward()
    wanted = [parameter.grad for parameter in parts[rank].parameters()]
    for schedule in (ScheduleGPipe, Schedule1F1B):
        own = layers(size)[0][rank]
        stage = PipelineStage(own, rank, size)
        run = schedule(stage, 5, F.mse_loss)
        given = (x,) if stage.is_first else ()
        losses = []
        target = y if stage.is_last else None
        output = run.step(*given, target=target, losses=losses)
        for parameter, gradient in zip(own.parameters(), wanted, strict=True):
            torch.testing.assert_close(parameter.grad, gradient)
        if stage.is_last:
            torch.testing.assert_close(output, nn.Sequential(*parts)(x))
            assert losses == pytest.approx([loss.item() for loss in expected])
        again = run.eval(*given)
        assert (again is None) == (not stage.is_last)
    with pytest.raises(ValueError, match="out of range"):
        PipelineStage(own, size, size)
    with pytest.raises(ValueError, match="as many processes"):
        PipelineStage(own, 0, size + 1)


@pytest.mark.parametrize("size", [2, 3])
def test_stages_give_what_the_whole_model_gives(size, tmp_path):
    assert len(run_ranks(rank_runs, size, tmp_path)) == size
