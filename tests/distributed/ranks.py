"""Runs a function in several processes that form a group."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 240  # seconds: a loaded machine of two cores

PROGRAM = """
import sys
module, function, store, rank, size = sys.argv[1:6]
import importlib, datetime, faulthandler, signal
faulthandler.register(signal.SIGUSR1)
import pellucid.distributed as dist
called = getattr(importlib.import_module(module), function)
rank, size = int(rank), int(size)
store = dist.FileStore(store, -1)
limit = datetime.timedelta(seconds=60)
dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=limit)
called(rank, size)
dist.destroy_process_group()
"""


def _output_of(process, late):
    """What it wrote; with the stacks of its threads if it ran on for too long."""
    try:
        return process.communicate(timeout=1 if late else LIMIT)[0]
    except subprocess.TimeoutExpired:
        late.append(process.pid)
    process.send_signal(signal.SIGUSR1)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[0]


def run_ranks(function, size, folder, *, killed=(), **environment):
    """The outputs of the ranks of ``function(rank, size)``; all must end well, but for
    those ``killed``.
    """
    started = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", PROGRAM, function.__module__),
                *(function.__name__, str(folder / "store"), str(rank), str(size)),
            ],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        for rank in range(size)
    ]
    late = []
    try:
        outputs = [_output_of(process, late) for process in started]
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
    shown = "\n".join(f"rank {r}: {text}" for r, text in enumerate(outputs))
    assert not late, f"processes {late} ran on after {LIMIT} s\n{shown}"
    for rank, process in enumerate(started):
        expected = -signal.SIGKILL if rank in killed else 0
        assert process.returncode == expected, shown
    return outputs
