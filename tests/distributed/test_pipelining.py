"""A model in stages against the whole model in one process."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from pellucid.distributed.pipelining.halves import input_half
from pellucid.distributed.pipelining.schedules import get_schedule_class
from pellucid.nn import functional as F
from tests.distributed.ranks import run_ranks

SEVERAL = (
    *(ScheduleInterleaved1F1B, ScheduleLoopedBFS),
    *(ScheduleInterleavedZeroBubble, ScheduleZBVZeroBubble),
)


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
        arguments = (x,) if stage.is_first else ()
        losses = []
        target = y if stage.is_last else None
        output = run.step(*arguments, target=target, losses=losses)
        for parameter, gradient in zip(own.parameters(), wanted, strict=True):
            torch.testing.assert_close(parameter.grad, gradient)
        if stage.is_last:
            torch.testing.assert_close(output, nn.Sequential(*parts)(x))
            assert losses == pytest.approx([loss.item() for loss in expected])
        again = run.eval(*arguments)
        assert (again is None) == (not stage.is_last)
    with pytest.raises(ValueError, match="out of range"):
        PipelineStage(own, size, size)
    with pytest.raises(ValueError, match=r"give each rank r the stages r, r \+ size"):
        ScheduleLoopedBFS([PipelineStage(own, (rank + 1) % size, size)], 5)


def rank_runs_several_stages(rank, size):
    parts, x, y = layers(2 * size, 6 * size)
    count = 2 * size
    chunks = zip(x.tensor_split(count), y.tensor_split(count), strict=True)
    expected = [F.mse_loss(nn.Sequential(*parts)(a), b) for a, b in chunks]
    (sum(expected) / count).backward()
    for schedule in SEVERAL:
        indices = schedule._own_stages(rank, size, 2 * size)
        ends = 2 * size - 1 in indices
        own = layers(2 * size)[0]
        stages = [PipelineStage(own[i], i, 2 * size) for i in indices]
        run = schedule(stages, count, F.mse_loss)
        arguments, losses = (x,) if rank == 0 else (), []
        target = y if ends else None
        output = run.step(*arguments, target=target, losses=losses)
        for index in indices:
            for actual, wanted in zip(
                own[index].parameters(), parts[index].parameters(), strict=True
            ):
                torch.testing.assert_close(actual.grad, wanted.grad)
        if ends:
            torch.testing.assert_close(output, nn.Sequential(*parts)(x))
            assert losses == pytest.approx([loss.item() for loss in expected])
    with pytest.raises(ValueError, match="r and 2"):
        ScheduleZBVZeroBubble(stages[:1], count)
    with pytest.raises(ValueError, match=f"1 does not make {count} equal"):
        run.step(x[:1])
    with pytest.raises(ValueError, match="ScheduleInterleaved1F1B takes several"):
        ScheduleGPipe(stages[0], count)


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_with_several_stages_give_what_the_whole_model_gives(size, tmp_path):
    run_ranks(rank_runs_several_stages, size, tmp_path)


def run_plans(schedule, size, num_own, count):
    """Simulates all ranks; a forward and each half of a backward take one turn. Returns
    the rest of their plans, the actions done, and the number of turns.
    """
    num_stages = size * num_own
    plans = [
        list(schedule._actions(own, num_stages, count))
        for own in (schedule._own_stages(r, size, num_stages) for r in range(size))
    ]
    ends, clocks, moves = {}, [0] * size, True
    while moves:
        moves = False
        for rank, plan in enumerate(plans):
            while plan:
                kind, stage, number = plan[0]
                before = stage - 1 if kind == "F" else stage + 1
                actual = "F" if kind == "F" else "I"
                needs = (
                    {(actual, before, number)} if 0 <= before < num_stages else set()
                )
                needs = {("I", stage, number)} if kind == "W" else needs
                needs |= {("F", stage, number)} if kind in "BI" else set()
                if needs - ends.keys():
                    break
                ready = max([clocks[rank], *(ends[need] for need in needs)])
                clocks[rank] = ready + (2 if kind == "B" else 1)
                for half in "IW" if kind == "B" else kind:
                    ends[half, stage, number] = clocks[rank]
                plan.pop(0)
                moves = True
    return plans, ends, max(clocks)


@pytest.mark.parametrize("schedule", SEVERAL)
def test_no_rank_waits_for_ever(schedule):
    for size in (2, 3, 4, 8):
        for num_own in (2,) if schedule is ScheduleZBVZeroBubble else (1, 2, 3):
            for count in (1, size - 1, size, 2 * size, 4 * size):
                plans, done, _ = run_plans(schedule, size, num_own, count)
                assert not any(plans), (size, num_own, count)
                assert len(done) == 3 * size * num_own * count


def held_most(plan):
    """The maximum number of stage runs with incomplete gradients."""
    held, most = 0, 0
    for kind, _, _ in plan:
        held += (kind == "F") - (kind in "BW")
        most = max(most, held)
    return most


def test_gradients_of_weights_fill_the_time_in_which_ranks_would_wait():
    for size in (2, 4, 8):
        for count in (2 * size, 4 * size):
            work = 3 * 2 * count
            _, _, whole = run_plans(ScheduleInterleaved1F1B, size, 2, count)
            assert whole - work == 3 * (size - 1)
            _, _, parts = run_plans(ScheduleInterleavedZeroBubble, size, 2, count)
            assert parts - work == size - 1
            _, _, folded = run_plans(ScheduleZBVZeroBubble, size, 2, count)
            assert folded - work <= size
            first = [0, size]
            plan = ScheduleInterleaved1F1B._actions(first, 2 * size, count)
            for rank in range(size):
                own = [rank, rank + size]
                less = ScheduleInterleavedZeroBubble._actions(own, 2 * size, count)
                assert held_most(less) <= held_most(list(plan)) or rank
                own = ScheduleZBVZeroBubble._own_stages(rank, size, 2 * size)
                less = ScheduleZBVZeroBubble._actions(own, 2 * size, count)
                assert held_most(less) <= 2 * size


class Shares(nn.Module):
    """Reads one weight twice, another one outside of the path from its input."""

    def __init__(self):
        super().__init__()
        self.twice = nn.Linear(4, 4)
        self.once = nn.Linear(4, 4, bias=False)
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        y = self.twice(self.twice(x).tanh()) * self.scale.exp().cumsum(0)
        return F.layer_norm(y, (4,)) + self.once(x), self.scale.sin()


def test_two_halves_of_backward_give_the_whole():
    torch.manual_seed(3)
    module = Shares()
    x = torch.randn(5, 4, requires_grad=True)
    gradients = [torch.randn(5, 4), torch.randn(4)]
    torch.autograd.backward(module(x), gradients)
    wanted = [x.grad, *(p.grad for p in module.parameters())]
    x.grad = None
    module.zero_grad()
    rest = input_half(list(module(x)), gradients, [x])
    torch.testing.assert_close(x.grad, wanted[0])
    assert module.once.weight.grad is None
    rest()
    for parameter, gradient in zip(module.parameters(), wanted[1:], strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_schedules_have_names():
    assert get_schedule_class("1F1B") is Schedule1F1B
    assert get_schedule_class("zbvzerobubble") is ScheduleZBVZeroBubble
    with pytest.raises(ValueError, match="Unknown schedule 'nothing'"):
        get_schedule_class("nothing")


def test_rounds_of_microbatches_must_be_equal():
    with pytest.raises(ValueError, match="give a multiple of 2"):
        list(ScheduleInterleaved1F1B._actions([0, 2], 4, 5))


@pytest.mark.parametrize("size", [2, 3])
def test_stages_give_what_the_whole_model_gives(size, tmp_path):
    assert len(run_ranks(rank_runs, size, tmp_path)) == size
