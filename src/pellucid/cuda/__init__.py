"""CUDA devices: there are none.

What PyTorch does without a device is done here too: questions are answered, seeds and
cache calls do nothing, and what needs a device raises.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pellucid import AcceleratorError as AcceleratorError
from pellucid import OutOfMemoryError as OutOfMemoryError
from pellucid._package.absent_device import AbsentDevice

_absent = AbsentDevice("CUDA")
_SUBMODULES = ("amp", "graphs", "memory", "nvtx", "profiler", "random", "streams")

default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False


class CudaError(RuntimeError):
    """An error of the CUDA runtime."""


class DeferredCudaCallError(Exception):
    """An error of a call that waited for the device."""


Event = _absent.type_that_refuses("Event", "An event in a device's queue.")
Stream = _absent.type_that_refuses("Stream", "A device's queue of work.")
ExternalStream = _absent.type_that_refuses("ExternalStream", "An external queue.")
CUDAGraph = _absent.type_that_refuses("CUDAGraph", "Recorded work of a device.")
graph = _absent.type_that_refuses("graph", "The recording of work.")
MemPool = _absent.type_that_refuses("MemPool", "Memory apart from the allocator's.")
CUDAPluggableAllocator = _absent.type_that_refuses(
    "CUDAPluggableAllocator", "An allocator of the user's."
)
device = _absent.guard_type()
StreamContext = _absent.stream_context_type()


class device_of(device):  # type: ignore[misc,valid-type]
    """``device`` of the one that holds a tensor."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def stream(stream: Any) -> Any:
    """``StreamContext(stream)``."""
    return StreamContext(stream)


is_available = is_initialized = _is_compiled = _is_in_bad_fork = _absent.no
is_bf16_supported = is_tf32_supported = is_current_stream_capturing = _absent.no
device_count = memory_allocated = max_memory_allocated = _absent.zero
memory_reserved = max_memory_reserved = _absent.zero
memory_cached = max_memory_cached = _absent.zero
memory_stats = memory_stats_as_nested_dict = _absent.no_statistics
host_memory_stats = host_memory_stats_as_nested_dict = _absent.no_statistics
reset_peak_host_memory_stats = reset_accumulated_host_memory_stats = _absent.nothing
caching_allocator_enable = _absent.nothing
get_arch_list = get_rng_state_all = _absent.no_list
get_gencode_flags = _absent.no_text
set_rng_state_all = _absent.take_states
manual_seed = manual_seed_all = seed = seed_all = empty_cache = _absent.nothing
init = current_device = set_device = synchronize = _absent.refuse
get_device_name = get_device_properties = get_device_capability = _absent.refuse
current_stream = default_stream = set_stream = get_stream_from_external = _absent.refuse
current_blas_handle = get_rng_state = set_rng_state = initial_seed = _absent.refuse
can_device_access_peer = cudart = ipc_collect = mem_get_info = _absent.refuse
get_sync_debug_mode = set_sync_debug_mode = memory_summary = _absent.refuse
memory_snapshot = reset_peak_memory_stats = _absent.refuse
reset_accumulated_memory_stats = reset_max_memory_allocated = _absent.refuse
reset_max_memory_cached = set_per_process_memory_fraction = _absent.refuse
get_per_process_memory_fraction = caching_allocator_alloc = _absent.refuse
caching_allocator_delete = change_current_allocator = _absent.refuse
get_allocator_backend = graph_pool_handle = make_graphed_callables = _absent.refuse
utilization = memory_usage = temperature = power_draw = clock_rate = _absent.refuse
device_memory_used = list_gpu_processes = use_mem_pool = _absent.refuse

_TENSOR_TYPES = (
    *("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long"),
    "Short",
)


def _tensor_type(name: str) -> type:
    def make(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"type torch.cuda.{name} not available. Torch not compiled with CUDA "
            "enabled.\nPellucid computes on the CPU."
        )

    return type(name, (), {"__new__": make, "__doc__": "A legacy type of tensors."})


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"pellucid.cuda.{name}")
    for ending in ("Tensor", "Storage"):
        if name.removesuffix(ending) in _TENSOR_TYPES and name.endswith(ending):
            made = globals()[name] = _tensor_type(name)
            return made
    raise AttributeError(f"module 'pellucid.cuda' has no attribute {name!r}")
