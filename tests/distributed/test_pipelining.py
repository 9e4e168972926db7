"""A model in stages against the whole model in one process."""

import tempfile

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    actions,
)
from pellucid.distributed.pipelining.halves import input_half
from pellucid.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    _Replicate,
    split_args_kwargs_into_chunks,
    sum_reducer,
)
from pellucid.distributed.pipelining.schedules import (
    _PipelineScheduleRuntime,
    get_schedule_class,
)
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


class Scaled(nn.Module):
    """Takes rows as columns, and gives two results."""

    def forward(self, x, *, scale, bias=0.0):
        return x.t() * scale + bias, x.sum()


def rank_runs_a_schedule_from_a_file(rank, size, folder):
    parts, x, y = layers(2 * size, 6 * size)
    count = 2 * size
    own = [parts[i] for i in (rank, rank + size)]

    def stages():
        return [PipelineStage(m, rank + k * size, 2 * size) for k, m in enumerate(own)]

    made = ScheduleInterleavedZeroBubble(stages(), count, F.mse_loss)
    file = f"{folder}/{rank}.csv"
    made._dump_csv(file)
    read = _PipelineScheduleRuntime(stages(), count, F.mse_loss)
    arguments = (x,) if rank == 0 else ()
    target = y if rank == size - 1 else None
    with pytest.raises(RuntimeError, match="call _load_csv"):
        read.step(*arguments, target=target)
    read._load_csv(file, format="compute_comms")
    assert read._plan == made._plan
    grads = []
    for run in (made, read):
        for part in own:
            part.zero_grad()
        run.step(*arguments, target=target)
        grads.append([p.grad.clone() for part in own for p in part.parameters()])
    for a, b in zip(*grads, strict=True):
        assert torch.equal(a, b)
    seen = []
    read.register_custom_function(
        actions.BACKWARD_WEIGHT,
        lambda action, context: seen.append((str(action), context.schedule_ref)),
    )
    read.step(*arguments, target=target)
    assert (f"{rank}W0", read) in seen and len(seen) == 2 * count
    for kind in ("SEND_F", "UNSHARD", "OVERLAP_F_B"):
        with pytest.raises(ValueError, match="no such actions"):
            read.register_custom_function(actions._ComputationType(kind), print)
    with pytest.raises(ValueError, match="the format is"):
        read._load_csv(file, format="comms")
    overlapped = f"{folder}/overlapped{rank}.csv"
    actions.write_rows(
        overlapped,
        [[actions._Action(-1, actions._ComputationType.OVERLAP_F_B, None, tuple(row))]
         for row in read._rows()],
    )  # fmt: skip
    read._load_csv(overlapped)
    assert read._plan == made._plan
    wrong = _PipelineScheduleRuntime(stages()[:1], count)
    with pytest.raises(ValueError, match=f"the schedule gives it .*{rank + size}"):
        wrong._load_csv(file)


def rank_splits(rank, size):
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    rank_runs_a_schedule_from_a_file(rank, size, folder[0])
    alone = dist.new_subgroups(1)[0]
    stage = PipelineStage(Scaled(), 0, 1, group=alone)
    run = ScheduleGPipe(
        stage,
        2,
        args_chunk_spec=TensorChunkSpec.from_tuple((1,)),
        kwargs_chunk_spec={"scale": _Replicate()},
        output_merge_spec=(TensorChunkSpec(0), sum_reducer),
    )
    x, scale = torch.arange(12.0).view(3, 4), torch.tensor([1.0, 2, 3])
    scaled, total = run.step(x, scale=scale, bias=torch.ones(4, 1))
    assert torch.equal(scaled, x.t() * scale + 1) and total == x.sum()
    with pytest.raises(ValueError, match="2 entries for 1"):
        split_args_kwargs_into_chunks((x,), None, 2, TensorChunkSpec.from_tuple((0, 1)))


def test_actions_have_texts():
    action = actions._Action.from_str("1SEND_F2")
    assert action == actions._Action(1, actions._ComputationType.SEND_F, 2)
    assert str(action) == "1SEND_F2"
    joint = actions._Action.from_str("(0F1;1B2)OVERLAP_F_B")
    assert str(joint) == "(0F1;1B2)OVERLAP_F_B"
    assert list(map(str, joint.sub_actions)) == ["0F1", "1B2"]
    assert actions._Action.from_str("0UNSHARD").microbatch_index is None
    assert actions._Action.from_str(" ") is None
    with pytest.raises(RuntimeError, match="Invalid action string: 'F1'"):
        actions._Action.from_str("F1")


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


RUNS = [rank_runs, rank_runs_several_stages]


@pytest.mark.parametrize(("functions", "size"), [([*RUNS, rank_splits], 2), (RUNS, 3)])
def test_stages_give_what_the_whole_model_gives(functions, size, tmp_path):
    assert len(run_ranks(functions, size, tmp_path)) == size
