"""Random little training programs on several processes, beside the same in one.

    python -m tests.distributed.programs --count 120

A program is drawn from its number (program_parts.py): a tree of modules, some of whose
parameters are shared, frozen or unused in some steps, an optimizer, and a way to
distribute it. Losses, norms, gradients and parameters are compared.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed import checkpoint as dcp
from pellucid.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    fully_shard,
)
from pellucid.distributed.optim import ZeroRedundancyOptimizer
from pellucid.distributed.pipelining import PipelineStage, ScheduleZBVZeroBubble
from pellucid.distributed.tensor import DTensor, Replicate, Shard
from pellucid.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from pellucid.nn import functional as F
from pellucid.nn.parallel import DistributedDataParallel
from tests.distributed.program_parts import (
    OPTIMIZERS,
    SCHEDULES,
    Mlp,
    NormedMlp,
    drawn,
)
from tests.distributed.ranks import failures, run_ranks

STEPS = 3


class Alone:
    """The program in one process, which computes the parts of all."""

    def __init__(self, program, count):
        self.program, self.places = program, range(count)
        self.renew()

    def renew(self):
        self.model = self.program.model()
        self.optimizer = self.optimizer_of(self.model.parameters())

    def optimizer_of(self, parameters):
        form, options = OPTIMIZERS[self.program.optimizer]
        return form([p for p in parameters if p.requires_grad], **options)

    def forward(self, x, step):
        if self.program.half and self.program.kind == "ddp":
            with torch.autocast("cpu", torch.bfloat16):
                return self.model(x, step).float()
        return self.model(x, step)

    def scope(self, turn):
        """Where the pass of a turn runs."""
        return contextlib.nullcontext()

    def clip(self):
        given = self.program.clips, self.program.norm_type
        return torch.nn.utils.clip_grad_norm_(self.model.parameters(), *given)

    def mean(self, loss):
        """Over all processes."""
        return loss

    def train(self, first, last):
        """Losses and norms of the steps."""
        program, seen = self.program, []
        for step in range(first, last):
            self.optimizer.zero_grad(set_to_none=not program.keeps_gradients)
            total = 0
            for turn in range(program.accumulates):
                with self.scope(turn):
                    total += self.turn(step, turn)
            seen.append(self.mean(total))
            if program.clips:
                seen.append(whole(self.clip()))
            self.optimizer.step()
        return seen

    def turn(self, step, turn):
        """The loss of a forward and a backward pass."""
        total = 0
        for place in self.places:
            x, y = self.program.batch(step, turn, place)
            scale = 1 / (len(self.places) * self.program.accumulates)
            total += self.passed(x, y, step, scale)
        return total

    def passed(self, x, y, step, scale):
        """The loss after backward."""
        if self.program.half and self.program.kind != "ddp":
            model = Lowered(self.model)
            low = {name: p.to(torch.bfloat16) for name, p in model.named_parameters()}
            return torch.func.functional_call(model, low, (x, y, step, scale))
        return after_backward(self.forward(x, step), y, scale)

    def state(self):
        """Parameters and gradients by name."""
        found = {}
        for name, p in self.model.named_parameters():
            name = name.removeprefix("module.")
            found[name], found[f"{name}.grad"] = whole(p), whole(p.grad)
        return found


class Lowered(torch.nn.Module):
    """A pass in bfloat16: its parameters are replaced until backward is done, which
    may recompute.
    """

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y, step, scale):
        made = self.model(x.to(torch.bfloat16), step).float()
        return after_backward(made, y, scale)


def after_backward(made, y, scale):
    loss = F.mse_loss(made, y) * scale
    loss.backward()
    return loss.detach()


def whole(x):
    x = x.full_tensor() if isinstance(x, DTensor) else x
    return x if x is None else x.detach().clone()


class Apart(Alone):
    """The program as this process runs it."""

    def __init__(self, program, rank, size):
        self.rank, self.size, self.mesh = rank, size, mesh_of(program.kind, size)
        super().__init__(program, 1)
        self.places = [self.place()]

    def place(self):
        if self.program.kind == "tp":
            return 0
        return (
            self.mesh.get_local_rank("dp") if self.program.kind == "2d" else self.rank
        )

    def renew(self):
        program = self.program
        model, options = program.model(), dict(program.options)
        if program.kind in ("ddp", "zero"):
            options["find_unused_parameters"] = bool(program.skipped)
            self.model = DistributedDataParallel(model, **options)
        elif program.kind == "flat":
            self.model = FullyShardedDataParallel(model, **options)
        elif program.kind == "tp":
            split_modules(model, self.mesh, **options)
            self.model = model
        else:
            if program.kind == "2d":
                split_modules(model, self.mesh["tp"], uses_sequence=False)
            mesh = self.mesh["dp"] if program.kind == "2d" else self.mesh
            self.model = sharded(program, model, mesh, **options)
        self.optimizer = self.optimizer_of(self.model.parameters())

    def optimizer_of(self, parameters):
        if self.program.kind != "zero":
            return super().optimizer_of(parameters)
        form, options = OPTIMIZERS[self.program.optimizer]
        wanted = [p for p in parameters if p.requires_grad]
        return ZeroRedundancyOptimizer(wanted, form, **options)

    def passed(self, x, y, step, scale):
        return after_backward(self.forward(x, step), y, scale)

    def forward(self, x, step):
        if self.program.kind == "ddp":
            return super().forward(x, step)
        return self.model(x, step).to(self.program.dtype)

    def scope(self, turn):
        program = self.program
        is_last = turn == program.accumulates - 1 or not program.syncs_last
        if program.kind in ("ddp", "zero", "flat") and not is_last:
            return self.model.no_sync()
        if program.kind in ("fsdp", "hsdp", "2d"):
            self.model.set_requires_gradient_sync(is_last)
        return contextlib.nullcontext()

    def clip(self):
        if self.program.kind != "flat":
            return super().clip()
        return self.model.clip_grad_norm_(self.program.clips, self.program.norm_type)

    def mean(self, loss):
        if self.program.kind == "tp":
            return loss
        dist.all_reduce(loss)
        return loss / self.size

    def state(self):
        if self.program.kind != "flat":
            return super().state()
        with FullyShardedDataParallel.summon_full_params(self.model):
            return {n: whole(p) for n, p in self.model.named_parameters()}

    def save_and_load(self, folder):
        """Goes on with new objects."""
        model, optim = get_state_dict(self.model, self.optimizer)
        dcp.save({"model": model, "optim": optim}, checkpoint_id=folder)
        self.program.seed += 1
        self.renew()
        self.program.seed -= 1
        model, optim = get_state_dict(self.model, self.optimizer)
        dcp.load({"model": model, "optim": optim}, checkpoint_id=folder)
        set_state_dict(
            *(self.model, self.optimizer),
            model_state_dict=model,
            optim_state_dict=optim,
        )


def mesh_of(kind, size):
    if kind == "hsdp":
        return init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards"))
    if kind == "2d":
        return init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    return init_device_mesh("cpu", (size,))


def split_modules(model, mesh, uses_sequence):
    """Shares each MLP by its hidden features, and its norm by the sequence."""
    for module in model.modules():
        if isinstance(module, NormedMlp) and uses_sequence:
            into = PrepareModuleInput(
                input_layouts=Replicate(), desired_input_layouts=Shard(1)
            )
            parallelize_module(module, mesh, into)
            plan = {
                "norm": SequenceParallel(),
                "mlp.up": ColwiseParallel(input_layouts=Shard(1)),
                "mlp.down": RowwiseParallel(),
            }
            parallelize_module(module, mesh, plan)
        elif isinstance(module, Mlp) and not isinstance(module.up.weight, DTensor):
            plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
            parallelize_module(module, mesh, plan)


def sharded(program, model, mesh, reshard_after_forward, wraps):
    policy = MixedPrecisionPolicy()
    if program.half:
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    options = {"mesh": mesh, "mp_policy": policy}
    blocks = [] if program.tied or wraps == "root" else list(model.blocks)
    groups = [[block] for block in blocks]
    if wraps == "pairs" and not program.skipped:
        groups = [blocks[k : k + 2] for k in range(0, len(blocks), 2)]
    for group in groups:
        modules = group[0] if len(group) == 1 else group
        fully_shard(modules, reshard_after_forward=reshard_after_forward, **options)
    return fully_shard(model, **options)


class Piped(Apart):
    """The program in stages."""

    def renew(self):
        blocks, rank, size = self.program.model().blocks, self.rank, self.size
        schedule = self.program.options["schedule"]
        count = SCHEDULES[schedule]
        second = (
            2 * size - 1 - rank if schedule is ScheduleZBVZeroBubble else rank + size
        )
        self.numbers = [rank, second][:count]
        self.model = torch.nn.ModuleDict({str(k): blocks[k] for k in self.numbers})
        stages = [PipelineStage(blocks[k], k, count * size) for k in self.numbers]
        self.stages = stages
        self.schedule = schedule(
            stages if count > 1 else stages[0],
            self.program.options["num_chunks"],
            F.mse_loss,
        )
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = self.optimizer_of(parameters or [torch.nn.Parameter(0.0)])

    def turn(self, step, turn):
        x, y = self.program.batch(step, turn, 0)
        losses = []
        given = (x,) if any(stage.is_first for stage in self.stages) else ()
        target = y if any(stage.is_last for stage in self.stages) else None
        self.schedule.step(*given, target=target, losses=losses)
        return torch.stack(losses).mean() if losses else torch.zeros(()).double()

    def mean(self, loss):
        dist.all_reduce(loss)  # one process has it
        return loss

    def state(self):
        return {f"blocks.{name}": x for name, x in super().state().items()}


def difference(program, rank, size, folder):
    """What differs; empty if nothing does."""
    count = {"tp": 1, "pipe": 1, "2d": 2}.get(program.kind, size)
    one = Alone(program, count)
    several = (Piped if program.kind == "pipe" else Apart)(program, rank, size)
    seen = several.train(0, 1)
    if program.saves:
        several.save_and_load(folder)
    seen += several.train(1, STEPS)
    tolerance = 2e-3 if program.half else 1e-8
    texts = []
    for k, pair in enumerate(zip(one.train(0, STEPS), seen, strict=True)):
        texts += unlike(f"loss or norm {k}", *pair, tolerance)
    expected = one.state()
    for name, x in several.state().items():
        texts += unlike(name, expected[name], x, tolerance)
    return "; ".join(texts)


def unlike(name, want, got, tolerance):
    if want is None or got is None:
        return [] if want is got else [f"{name}: {got} instead of {want}"]
    if want.shape == got.shape and torch.allclose(want, got, tolerance, tolerance):
        return []
    return [f"{name}: {got} instead of {want}"]


def rank_compares_programs(rank, size):
    """Runs the programs that the environment names; what differs fails the rank."""
    warnings.simplefilter("ignore")
    for seed in map(int, os.environ["SEEDS"].split()):
        program = drawn(seed, size)
        folder = Path(os.environ["FOLDER"]) / str(seed)
        try:
            text = difference(program, rank, size, folder)
        except Exception:
            text = traceback.format_exc()
        if text:
            print(f"{program}\n{text}")
            sys.exit(1)


def compare(seeds, size):
    """Fails if one of the programs differs."""
    from tests.distributed.programs import rank_compares_programs  # not __main__'s

    with tempfile.TemporaryDirectory() as folder:
        environment = {"SEEDS": " ".join(map(str, seeds)), "FOLDER": folder}
        run_ranks(rank_compares_programs, size, Path(folder), **environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    given = parser.parse_args()
    num_found = 0
    last = given.seed + given.count
    for size in given.ranks:
        for first in range(given.seed, last, 10):
            seeds = list(range(first, min(first + 10, last)))
            found = failures(seeds, lambda seeds, size=size: compare(seeds, size))
            num_found += len(found)
            print("\n".join([*found, f"{size} ranks: {seeds} done"]), flush=True)
    print(f"{given.count} programs on {given.ranks} ranks, {num_found} differ")


if __name__ == "__main__":
    main()
