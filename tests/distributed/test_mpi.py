"""The backend "mpi" in programs that mpiexec starts: the same collectives, bits and
errors as over the other transports.
"""

import datetime
import importlib.util
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

import pellucid as torch
from pellucid import distributed as dist
from tests.distributed.ranks import run_command
from tests.distributed.test_collectives import rank_all

MPIEXEC = shutil.which(
    "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
)
PROGRAM = """
import datetime, sys
import pellucid.distributed as dist
from tests.distributed import test_mpi
backend, function = sys.argv[1:]
dist.init_process_group(backend, timeout=datetime.timedelta(seconds=60))
assert dist.get_backend() == backend
getattr(test_mpi, function)(dist.get_rank(), dist.get_world_size())
if dist.is_initialized():
    dist.destroy_process_group()
print("ended well", flush=True)
"""
# What Open MPI asks for where MPICH asks nothing: root, and more ranks than cores.
FOR_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def ended_under_mpiexec(function, size, backend="mpi"):
    if MPIEXEC is None or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("no MPI: pip install mpi4py mpich")
    command = [MPIEXEC, "-n", str(size), sys.executable, "-c", PROGRAM]
    return run_command([*command, backend, function.__name__], **FOR_OPEN_MPI)


def run_under_mpiexec(function, size, backend="mpi"):
    ended = ended_under_mpiexec(function, size, backend)
    shown = f"{ended.stdout}\n{ended.stderr}"
    assert ended.returncode == 0, shown
    assert ended.stdout.count("ended well") == size, shown


def rank_sends_large_messages(rank, size):
    """Larger than what is sent with its frame, in another order than received."""
    large = torch.arange(300_000.0) + rank
    works = [
        dist.isend(tensor, 1 - rank, tag=tag)
        for tag, tensor in ((1, large), (2, torch.ones(3)), (3, 2 * large))
    ]
    for tag, factor in ((3, 2), (1, 1)):
        received = torch.empty(300_000)
        dist.recv(received, 1 - rank, tag=tag)
        assert torch.equal(received, factor * (torch.arange(300_000.0) + 1 - rank))
    small = torch.empty(3)
    assert dist.recv(small, tag=2) == 1 - rank
    for work in works:
        work.wait()


def rank_trains(rank, size):
    torch.manual_seed(3)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 300), torch.nn.ReLU(), torch.nn.Linear(300, 1)
    )
    inputs = torch.randn(24, 8)
    alone = [torch.zeros_like(p) for p in model.parameters()]
    for part in inputs.chunk(size):
        grads = torch.autograd.grad(model(part).square().mean(), model.parameters())
        alone = [a + g / size for a, g in zip(alone, grads, strict=True)]
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    parallel(inputs.chunk(size)[rank]).square().mean().backward()
    for parameter, grad in zip(model.parameters(), alone, strict=True):
        assert torch.allclose(parameter.grad, grad, rtol=1e-5, atol=1e-7)


def rank_fails(rank, size):
    with pytest.raises(dist.DistBackendError, match="differs between ranks") as caught:
        dist.all_reduce(torch.ones(3 + rank))
    for other in range(size):
        assert f"rank {other}: all_reduce float32[{3 + other}]" in str(caught.value)
    dist.barrier()
    late = dist.new_group(timeout=datetime.timedelta(seconds=1))
    if rank == 0:
        time.sleep(4)
    else:
        pattern = r"timed out after 1 s; rank 0 .*\n.*rank 0 is in rank_fails"
        with pytest.raises(dist.DistBackendError, match=pattern):
            dist.barrier(late)
    dist.barrier()
    if rank == 0:
        dist.destroy_process_group()
    else:
        with pytest.raises(dist.DistBackendError, match=r"rank 0 .*has left the group"):
            dist.all_reduce(torch.ones(100_000))


def rank_has_numbers(rank, size):
    total = torch.tensor(rank)
    dist.all_reduce(total)
    assert total == size * (size - 1) // 2


def rank_is_killed(rank, size):
    with open("/proc/self/maps") as file:
        shared = {word for word in file.read().split() if word.startswith("/dev/shm/")}
    print("shares", *shared, flush=True)
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(torch.ones(3))


@pytest.mark.parametrize("size", [2, 4])
def test_collectives(size):
    run_under_mpiexec(rank_all, size)


def test_messages():
    run_under_mpiexec(rank_sends_large_messages, 2)


def test_data_parallel_training():
    run_under_mpiexec(rank_trains, 4)


def test_errors_name_ranks():
    run_under_mpiexec(rank_fails, 2)


def test_mpiexec_starts_programs_that_do_not_use_mpi():
    run_under_mpiexec(rank_has_numbers, 3, "gloo")


def test_a_killed_rank_leaves_no_shared_memory():
    ended = ended_under_mpiexec(rank_is_killed, 2)
    assert ended.returncode != 0
    assert ended.stdout.count("shares") == 2
    names = [w for w in ended.stdout.split() if w.startswith("/dev/shm/")]
    assert names
    assert not any(map(os.path.exists, names))
