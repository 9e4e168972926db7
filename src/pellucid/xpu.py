"""``torch.xpu``: XPU devices; reports that there are none."""

from __future__ import annotations

from typing import Any

from pellucid._package.absent_device import AbsentDevice

_absent = AbsentDevice("XPU")

Event = _absent.type_that_refuses("Event", "An event in a device's queue.")
Stream = _absent.type_that_refuses("Stream", "A device's queue of work.")
device = _absent.guard_type()
StreamContext = _absent.stream_context_type()


def stream(stream: Any) -> Any:
    """``StreamContext(stream)``."""
    return StreamContext(stream)


is_available = is_initialized = is_current_stream_capturing = is_bf16_supported = (
    _is_in_bad_fork
) = _absent.no
device_count = memory_allocated = max_memory_allocated = _absent.zero
memory_reserved = max_memory_reserved = _absent.zero
memory_stats = memory_stats_as_nested_dict = _absent.no_statistics
get_rng_state_all = get_arch_list = _absent.no_list
set_rng_state_all = _absent.take_states
manual_seed = manual_seed_all = seed = seed_all = empty_cache = _absent.nothing
init = current_device = set_device = synchronize = _absent.refuse
get_device_name = get_device_properties = get_device_capability = _absent.refuse
current_stream = default_stream = set_stream = mem_get_info = _absent.refuse
get_rng_state = set_rng_state = initial_seed = _absent.refuse
reset_peak_memory_stats = reset_accumulated_memory_stats = _absent.refuse
