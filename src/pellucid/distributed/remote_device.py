"""``_remote_device``: a device of another process, by the process's rank or name."""

from __future__ import annotations

import pellucid as torch


class _remote_device:
    """``"rank:0/cpu"``, ``"trainer0/cpu"``, or a device of this process."""

    def __init__(self, remote_device: str | torch.device) -> None:
        self._worker_name: str | None = None
        self._rank: int | None = None
        if isinstance(remote_device, torch.device):
            self._device = remote_device
            return
        if not isinstance(remote_device, str):
            raise TypeError(
                f"a text or a device is needed, not a {type(remote_device).__name__}"
            )
        name, slash, device = remote_device.rpartition("/")
        if not slash and _is_device(remote_device):
            name = ""
        elif not slash:
            name, device = remote_device, "cpu"
        kind, colon, number = name.partition(":")
        is_rank = kind == "rank" and number.isdigit()
        if "/" in name or (slash and not name) or (colon and not is_rank):
            raise ValueError(
                f"{remote_device!r} is not a device, 'rank:NUMBER/DEVICE' or "
                "'WORKER/DEVICE'"
            )
        self._device = torch.device(device)
        self._rank = int(number) if is_rank else None
        self._worker_name = None if is_rank else name or None

    def worker_name(self) -> str | None:
        """The process's name in RPC; None if it is not given."""
        return self._worker_name

    def rank(self) -> int | None:
        """The process's rank; None if it is not given."""
        return self._rank

    def device(self) -> torch.device:
        """The device there."""
        return self._device

    def _facts(self) -> tuple[str | None, int | None, torch.device]:
        return self._worker_name, self._rank, self._device

    def __repr__(self) -> str:
        if self._rank is not None:
            return f"rank:{self._rank}/{self._device}"
        named = self._worker_name is not None
        return f"{self._worker_name}/{self._device}" if named else str(self._device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _remote_device) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())


def _is_device(text: str) -> bool:
    try:
        torch.device(text)
    except RuntimeError:
        return False
    return True
