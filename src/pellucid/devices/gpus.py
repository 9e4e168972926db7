"""What ``torch.cuda`` answers where there are GPUs, from the driver.

Memory, current devices and waiting are those of any device type
(``pellucid/devices/module.py``); here is what only CUDA has.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn, cast
from uuid import UUID

import pellucid
from pellucid import _C
from pellucid.cuda import streams
from pellucid.devices.module import DeviceModule

_MINOR = 10  # CUDA 12040 is 12.4


class Gpus(DeviceModule):
    """The functions of ``torch.cuda`` by their names."""

    Stream, Event = streams.Stream, streams.Event

    def _index(self, device: Any) -> int:
        return int(self._device(device).index)

    # ----------------------------------------------------------------- devices

    def init(self) -> None:
        """Nothing: the driver is initialised when it is found."""

    def _is_compiled(self) -> bool:
        return True

    def get_device_properties(self, device: Any = None) -> SimpleNamespace:
        """Name, compute capability, memory and multiprocessors of a GPU."""
        facts: dict[str, Any] = _C._cuda_properties(self._index(device))
        return SimpleNamespace(**facts | {"uuid": UUID(bytes=facts["uuid"])})

    def get_device_name(self, device: Any = None) -> str:
        """The GPU's name."""
        return str(self.get_device_properties(device).name)

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        """The compute capability: (9, 0) for an H100."""
        facts = self.get_device_properties(device)
        return facts.major, facts.minor

    def can_device_access_peer(self, device: Any, peer_device: Any) -> bool:
        """Whether a GPU can read another one's memory."""
        pair = self._index(device), self._index(peer_device)
        return bool(_C._cuda_can_access_peer(*pair))

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """True: every GPU that is used has compute capability 8.0 or later."""
        return True

    is_tf32_supported = is_bf16_supported

    def get_arch_list(self) -> list[str]:
        """The architectures that kernels are printed for; others compile the first's
        PTX."""
        from pellucid_compiler.gpu.nvptx import FEATURES

        return list(FEATURES)

    def get_gencode_flags(self) -> str:
        """The flags with which ``nvcc`` would compile for these architectures."""
        numbers = [name.removeprefix("sm_") for name in self.get_arch_list()]
        return " ".join(f"-gencode compute=compute_{n},code=sm_{n}" for n in numbers)

    # ----------------------------------------------------------------- streams

    def current_stream(self, device: Any = None) -> streams.Stream:
        """The stream that this thread's work on the device goes to."""
        place = self._device(device)
        found = streams.Stream._of(place, _C._current_stream(place))
        return cast(streams.Stream, found)

    def default_stream(self, device: Any = None) -> streams.Stream:
        """The device's first stream."""
        return cast(streams.Stream, streams.Stream._of(self._device(device), 0))

    def is_current_stream_capturing(self) -> bool:
        """Whether this thread's stream is being recorded as a graph."""
        device = self._device()
        return bool(_C._is_capturing(device))

    # ------------------------------------------------------------------ memory

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """(free, total) bytes of the GPU's memory, by the driver."""
        free, total = _C._cuda_memory(self._index(device))
        return free, total

    memory_cached = DeviceModule.memory_reserved
    max_memory_cached = DeviceModule.max_memory_reserved
    reset_max_memory_allocated = DeviceModule.reset_peak_memory_stats
    reset_max_memory_cached = DeviceModule.reset_peak_memory_stats

    def device_memory_used(self, device: Any = None) -> int:
        """Bytes in use by all processes."""
        free, total = self.mem_get_info(device)
        return total - free

    def get_allocator_backend(self) -> str:
        """``native``: the pool of ``runtime/core/device_pool.h``."""
        return "native"

    def ipc_collect(self) -> None:
        """Nothing: memory is not shared with other processes."""

    def host_memory_stats(self) -> dict[str, Any]:
        """Empty: pinned memory is not counted."""
        return {}

    host_memory_stats_as_nested_dict = host_memory_stats

    def reset_peak_host_memory_stats(self) -> None:
        """Nothing: pinned memory is not counted."""

    reset_accumulated_host_memory_stats = reset_peak_host_memory_stats

    def caching_allocator_enable(self, value: bool = True) -> None:
        """Nothing; NotImplementedError for False: the pool always keeps memory."""
        if not value:
            raise NotImplementedError(
                "torch.cuda.caching_allocator_enable(False): memory always comes from "
                "the runtime's pool; torch.cuda.empty_cache() gives it back"
            )

    # ------------------------------------------------------------------- other

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in vars(pellucid.cuda):
            raise AttributeError(f"torch.cuda has no {name!r}")

        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise NotImplementedError(
                f"torch.cuda.{name}: the driver is used without CUDA's runtime, NVML "
                "or libraries, and has no answer; docs/cuda.md has what there is"
            )

        return refuse


GPUS = Gpus("cuda")
