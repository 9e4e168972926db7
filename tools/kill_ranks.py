"""Repeatedly kills a random rank at a random time, and checks the survivors.

    python tools/kill_ranks.py [--rounds 100] [--seed 0]

Each round starts three ranks of one program: collectives, data-parallel training,
sharded training with checkpoints, or RPC. Within a limit every survivor must end with
an error that names the lost rank, and checkpoints that were written must load.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS = 3
LIMIT = 60  # seconds that survivors have on a loaded machine

START = """
import sys, os
import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
rank, folder = int(sys.argv[1]), sys.argv[2]
def begin():
    store = dist.FileStore(folder + "/store", -1)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=3)
def ready():
    dist.barrier()
    open(f"{folder}/ready{rank}", "w").close()
torch.manual_seed(0)
"""

PROGRAMS = {
    "collectives": """
begin(); ready()
x, big = torch.ones(4), torch.ones(1 << 19)
while True:
    dist.all_reduce(x); dist.all_reduce(big); dist.broadcast(x, 1)
    dist.all_gather([torch.empty(4) for _ in range(3)], x)
""",
    "data parallel": """
begin()
model = nn.parallel.DistributedDataParallel(nn.Linear(64, 64)); ready()
while True:
    model(torch.randn(8, 64)).sum().backward()
""",
    "checkpoints": """
begin()
from pellucid.distributed import checkpoint
from pellucid.distributed.fsdp import fully_shard
model = fully_shard(nn.Linear(64, 64)); ready()
step = 0
while True:
    model(torch.randn(8, 64)).sum().backward()
    step += 1
    state = {"model": model.state_dict(), "step": step}
    checkpoint.save(state, checkpoint_id=f"{folder}/step{step}")
    open(f"{folder}/saved{rank}", "w").write(str(step))
""",
    "rpc": """
begin()
from pellucid.distributed import rpc
options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{folder}/rpc")
rpc.init_rpc(f"w{rank}", rank=rank, world_size=3, rpc_backend_options=options)
ready()
while True:
    for other in range(3):
        rpc.rpc_sync(f"w{other}", torch.add, args=(torch.ones(9000), 1))
""",
}


def run_round(kind: str, draw: random.Random, folder: Path) -> tuple[float, str]:
    """The seconds until the last survivor ended, and a failure's description."""
    text = START + PROGRAMS[kind]
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", text, str(rank), str(folder)],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for rank in range(RANKS)
    ]
    try:
        end = time.monotonic() + LIMIT
        while not all((folder / f"ready{rank}").exists() for rank in range(RANKS)):
            if time.monotonic() > end or any(p.poll() is not None for p in ranks):
                return 0.0, "the ranks did not start"
            time.sleep(0.01)
        time.sleep(draw.random())
        lost = draw.randrange(RANKS)
        ranks[lost].kill()
        return judge(kind, ranks, lost, folder)
    finally:
        for process in ranks:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def judge(
    kind: str, ranks: list[subprocess.Popen[str]], lost: int, folder: Path
) -> tuple[float, str]:
    """Waits for the survivors and reads their errors."""
    start = time.monotonic()
    for rank, process in enumerate(ranks):
        if rank == lost:
            continue
        try:
            error = process.communicate(timeout=LIMIT)[1]
        except subprocess.TimeoutExpired:
            return LIMIT, f"rank {rank} hangs"
        if process.returncode != 1 or "Error" not in error:
            return 0.0, f"rank {rank} ended by {process.returncode}: {error[-300:]}"
        if not any(word in error for word in (f"rank {lost}", f"w{lost}", "has gone",
                                              "has left", "has ended")):  # fmt: skip
            return 0.0, f"rank {rank} tells of no rank: {error[-300:]}"
    seconds = time.monotonic() - start
    return seconds, unreadable(folder) if kind == "checkpoints" else ""


def unreadable(folder: Path) -> str:
    """What is wrong with the checkpoints reported as written."""
    import pellucid as torch
    from pellucid.distributed import checkpoint

    saved = [int(f.read_text() or 0) for f in folder.glob("saved*")]
    for step in range(1, max(saved, default=0) + 1):
        state = {"model": {"weight": torch.zeros(64, 64)}, "step": 0}
        checkpoint.load(state, checkpoint_id=folder / f"step{step}")
        if state["step"] != step or not state["model"]["weight"].any():
            return f"checkpoint {step} has lost values"
    return ""


def main() -> None:
    """Runs the rounds and prints the slowest of each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    slowest = dict.fromkeys(PROGRAMS, 0.0)
    failed = 0
    for number in range(options.rounds):
        kind = list(PROGRAMS)[number % len(PROGRAMS)]
        with tempfile.TemporaryDirectory() as folder:
            seconds, wrong = run_round(kind, draw, Path(folder))
        slowest[kind] = max(slowest[kind], seconds)
        if wrong:
            failed += 1
            print(f"round {number}, {kind}: {wrong}", flush=True)
    for kind, seconds in slowest.items():
        print(f"{kind:14} all survivors ended within {seconds:.2f} s")
    print(f"{options.rounds - failed} of {options.rounds} rounds ended well")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
