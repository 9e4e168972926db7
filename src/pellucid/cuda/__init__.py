"""CUDA devices: the GPUs that NVIDIA's driver shows to this process.

The driver is looked for when the first question is asked (``devices/gpus.py``). Without
a GPU questions are answered as PyTorch answers them, seeds and cache calls do nothing,
and what needs a device raises. docs/cuda.md says what has run on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

import pellucid
from pellucid import _C
from pellucid import AcceleratorError as AcceleratorError
from pellucid import OutOfMemoryError as OutOfMemoryError
from pellucid._package.absent_device import AbsentDevice
from pellucid.cuda.graphs import CUDAGraph as CUDAGraph
from pellucid.cuda.graphs import graph as graph
from pellucid.cuda.graphs import graph_pool_handle as graph_pool_handle
from pellucid.cuda.graphs import make_graphed_callables as make_graphed_callables
from pellucid.cuda.streams import Event as Event
from pellucid.cuda.streams import ExternalStream as ExternalStream
from pellucid.cuda.streams import Stream as Stream
from pellucid.cuda.streams import require_gpus

_absent = AbsentDevice("CUDA")
_SUBMODULES = ("amp", "graphs", "memory", "nvtx", "profiler", "random", "streams")

has_half = True
has_magma = False


class CudaError(RuntimeError):
    """An error of the CUDA runtime."""


class DeferredCudaCallError(Exception):
    """An error of a call that waited for the device."""


def _asked(name: str, without: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks the GPUs, or answers as ``without`` if there are none."""

    def ask(*args: Any, **kwargs: Any) -> Any:
        is_there, why_not = _C._find_cuda()
        if is_there:
            return getattr(pellucid.cuda._gpus, name)(*args, **kwargs)
        if why_not and without == _absent.refuse:
            raise RuntimeError(why_not)
        return without(*args, **kwargs)

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = (
        f"""``torch.cuda.{name}``: asks the GPUs. Without one: {without.__doc__}"""
    )
    return ask


