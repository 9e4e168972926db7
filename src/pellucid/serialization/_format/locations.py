"""The devices on which storages were saved, and to which they are restored.

``serialization`` and its writer try the registered pairs, lowest priority first: a
*tagger* names the location of a storage, a *deserializer* moves a loaded storage to a
named location; both return None for locations that they do not handle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import _C
from pellucid.storage import UntypedStorage

Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]


def is_present(location: Any) -> bool:
    """Whether a backend exists for a device."""
    try:
        device = pellucid.device(location)
    except RuntimeError:
        return False
    return device.type in ("cpu", "meta") or _C._has_backend(device)


def _cpu_tag(storage: Any) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _to_cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _device_tag(storage: Any) -> str | None:
    return str(storage.device)


def _to_device(storage: UntypedStorage, location: str) -> Any:
    if not is_present(location):
        return None
    if storage.device == pellucid.device(location):
        return storage
    whole = pellucid.empty(0, dtype=pellucid.uint8, device=storage.device)
    return whole.set_(storage).to(location).untyped_storage()


_registered: list[tuple[int, Tagger, Deserializer]] = [
    (10, _cpu_tag, _to_cpu),
    (23, _device_tag, _to_device),
]


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Registers ``tagger(storage)``, which names a storage's location, and
    ``deserializer(storage, location)``, which moves a loaded storage there; both return
    None for locations that they do not handle. The lowest priority is tried first; the
    CPU has 10, other devices 23.
    """
    _registered.append((priority, tagger, deserializer))
    _registered.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The name of this storage's location in files."""
    for _, tagger, _ in _registered:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"no registered package names the location of {storage!r:.80}")


def restored(storage: UntypedStorage, location: str) -> Any:
    """The storage at this location, or None if no registered package handles it."""
    for _, _, deserializer in _registered:
        found = deserializer(storage, location)
        if found is not None:
            return found
    return None


def default_restore_location(storage: UntypedStorage, location: str) -> Any:
    """The storage at this location; RuntimeError if no package handles it."""
    found = restored(storage, str(location))
    if found is None:
        raise RuntimeError(
            f"don't know how to restore a storage to {location!r}: no backend and no "
            "package given to register_package() serves it; use map_location='cpu'"
        )
    return found


class DevicePlacement:
    """Moves storages to the location ``chosen``, or maps the file's locations by
    ``by_name``; others go to their saved location, or to the CPU.
    """

    def __init__(self, chosen: Any, by_name: dict[str, Any]) -> None:
        self._chosen, self._by_name = chosen, by_name

    def _named(self, saved_on: str) -> str | None:
        location = self._chosen or self._by_name.get(saved_on)
        return None if location is None else str(location)

    def location_for(self, saved_on: str) -> str:
        """The target of a storage that was saved at a location."""
        return self._named(saved_on) or saved_on

    def __call__(self, found: UntypedStorage, saved_on: str) -> Any:
        named = self._named(saved_on)
        if named is not None:
            return default_restore_location(found, named)
        return restored(found, saved_on) or found
