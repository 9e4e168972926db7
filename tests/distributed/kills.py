"""Kills a random rank at a random moment of a distributed computation, and reports the
other ranks' errors and anything left over.

``python -m tests.distributed.kills --count 100 --seed 0`` prints a line for each kill.
Ranks run ``python -m tests.distributed.kills rank ...``.
"""

import argparse
import contextlib
import datetime
import faulthandler
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.distributed.ranks import names_left

ROOT = Path(__file__).parents[2]
LIMIT = 60  # time limit of a survivor in seconds, on a loaded machine with two cores
FOLDERS = 3  # checkpoints in turn
ROWS = 50_000

# --------------------------------------------------------------------- the ranks' work


def tell_ready():
    """Tells the killer that it may begin."""
    print("ready", flush=True)


def collectives(torch, dist, rank, size, shared):
    """All kinds, with sizes that cover every path of the transports."""
    draw = random.Random(1)  # the same on all ranks
    tell_ready()
    part = dist.new_group(list(range(size - 1)))
    while True:
        count = draw.choice([1, 100, 20_000, 600_000])
        tensor, root = torch.ones(count), draw.randrange(size)
        step = draw.randrange(9)
        if step == 0:
            dist.all_reduce(tensor)
        elif step == 1:
            works = [dist.all_reduce(tensor.clone(), async_op=True) for _ in range(3)]
            for work in works:
                work.wait()
        elif step == 2:
            dist.broadcast(tensor, root)
        elif step == 3:
            dist.all_gather([torch.empty(count) for _ in range(size)], tensor)
        elif step == 4:
            dist.reduce_scatter_tensor(tensor, tensor.repeat(size))
        elif step == 5:
            outgoing = dist.isend(tensor, (rank + 1) % size)
            dist.recv(torch.empty(count), (rank - 1) % size)
            outgoing.wait()
        elif step == 6:
            dist.all_gather_object([None] * size, {"rank": rank})
        elif step == 7:
            dist.all_to_all_single(torch.empty(size * 100), torch.ones(size * 100))
        elif rank < size - 1:
            dist.all_reduce(tensor, group=part)


def data_parallel(torch, dist, rank, size, shared):
    """Training steps."""
    tell_ready()
    nn = torch.nn
    layers = nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.Linear(256, 8)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    while True:
        optimizer.zero_grad()
        model(torch.randn(16, 64)).sum().backward()
        optimizer.step()


def checkpoints(torch, dist, rank, size, shared):
    """Alternating checkpoints of parts, all of which have the number of the step."""
    from torch.distributed import checkpoint
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = dist.init_device_mesh("cpu", (size,))
    step = 0
    while True:
        step += 1
        whole = torch.full((ROWS,), float(step))
        state = {"step": step, "weight": distribute_tensor(whole, mesh, [Shard(0)])}
        checkpoint.save(state, checkpoint_id=shared / f"checkpoint{step % FOLDERS}")
        if step == 1:
            tell_ready()


def _same(value):
    return value


def calls(torch, dist, rank, size, shared):
    """Calls of all kinds to all other ranks."""
    from torch.distributed import rpc

    method = f"file://{shared / 'rpc'}"
    options = rpc.TensorPipeRpcBackendOptions(init_method=method)
    name = f"worker{rank}"
    rpc.init_rpc(name, rank=rank, world_size=size, rpc_backend_options=options)
    tell_ready()  # before the rendezvous a missing worker is not detected
    others = [other for other in range(size) if other != rank]
    while True:
        for other in others:
            tensor = torch.ones(random.choice([1, 1000, 300_000]))
            assert rpc.rpc_sync(other, _same, args=(tensor,)).shape == tensor.shape
        futures = [rpc.rpc_async(other, _same, args=(1,)) for other in others]
        actual = [rpc.remote(other, _same, args=(other,)) for other in others]
        assert [future.wait() for future in futures] == [1] * len(others)
        assert [reference.to_here() for reference in actual] == others


WORK = {
    work.__name__: work for work in (collectives, data_parallel, checkpoints, calls)
}


def run_rank(name, store, rank, size, folder):
    """Works until an error occurs, and prints it."""
    import torch
    from torch import distributed as dist

    faulthandler.register(signal.SIGUSR1)
    limit = datetime.timedelta(seconds=LIMIT)
    if store == "file":
        result = dist.FileStore(str(folder / "store"), -1)
    else:
        result = dist.TCPStore("127.0.0.1", int(store), size, rank == 0, limit)
    dist.init_process_group(
        "gloo", store=result, rank=rank, world_size=size, timeout=limit
    )
    try:
        WORK[name](torch, dist, rank, size, folder)
    except Exception as error:
        kind = type(error).__name__
        print(json.dumps([time.monotonic(), kind, str(error)]), flush=True)
    sys.stdin.readline()  # until all ranks have seen the error
    dist.destroy_process_group()


