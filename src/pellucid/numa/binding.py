"""``NumaOptions``: which CPUs the ranks of a machine run on, by the GPU of each.

Memory of another NUMA node takes longer to reach. ``torchrun --numa-binding=node``
binds each rank to the CPUs of its GPU's node; so does ``LaunchConfig(numa_options=)``.
What is near is read from the system's files.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from logging import getLogger
from pathlib import Path

__all__ = ["AffinityMode", "NumaOptions"]

logger = getLogger(__name__)

_ROOT = Path("/")


class AffinityMode(str, Enum):  # noqa: UP042 - as PyTorch prints it
    """Which CPUs: all of the GPU's NUMA node, all of its socket, the rank's own share
    of the node's cores, or the cores of the node that share one cache.
    """

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """How ranks are bound; with ``should_fall_back_if_binding_fails`` a rank that
    cannot be bound runs anywhere, and the log says why.
    """

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False


def cpus_to_bind_to(gpu_index: int, options: NumaOptions | None) -> set[int] | None:
    """The CPUs of the rank with this GPU; None: it is not bound."""
    if options is None:
        return None
    try:
        chosen = _CHOICES[AffinityMode(options.affinity_mode)](gpu_index)
        if not chosen:
            raise RuntimeError(
                f"GPU {gpu_index}: this process may use no CPU of the GPU's NUMA node"
            )
        return chosen
    except Exception:
        if not options.should_fall_back_if_binding_fails:
            raise
        logger.exception("the rank with GPU %s is not bound to CPUs", gpu_index)
        return None


def bind_this_process(cpus: set[int] | None) -> None:
    """Lets all threads of the process run on these CPUs only."""
    if cpus is None:
        return
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), cpus)
        except ProcessLookupError:
            continue  # it has ended


def _numbers(text: str) -> set[int]:
    """The numbers of "0-2,4"."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def _read(path: str) -> str:
    return (_ROOT / path).read_text().strip()


def _num_gpus() -> int:
    from pellucid import cuda

    return int(cuda.device_count())


def _uuid(gpu_index: int) -> str:
    from pellucid import cuda

    return str(cuda.get_device_properties(gpu_index).uuid)


def _node_of_gpu(gpu_index: int) -> int:
    count = _num_gpus()
    if gpu_index >= count:
        raise RuntimeError(
            f"ranks are bound to the CPUs near their GPU, and there is no GPU "
            f"{gpu_index}: this machine has {count}; without GPUs, start ranks by "
            "numactl"
        )
    named = f"GPU-{_uuid(gpu_index)}"
    for folder in (_ROOT / "proc/driver/nvidia/gpus").iterdir():
        if named in (folder / "information").read_text():
            node = _read(f"sys/bus/pci/devices/{folder.name}/numa_node")
            return max(int(node), 0)  # -1: there is one node
    raise RuntimeError(f"the driver lists no PCI address of {named}")


def _cpus_of_node(node: int) -> set[int]:
    """Those that this process may use."""
    cpus = _numbers(_read(f"sys/devices/system/node/node{node}/cpulist"))
    return cpus & os.sched_getaffinity(0)


def _of_node(gpu_index: int) -> set[int]:
    return _cpus_of_node(_node_of_gpu(gpu_index))


def _socket_of_node(node: int) -> int | None:
    cpus = _cpus_of_node(node)
    if not cpus:
        return None
    place = f"sys/devices/system/cpu/cpu{min(cpus)}/topology/physical_package_id"
    return int(_read(place))


def _of_socket(gpu_index: int) -> set[int]:
    socket = _socket_of_node(_node_of_gpu(gpu_index))
    nodes = _numbers(_read("sys/devices/system/node/possible"))
    same = [node for node in nodes if _socket_of_node(node) == socket]
    return set().union(*map(_cpus_of_node, same))


def _among(gpu_index: int) -> tuple[int, list[int]]:
    """The GPU's place among those of its node, and these."""
    node = _node_of_gpu(gpu_index)
    gpus = [k for k in range(_num_gpus()) if _node_of_gpu(k) == node]
    return gpus.index(gpu_index), gpus


def _grouped(cpus: Iterable[int], key: Callable[[int], int]) -> list[list[int]]:
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for cpu in sorted(cpus):
        groups[key(cpu)].append(cpu)
    return [groups[name] for name in sorted(groups)]


def _core(cpu: int) -> int:
    """The first CPU of its core."""
    place = f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    return min(_numbers(_read(place)))


def _exclusive(gpu_index: int) -> set[int]:
    place, gpus = _among(gpu_index)
    cores = _grouped(_of_node(gpu_index), _core)
    each, more = divmod(len(cores), len(gpus))
    if not each:
        raise RuntimeError(
            f"the NUMA node of GPU {gpu_index} has {len(cores)} cores for "
            f"{len(gpus)} GPUs: none has one of its own"
        )
    first = place * each + min(place, more)  # the first GPUs get the cores left over
    own = cores[first : first + each + (place < more)]
    return {cpu for core in own for cpu in core}


def _last_cache(cpu: int) -> int:
    """The first CPU that shares its outermost cache."""
    caches = [
        index
        for index in (_ROOT / f"sys/devices/system/cpu/cpu{cpu}/cache").glob("index*")
        if (index / "type").read_text().strip() in ("Unified", "Data")
    ]
    outermost = max(caches, key=lambda index: int((index / "level").read_text()))
    return min(_numbers((outermost / "shared_cpu_list").read_text()))


def _core_complex(gpu_index: int) -> set[int]:
    place, _ = _among(gpu_index)
    groups = _grouped(_of_node(gpu_index), _last_cache)
    groups.sort(key=len, reverse=True)
    return set(groups[place % len(groups)])


_CHOICES = {
    AffinityMode.NODE: _of_node,
    AffinityMode.SOCKET: _of_socket,
    AffinityMode.EXCLUSIVE: _exclusive,
    AffinityMode.CORE_COMPLEX: _core_complex,
}
