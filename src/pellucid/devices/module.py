"""``torch.<name>``: the module of a device type, with its streams and memory.

The names are those of ``torch.cuda``. A device is an index, a device, its name, or None
for the current one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import pellucid
from pellucid import _C

_PEAK, _TOTAL = 1, ("current", "peak", "allocated", "freed")


class DeviceModule(ModuleType):
    """``torch.<name>``: the module of a device type."""

    def __init__(self, name: str) -> None:
        super().__init__(f"pellucid.{name}", f"Devices of the type {name}.")
        self._type = name

    def _device(self, device: Any = None) -> Any:
        """The device of an argument; ValueError for one of another type."""
        if device is None:
            return pellucid.device(self._type, self.current_device())
        found = (
            pellucid.device(self._type, device)
            if isinstance(device, int)
            else pellucid.device(device)
        )
        if found.type != self._type:
            raise ValueError(f"Expected a {self._type} device, but got: {found}")
        return found

    def is_available(self) -> bool:
        """Whether there is a device."""
        return self.device_count() > 0

    def is_initialized(self) -> bool:
        """Whether the device type can be used, which it always can."""
        return True

    def device_count(self) -> int:
        """The number of devices."""
        return _C._device_count(self._type)

    def current_device(self) -> int:
        """The index that a device without one means in this thread."""
        return _C._current_device(self._type)

    def set_device(self, device: Any) -> None:
        """Makes ``device``, an index or a device, this thread's current one."""
        index = device if isinstance(device, int) else pellucid.device(device).index
        if index is not None:
            _C._set_current_device(pellucid.device(self._type, index))

    def device(self, device: Any) -> AbstractContextManager[None]:
        """A context in which ``device`` is the current one; None changes nothing."""
        return _CurrentDevice(self, device)

    def synchronize(self, device: Any = None) -> None:
        """Waits for all work on the device, and raises its errors."""
        _C._synchronize_device(self._device(device))

    def _is_in_bad_fork(self) -> bool:
        return False

    # What devices without generators draw from is the CPU's generator.

    def _generator(self, device: Any = None) -> Any:
        return _C._default_generator(self._device(device))

    def _generators(self) -> list[Any]:
        return [self._generator(index) for index in range(self.device_count())]

    @property
    def default_generators(self) -> tuple[Any, ...]:
        """The generator of each device; empty for devices that have none."""
        generators = self._generators()
        return tuple(g for g in generators if g.device.type == self._type)

    def manual_seed(self, seed: int) -> None:
        """Seeds the generator of the current device."""
        self._generator().manual_seed(int(seed))

    def manual_seed_all(self, seed: int) -> None:
        """Seeds the generators of all devices."""
        for generator in self._generators():
            generator.manual_seed(int(seed))

    def seed(self) -> None:
        """Seeds the generator of the current device from the system's randomness."""
        self._generator().seed()

    def seed_all(self) -> None:
        """Seeds the generators of all devices by one such seed."""
        self.manual_seed_all(self._generator().seed())

    def initial_seed(self) -> int:
        """The seed of the current device's generator."""
        return int(self._generator().initial_seed())

    def get_rng_state(self, device: Any = None) -> Any:
        """The state of a device's generator: 16 bytes on the CPU, seed and offset."""
        return self._generator(device).get_state()

    def set_rng_state(self, new_state: Any, device: Any = None) -> None:
        """Restores a state returned by ``get_rng_state``."""
        self._generator(device).set_state(new_state)

    def get_rng_state_all(self) -> list[Any]:
        """The state of each device."""
        return [generator.get_state() for generator in self._generators()]

    def set_rng_state_all(self, new_states: Any) -> None:
        """Restores states returned by ``get_rng_state_all``."""
        for index, state in enumerate(new_states):
            self.set_rng_state(state, index)

    def Stream(self, device: Any = None, priority: int = 0) -> Any:
        """A new stream of the device."""
        return pellucid.Stream(self._device(device), priority=priority)

    def Event(self, enable_timing: bool = False, blocking: bool = False) -> Any:
        """A mark that a stream of this type of device can record."""
        return pellucid.Event(self._type, enable_timing=enable_timing)

    def current_stream(self, device: Any = None) -> Any:
        """The stream that this thread's work on the device goes to."""
        device = self._device(device)
        return _stream(device, _C._current_stream(device))

    def default_stream(self, device: Any = None) -> Any:
        """The device's first stream."""
        return _stream(self._device(device), 0)

    def set_stream(self, stream: Any) -> None:
        """Makes ``stream`` this thread's current one of its device."""
        if stream is not None:
            _C._set_current_stream(self._device(stream.device), stream.stream_id)

    def stream(self, stream: Any) -> AbstractContextManager[Any]:
        """A context in which ``stream`` is the current one; None changes nothing."""
        from contextlib import nullcontext

        entered: AbstractContextManager[Any] = stream
        return nullcontext() if stream is None else entered

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes of the blocks of live tensors."""
        return self._count("allocated_bytes", device)

    def max_memory_allocated(self, device: Any = None) -> int:
        """The maximum since the last ``reset_peak_memory_stats``."""
        return self._count("allocated_bytes", device, _PEAK)

    def memory_reserved(self, device: Any = None) -> int:
        """Bytes that the backend gave, cached ones among them."""
        return self._count("reserved_bytes", device)

    def max_memory_reserved(self, device: Any = None) -> int:
        """The maximum since the last ``reset_peak_memory_stats``."""
        return self._count("reserved_bytes", device, _PEAK)

    def _count(self, name: str, device: Any, part: int = 0) -> int:
        counts: tuple[int, ...] = _C._device_memory(self._device(device))[name]
        return counts[part]

    def memory_stats_as_nested_dict(self, device: Any = None) -> dict[str, Any]:
        """Counts by PyTorch's names; all blocks are of the pool ``all``."""
        counts = _C._device_memory(self._device(device))
        named: dict[str, Any] = {}
        for name, value in counts.items():
            is_sum = isinstance(value, tuple)
            named[name] = (
                {"all": dict(zip(_TOTAL, value, strict=True))} if is_sum else value
            )
        return named

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        """The same, flat: ``stats["allocated_bytes.all.peak"]``."""
        flat: dict[str, Any] = {}
        for name, value in self.memory_stats_as_nested_dict(device).items():
            if isinstance(value, int):
                flat[name] = value
            else:
                flat |= {f"{name}.all.{k}": v for k, v in value["all"].items()}
        return flat

    def memory_snapshot(self, device: Any = None) -> list[dict[str, Any]]:
        """The segments by address, each with its ``stream`` and its ``blocks``."""
        device = self._device(device)
        segments: list[dict[str, Any]] = []
        for address, size, asked, stream, state, starts in _C._device_blocks(device):
            if starts:
                segments.append(
                    {
                        "device": device.index,
                        "address": address,
                        "stream": stream,
                        "total_size": 0,
                        "allocated_size": 0,
                        "blocks": [],
                    }
                )
            segment = segments[-1]
            segment["total_size"] += size
            segment["allocated_size"] += size if state == "active_allocated" else 0
            segment["blocks"].append(
                {
                    "address": address,
                    "size": size,
                    "requested_size": asked,
                    "state": state,
                }
            )
        return segments

    def memory_summary(self, device: Any = None, abbreviated: bool = False) -> str:
        """A table of the counts."""
        lines = [f"{self._device(device)}", f"{'':16}" + "".join(map(_cell, _TOTAL))]
        for name, value in self.memory_stats_as_nested_dict(device).items():
            cells = [value] if isinstance(value, int) else value["all"].values()
            lines.append(f"{name:18}" + "".join(map(_cell, cells)))
        return "\n".join(lines)

    def empty_cache(self) -> None:
        """Returns unused cached memory to the backend, on all devices."""
        for index in range(self.device_count()):
            _C._empty_device_cache(self._device(index))

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Resets peaks to the current values."""
        _C._reset_device_peaks(self._device(device))

    def reset_accumulated_memory_stats(self, device: Any = None) -> None:
        """Resets the totals of allocated and freed memory to 0."""
        _C._reset_device_sums(self._device(device))


def _cell(value: Any) -> str:
    return f"{value:>14}"


def _stream(device: Any, number: int) -> Any:
    return pellucid.Stream._of(device, number)


class _CurrentDevice:
    """The context of ``DeviceModule.device``."""

    def __init__(self, module: DeviceModule, device: Any) -> None:
        self._module, self.idx = module, device
        self._before: int | None = None

    def __enter__(self) -> None:
        if self.idx is not None:
            self._before = self._module.current_device()
            self._module.set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            self._module.set_device(self._before)
