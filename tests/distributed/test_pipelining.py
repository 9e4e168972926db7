"""A model in stages against the whole model in one process."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)
from pellucid.nn import functional as F
from tests.distributed.ranks import run_ranks


def layers(count, rows=10):
    torch.manual_seed(0)
    parts = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(count)]
    return parts, torch.randn(rows, 4), torch.randn(rows, 4)


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
    with pytest.raises(ValueError, match=r"r \+ \d+"):
        PipelineStage(own, rank, size + 1)


def rank_runs_several_stages(rank, size):
    parts, x, y = layers(2 * size, 6 * size)
    count = 2 * size
    chunks = zip(x.tensor_split(count), y.tensor_split(count), strict=True)
    expected = [F.mse_loss(nn.Sequential(*parts)(a), b) for a, b in chunks]
    (sum(expected) / count).backward()
    indices = rank, rank + size
    for schedule in (ScheduleInterleaved1F1B, ScheduleLoopedBFS):
        own = layers(2 * size)[0]
        stages = [PipelineStage(own[i], i, 2 * size) for i in indices]
        run = schedule(stages, count, F.mse_loss)
        given, losses = (x,) if rank == 0 else (), []
        target = y if rank == size - 1 else None
        output = run.step(*given, target=target, losses=losses)
        for index in indices:
            for found, wanted in zip(
                own[index].parameters(), parts[index].parameters(), strict=True
            ):
                torch.testing.assert_close(found.grad, wanted.grad)
        if rank == size - 1:
            torch.testing.assert_close(output, nn.Sequential(*parts)(x))
            assert losses == pytest.approx([loss.item() for loss in expected])
    with pytest.raises(ValueError, match=f"1 does not make {count} equal"):
        run.step(x[:1])
    with pytest.raises(ValueError, match="ScheduleInterleaved1F1B takes several"):
        ScheduleGPipe(stages[0], count)


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_with_several_stages_give_what_the_whole_model_gives(size, tmp_path):
    run_ranks(rank_runs_several_stages, size, tmp_path)


def run_plans(schedule, size, num_own, count):
    """Runs all ranks' actions, each when what it needs has been done."""
    num_stages = size * num_own
    plans = [
        list(schedule._actions(list(range(r, num_stages, size)), num_stages, count))
        for r in range(size)
    ]
    done, moves = set(), True
    while moves:
        moves = False
        for plan in plans:
            while plan:
                kind, stage, number = plan[0]
                before = stage - 1 if kind == "F" else stage + 1
                needs = {(kind, before, number)} if 0 <= before < num_stages else set()
                needs |= {("F", stage, number)} if kind == "B" else set()
                if needs - done:
                    break
                done.add(plan.pop(0))
                moves = True
    return plans, done


@pytest.mark.parametrize("schedule", [ScheduleInterleaved1F1B, ScheduleLoopedBFS])
def test_no_rank_waits_for_ever(schedule):
    for size in (2, 3, 4, 8):
        for num_own in (1, 2, 3):
            for count in (1, size - 1, size, 2 * size, 4 * size):
                plans, done = run_plans(schedule, size, num_own, count)
                assert not any(plans), (size, num_own, count)
                assert len(done) == 2 * size * num_own * count


def test_rounds_of_microbatches_must_be_equal():
    with pytest.raises(ValueError, match="give a multiple of 2"):
        list(ScheduleInterleaved1F1B._actions([0, 2], 4, 5))


@pytest.mark.parametrize("size", [2, 3])
def test_stages_give_what_the_whole_model_gives(size, tmp_path):
    assert len(run_ranks(rank_runs, size, tmp_path)) == size