def _refused_type(name: str, doc: str) -> type:
    """A class of what is not offered, with GPUs or without."""

    def make(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        require_gpus(name, doc)
        raise NotImplementedError(
            f"torch.cuda.{name}: device memory comes from the runtime's own pool; "
            "docs/cuda.md has what there is"
        )

    return type(name, (), {"__new__": make, "__doc__": doc})


MemPool = _refused_type("MemPool", "Memory apart from the allocator's.")
CUDAPluggableAllocator = _refused_type(
    "CUDAPluggableAllocator", "An allocator of the user's."
)


class device:
    """A context in which a device is the current one; -1 and None change nothing."""

    def __init__(self, device: Any) -> None:
        if isinstance(device, str):
            device = pellucid.device(device)
        if getattr(device, "type", "cuda") != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        index = getattr(device, "index", device)
        self.idx = -1 if index is None else index
        self._before = -1

    def __enter__(self) -> None:
        if self.idx is not None and self.idx != -1:
            self._before = current_device()
            set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        if self._before != -1:
            set_device(self._before)


class StreamContext:
    """A context in which a stream is the current one; None changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)


class device_of(device):
    """``device`` of the one that holds a tensor."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def stream(stream: Any) -> Any:
    """``StreamContext(stream)``."""
    return StreamContext(stream)


is_available = _asked("is_available", _absent.no)
is_initialized = _asked("is_initialized", _absent.no)
_is_compiled = _asked("_is_compiled", _absent.no)
_is_in_bad_fork = _asked("_is_in_bad_fork", _absent.no)
is_bf16_supported = _asked("is_bf16_supported", _absent.no)
is_tf32_supported = _asked("is_tf32_supported", _absent.no)
is_current_stream_capturing = _asked("is_current_stream_capturing", _absent.no)
device_count = _asked("device_count", _absent.zero)
memory_allocated = _asked("memory_allocated", _absent.zero)
max_memory_allocated = _asked("max_memory_allocated", _absent.zero)
memory_reserved = _asked("memory_reserved", _absent.zero)
max_memory_reserved = _asked("max_memory_reserved", _absent.zero)
memory_cached = _asked("memory_cached", _absent.zero)
max_memory_cached = _asked("max_memory_cached", _absent.zero)
memory_stats = _asked("memory_stats", _absent.no_statistics)
memory_stats_as_nested_dict = _asked(
    "memory_stats_as_nested_dict", _absent.no_statistics
)
host_memory_stats = _asked("host_memory_stats", _absent.no_statistics)
host_memory_stats_as_nested_dict = _asked(
    "host_memory_stats_as_nested_dict", _absent.no_statistics
)
reset_peak_host_memory_stats = _asked("reset_peak_host_memory_stats", _absent.nothing)
reset_accumulated_host_memory_stats = _asked(
    "reset_accumulated_host_memory_stats", _absent.nothing
)
caching_allocator_enable = _asked("caching_allocator_enable", _absent.nothing)
get_arch_list = _asked("get_arch_list", _absent.no_list)
get_rng_state_all = _asked("get_rng_state_all", _absent.no_list)
get_gencode_flags = _asked("get_gencode_flags", _absent.no_text)
set_rng_state_all = _asked("set_rng_state_all", _absent.take_states)
manual_seed = _asked("manual_seed", _absent.nothing)
manual_seed_all = _asked("manual_seed_all", _absent.nothing)
seed = _asked("seed", _absent.nothing)
seed_all = _asked("seed_all", _absent.nothing)
empty_cache = _asked("empty_cache", _absent.nothing)
init = _asked("init", _absent.refuse)
current_device = _asked("current_device", _absent.refuse)
set_device = _asked("set_device", _absent.refuse)
synchronize = _asked("synchronize", _absent.refuse)
get_device_name = _asked("get_device_name", _absent.refuse)
get_device_properties = _asked("get_device_properties", _absent.refuse)
get_device_capability = _asked("get_device_capability", _absent.refuse)
current_stream = _asked("current_stream", _absent.refuse)
default_stream = _asked("default_stream", _absent.refuse)
set_stream = _asked("set_stream", _absent.refuse)
get_stream_from_external = _asked("get_stream_from_external", _absent.refuse)
current_blas_handle = _asked("current_blas_handle", _absent.refuse)
get_rng_state = _asked("get_rng_state", _absent.refuse)
set_rng_state = _asked("set_rng_state", _absent.refuse)
initial_seed = _asked("initial_seed", _absent.refuse)
can_device_access_peer = _asked("can_device_access_peer", _absent.refuse)
cudart = _asked("cudart", _absent.refuse)
ipc_collect = _asked("ipc_collect", _absent.refuse)
mem_get_info = _asked("mem_get_info", _absent.refuse)
get_sync_debug_mode = _asked("get_sync_debug_mode", _absent.refuse)
set_sync_debug_mode = _asked("set_sync_debug_mode", _absent.refuse)
memory_summary = _asked("memory_summary", _absent.refuse)
memory_snapshot = _asked("memory_snapshot", _absent.refuse)
reset_peak_memory_stats = _asked("reset_peak_memory_stats", _absent.refuse)
reset_accumulated_memory_stats = _asked(
    "reset_accumulated_memory_stats", _absent.refuse
)
reset_max_memory_allocated = _asked("reset_max_memory_allocated", _absent.refuse)
reset_max_memory_cached = _asked("reset_max_memory_cached", _absent.refuse)
set_per_process_memory_fraction = _asked(
    "set_per_process_memory_fraction", _absent.refuse
)
get_per_process_memory_fraction = _asked(
    "get_per_process_memory_fraction", _absent.refuse
)
caching_allocator_alloc = _asked("caching_allocator_alloc", _absent.refuse)
caching_allocator_delete = _asked("caching_allocator_delete", _absent.refuse)
change_current_allocator = _asked("change_current_allocator", _absent.refuse)
get_allocator_backend = _asked("get_allocator_backend", _absent.refuse)
utilization = _asked("utilization", _absent.refuse)
memory_usage = _asked("memory_usage", _absent.refuse)
temperature = _asked("temperature", _absent.refuse)
power_draw = _asked("power_draw", _absent.refuse)
clock_rate = _asked("clock_rate", _absent.refuse)
device_memory_used = _asked("device_memory_used", _absent.refuse)
list_gpu_processes = _asked("list_gpu_processes", _absent.refuse)
use_mem_pool = _asked("use_mem_pool", _absent.refuse)

_TENSOR_TYPES = (
    *("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long"),
    "Short",
)


def _tensor_type(name: str) -> type:
    def make(cls: type, *args: Any, **kwargs: Any) -> Any:
        why = "Torch not compiled with CUDA enabled.\nPellucid computes on the CPU."
        if _C._find_cuda()[0]:
            why = "Make it of torch's functions, with dtype= and device='cuda'."
        raise TypeError(f"type torch.cuda.{name} not available. {why}")

    return type(name, (), {"__new__": make, "__doc__": "A legacy type of tensors."})


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        return pellucid.cuda._gpus.default_generators if _C._find_cuda()[0] else ()
    if name == "_gpus":
        return import_module("pellucid.devices.gpus").GPUS
    if name == "_compile_kernel":
        return import_module("pellucid.devices.cuda_kernels").compile_kernel
    if name == "_take_launches":
        return import_module("pellucid.devices.cuda_launches").take_launches
    if name == "_graphed_callables":
        return import_module("pellucid.devices.graphed").make_graphed_callables
    if name in _SUBMODULES:
        return import_module(f"pellucid.cuda.{name}")
    for ending in ("Tensor", "Storage"):
        if name.removesuffix(ending) in _TENSOR_TYPES and name.endswith(ending):
            made = globals()[name] = _tensor_type(name)
            return made
    raise AttributeError(f"module 'pellucid.cuda' has no attribute {name!r}")
