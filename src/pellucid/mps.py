"""``torch.mps``: Apple GPUs; reports that there are none."""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid._package.absent_device import AbsentDevice

_absent = AbsentDevice("MPS")


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: there is no such device."""
    raise RuntimeError(
        "PyTorch is not linked with support for mps devices: Pellucid computes on the "
        "CPU\nAsk torch.backends.mps.is_available() first."
    )


Event = _absent.type_that_refuses("Event", "An event in a device's queue.")
is_available = _is_in_bad_fork = _absent.no
device_count = _absent.zero
manual_seed = seed = empty_cache = _absent.nothing
synchronize = get_rng_state = set_rng_state = compile_shader = _refuse
set_per_process_memory_fraction = current_allocated_memory = _refuse
driver_allocated_memory = recommended_max_memory = load_metallib = _refuse