# --------------------------------------------------------------------------- the killer


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _line_of(process):
    """The next line of its output; its stacks if there is none in time."""
    alarm = subprocess.Popen(
        ["sh", "-c", f"sleep {LIMIT}; kill -USR1 {process.pid}; sleep 1; "
                     f"kill -KILL {process.pid}"], start_new_session=True
    )  # fmt: skip
    try:
        return process.stdout.readline()
    finally:
        os.killpg(alarm.pid, signal.SIGKILL)
        alarm.wait()


def check_checkpoints(folder):
    """The steps of the complete checkpoints; each has the values of its step."""
    import pellucid as torch
    from pellucid.distributed import checkpoint

    steps = []
    for place in sorted(folder.glob("checkpoint*")):
        if not (place / ".metadata").exists():
            continue
        state = {"step": 0, "weight": torch.zeros(ROWS)}
        checkpoint.load(state, checkpoint_id=place, no_dist=True)
        assert state["weight"].eq(state["step"]).all(), (place, state["step"])
        steps.append(state["step"])
    assert steps and len(steps) >= len(list(folder.glob("checkpoint*"))) - 1, steps
    return sorted(steps)


def _start(name, store, size, folder, transport):
    """The processes of all ranks; their standard errors go to files."""
    program = "-m", "pellucid.run", "-m", "tests.distributed.kills", "rank"
    started = []
    for rank in range(size):
        with open(folder / f"stderr{rank}", "w") as errors:
            process = subprocess.Popen(
                [sys.executable, *program, name, store, str(rank), str(size), folder],
                cwd=ROOT,
                env=os.environ | {"PELLUCID_DISTRIBUTED_TRANSPORT": transport},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        started.append(process)
    return started


def _check_line(line, victim, pid):
    """Checks that a survivor's error names the killed rank; returns its time."""
    when, kind, text = json.loads(line)
    assert kind in ("DistBackendError", "RuntimeError"), kind
    assert f"pid {pid})" in text, "another is named"
    assert f"rank {victim} (" in text or f"worker{victim} (" in text, "no rank is named"
    return when


def _check_end(started, store):
    """Checks that all others have ended without failure and nothing is left over."""
    for process in started:
        process.stdin.close()
    for process in started:
        expected = 0, -signal.SIGKILL
        assert process.wait(timeout=LIMIT) in expected, "a survivor failed as it ended"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 0)
            raise AssertionError("a process of a rank's session has stayed")
    assert names_left(started) == []
    if store != "file":
        socket.create_server(("127.0.0.1", int(store))).close()


def kill_one(seed, folder, transports=("shared memory", "tcp")):
    """Runs ranks and kills one: a report, or AssertionError with their outputs."""
    draw = random.Random(seed)
    name = list(WORK)[seed % len(WORK)]
    size, transport = draw.choice([2, 3, 4]), draw.choice(transports)
    store = draw.choice(["file", str(_free_port())])
    victim, seconds = draw.randrange(size), draw.random() * draw.choice([0.05, 2])
    shown = f"seed {seed}: {name}, {size} ranks, {transport}, store {store}, "
    shown += f"rank {victim} killed after {seconds:.3f} s"
    lines = []
    started = _start(name, store, size, folder, transport)
    try:
        lines = [_line_of(process) for process in started]
        assert lines == ["ready\n"] * size, "not all started"
        time.sleep(seconds)
        lost, killed = started[victim], time.monotonic()
        lost.kill()
        lines = [_line_of(process) for process in started if process is not lost]
        slowest = max(_check_line(line, victim, lost.pid) - killed for line in lines)
        shown += f"; told after {slowest:.3f} s"
        _check_end(started, store)
        if name == "checkpoints":
            shown += f", whole checkpoints {check_checkpoints(folder)}"
    except Exception as error:
        for process in started:
            process.kill()
        errors = [(folder / f"stderr{r}").read_text()[-6000:] for r in range(size)]
        outputs = "\n".join(map(str, [*lines, *errors]))
        raise AssertionError(f"{shown}: {error!r}\n{outputs}") from error
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdin.close()
            process.stdout.close()
    return shown


def main():
    """The command line."""
    if sys.argv[1:2] == ["rank"]:
        name, store, rank, size, folder = sys.argv[2:]
        run_rank(name, store, int(rank), int(size), Path(folder))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--transports", nargs="+", default=["shared memory", "tcp"])
    inputs = parser.parse_args()
    num_failed = 0
    for seed in range(inputs.seed, inputs.seed + inputs.count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(kill_one(seed, Path(folder), inputs.transports), flush=True)
            except AssertionError as error:
                num_failed += 1
                print(f"FAILED {error}", flush=True)
    print(f"{inputs.count} kills, {num_failed} failed")
    sys.exit(bool(num_failed))


if __name__ == "__main__":
    main()
