"""``torch.cuda.memory``: the questions about memory, by their own module's name."""

from pellucid.cuda import CUDAPluggableAllocator as CUDAPluggableAllocator
from pellucid.cuda import MemPool as MemPool
from pellucid.cuda import caching_allocator_alloc as caching_allocator_alloc
from pellucid.cuda import caching_allocator_delete as caching_allocator_delete
from pellucid.cuda import caching_allocator_enable as caching_allocator_enable
from pellucid.cuda import change_current_allocator as change_current_allocator
from pellucid.cuda import empty_cache as empty_cache
from pellucid.cuda import get_allocator_backend as get_allocator_backend
from pellucid.cuda import (
    get_per_process_memory_fraction as get_per_process_memory_fraction,
)
from pellucid.cuda import host_memory_stats as host_memory_stats
from pellucid.cuda import (
    host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict,
)
from pellucid.cuda import list_gpu_processes as list_gpu_processes
from pellucid.cuda import max_memory_allocated as max_memory_allocated
from pellucid.cuda import max_memory_cached as max_memory_cached
from pellucid.cuda import max_memory_reserved as max_memory_reserved
from pellucid.cuda import mem_get_info as mem_get_info
from pellucid.cuda import memory_allocated as memory_allocated
from pellucid.cuda import memory_cached as memory_cached
from pellucid.cuda import memory_reserved as memory_reserved
from pellucid.cuda import memory_snapshot as memory_snapshot
from pellucid.cuda import memory_stats as memory_stats
from pellucid.cuda import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from pellucid.cuda import memory_summary as memory_summary
from pellucid.cuda import (
    reset_accumulated_host_memory_stats as reset_accumulated_host_memory_stats,
)
from pellucid.cuda import (
    reset_accumulated_memory_stats as reset_accumulated_memory_stats,
)
from pellucid.cuda import reset_max_memory_allocated as reset_max_memory_allocated
from pellucid.cuda import reset_max_memory_cached as reset_max_memory_cached
from pellucid.cuda import reset_peak_host_memory_stats as reset_peak_host_memory_stats
from pellucid.cuda import reset_peak_memory_stats as reset_peak_memory_stats
from pellucid.cuda import (
    set_per_process_memory_fraction as set_per_process_memory_fraction,
)
from pellucid.cuda import use_mem_pool as use_mem_pool


class caching_allocator_disabled:
    """A scope without the caching allocator of a CUDA device: there is none."""

    def __enter__(self) -> None:
        caching_allocator_enable(False)

    def __exit__(self, *exception: object) -> None:
        caching_allocator_enable()
