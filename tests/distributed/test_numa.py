"""Ranks on the CPUs near their GPU, on a machine of files: two sockets of two nodes of
two cores, and a GPU at each node but the last, which has two.
"""

import os
import sys
from pathlib import Path

import pytest

from pellucid.distributed.elastic.multiprocessing.subprocess_handler import (
    get_subprocess_handler,
)
from pellucid.distributed.run import config_from_args, parse_args
from pellucid.numa import binding
from pellucid.numa.binding import AffinityMode, NumaOptions, cpus_to_bind_to

NODES = {0: "0-1,8-9", 1: "2-3,10-11", 2: "4-5,12-13", 3: "6-7,14-15"}
GPUS = [0, 1, 2, 3, 3]  # the node of each


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    system = tmp_path / "sys/devices/system"
    write(system / "node/possible", "0-3")
    for node, cpus in NODES.items():
        write(system / f"node/node{node}/cpulist", cpus)
    for cpu in range(16):
        core, folder = cpu % 8, system / f"cpu/cpu{cpu}"
        write(folder / "topology/physical_package_id", core // 4)
        write(folder / "topology/thread_siblings_list", f"{core},{core + 8}")
        for level, (kind, shared) in enumerate(
            [("Data", f"{core},{core + 8}"), ("Instruction", "0-15"),
             ("Unified", NODES[core // 2] if core < 6 else f"{core},{core + 8}")], 1
        ):  # fmt: skip
            write(folder / f"cache/index{level}/type", kind)
            write(folder / f"cache/index{level}/level", level)
            write(folder / f"cache/index{level}/shared_cpu_list", shared)
    for gpu, node in enumerate(GPUS):
        address = f"0000:0{gpu}:00.0"
        write(tmp_path / f"proc/driver/nvidia/gpus/{address}/information",
              f"Model: X\nGPU UUID: GPU-{gpu}{gpu}")  # fmt: skip
        write(tmp_path / f"sys/bus/pci/devices/{address}/numa_node", node)
    monkeypatch.setattr(binding, "_ROOT", tmp_path)
    monkeypatch.setattr(binding, "_num_gpus", lambda: len(GPUS))
    monkeypatch.setattr(binding, "_uuid", lambda gpu: f"{gpu}{gpu}")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    return tmp_path


@pytest.mark.parametrize(
    ("mode", "gpu", "cpus"),
    [
        ("node", 0, {0, 1, 8, 9}),
        ("node", 4, {6, 7, 14, 15}),
        ("socket", 1, {0, 1, 2, 3, 8, 9, 10, 11}),
        ("exclusive", 2, {4, 5, 12, 13}),
        ("exclusive", 3, {6, 14}),
        ("exclusive", 4, {7, 15}),
        ("core-complex", 0, {0, 1, 8, 9}),
        ("core-complex", 4, {7, 15}),
    ],
)
def test_a_rank_has_the_cpus_near_its_gpu(machine, mode, gpu, cpus):
    assert cpus_to_bind_to(gpu, NumaOptions(AffinityMode(mode))) == cpus


def test_a_machine_of_one_node_says_minus_one(machine):
    write(machine / "sys/bus/pci/devices/0000:01:00.0/numa_node", -1)
    assert cpus_to_bind_to(1, NumaOptions("node")) == {0, 1, 8, 9}


def test_what_cannot_be_bound_says_why_or_runs_anywhere(machine, monkeypatch, caplog):
    options = NumaOptions(AffinityMode.NODE)
    with pytest.raises(RuntimeError, match=r"no GPU 5: this machine has 5.*numactl"):
        cpus_to_bind_to(5, options)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {7})
    with pytest.raises(RuntimeError, match="GPU 0: this process may use no CPU"):
        cpus_to_bind_to(0, options)
    with pytest.raises(RuntimeError, match="has 1 cores for 2 GPUs"):
        cpus_to_bind_to(3, NumaOptions(AffinityMode.EXCLUSIVE))
    (machine / "proc/driver/nvidia/gpus/0000:00:00.0/information").write_text("")
    with pytest.raises(RuntimeError, match="no PCI address of GPU-00"):
        cpus_to_bind_to(0, options)
    may_fail = NumaOptions("node", should_fall_back_if_binding_fails=True)
    assert cpus_to_bind_to(9, may_fail) is None
    assert "the rank with GPU 9 is not bound" in caplog.text
    assert cpus_to_bind_to(0, None) is None


def test_processes_run_on_the_cpus(monkeypatch, tmp_path):
    own = {min(os.sched_getaffinity(0))}
    monkeypatch.setitem(binding._CHOICES, AffinityMode.NODE, lambda gpu: own)
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    path = str(tmp_path / "out")
    handler = get_subprocess_handler(
        sys.executable, ("-c", code), {}, path, "", 0, NumaOptions("node")
    )
    assert handler.proc.wait(60) == 0
    assert Path(path).read_text() == f"{sorted(own)}\n"
    pid = os.fork()
    if pid == 0:
        binding.bind_this_process(own)
        os._exit(os.sched_getaffinity(0) != own)
    assert os.waitpid(pid, 0)[1] == 0


def test_the_launcher_takes_the_mode():
    config, *_ = config_from_args(parse_args(["--numa-binding=core-complex", "x.py"]))
    assert config.numa_options == NumaOptions(AffinityMode.CORE_COMPLEX)
    assert config_from_args(parse_args(["x.py"]))[0].numa_options is None
