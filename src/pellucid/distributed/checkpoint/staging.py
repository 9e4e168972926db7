"""Stagers: copies of a state that ``async_save`` stores while training goes on."""

from __future__ import annotations

import copy
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import pellucid as torch
from pellucid.distributed.checkpoint.metadata import STATE_DICT_TYPE
from pellucid.distributed.tensor import DTensor

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """What copies a state: by default before ``async_save`` returns."""

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether ``async_save`` calls ``synchronize_staging`` before it returns."""
        return self._synchronize_after_execute

    def stage(
        self, state_dict: STATE_DICT_TYPE
    ) -> Future[STATE_DICT_TYPE] | STATE_DICT_TYPE:
        """A copy of the state, or a future of it; later changes of the state do not
        reach the copy.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement stage method")

    def synchronize_staging(self) -> None:
        """Waits until the state has been copied."""

    def close(self) -> None:
        """Frees what the stager holds."""


@dataclass
class StagingOptions:
    """How ``DefaultStager`` copies a state: into pinned memory, into memory that other
    processes can map, on another thread, without waiting for the device.
    """

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class _Copier:
    """Copies nested states into the CPU's memory. Tensors on the CPU that share memory
    do so in the copy; each tensor on another device has its own. With ``reuses``, into
    the memory of the copy before.
    """

    def __init__(self, reuses: bool = False, shares: bool = False) -> None:
        self._reuses, self._shares = reuses, shares
        self._before: dict[Any, torch.Tensor] = {}  # memory by place in the state

    def copy(self, state: Any) -> Any:
        """A copy of a state."""
        with torch.no_grad():
            return self._copied(state, (), {})

    def clear(self) -> None:
        """Frees the memory that the next copy would reuse."""
        self._before = {}

    def _copied(self, value: Any, path: tuple[Any, ...], memo: dict[int, Any]) -> Any:
        if isinstance(value, DTensor):
            local = self._copied(value._local_tensor, path, memo)
            return DTensor(local, value._spec)
        if isinstance(value, torch.Tensor):
            return self._copied_tensor(value.detach(), path, memo)
        if isinstance(value, dict):
            made = copy.copy(value)
            for key, item in value.items():
                made[key] = self._copied(item, (*path, key), memo)
            return made
        if type(value) in (list, tuple):
            parts = [self._copied(v, (*path, k), memo) for k, v in enumerate(value)]
            return type(value)(parts)
        return copy.deepcopy(value, memo)

    def _copied_tensor(self, tensor: Any, path: Any, memo: dict[int, Any]) -> Any:
        before = self._before.get(path)
        if before is not None and (before.shape, before.dtype) == (
            *(tensor.shape, tensor.dtype),
        ):
            return before.copy_(tensor)
        if tensor.device.type == "cpu":
            made = copy.deepcopy(tensor, memo)
        else:
            made = tensor.to("cpu")
        if self._shares:
            made.share_memory_()
        if self._reuses:
            self._before[path] = made
        return made


class DefaultStager(AsyncStager):
    """Copies a state, on another thread with ``use_async_staging``."""

    def __init__(self, config: StagingOptions = StagingOptions()) -> None:  # noqa: B008
        if config.use_non_blocking_copy and not torch.accelerator.is_available():
            raise AssertionError(
                "Non-blocking copy requires that the current accelerator is available."
            )
        if config.use_pinned_memory and not torch.cuda.is_available():
            warnings.warn(
                "memory is not pinned for lack of a CUDA device", stacklevel=2
            )
        self._copier = _Copier(shares=config.use_shared_memory)
        self._thread = ThreadPoolExecutor(1) if config.use_async_staging else None
        self._staging: Future[STATE_DICT_TYPE] | None = None

    def stage(
        self, state_dict: STATE_DICT_TYPE, **kwargs: Any
    ) -> Future[STATE_DICT_TYPE] | STATE_DICT_TYPE:
        """A copy of the state, or a future of it with ``use_async_staging``."""
        if self._thread is None:
            return cast(STATE_DICT_TYPE, self._copier.copy(state_dict))
        self._staging = self._thread.submit(self._copier.copy, state_dict)
        return self._staging

    def synchronize_staging(self) -> None:
        """Waits for the last copy."""
        if self._staging is not None:
            self._staging.result()

    def close(self) -> None:
        """Ends the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=True)


class BlockingAsyncStager(AsyncStager):
    """Copies a state at once. With ``cache_staged_state_dict`` into the memory of the
    copy before, which must have been stored by then.
    """

    _synchronize_after_execute: bool = False

    def __init__(
        self, cache_staged_state_dict: bool = False, type_check: bool = False
    ) -> None:
        self.cache_staged_state_dict = cache_staged_state_dict
        self.type_check = type_check
        self._copier = _Copier(reuses=cache_staged_state_dict)

    def stage(self, state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
        """A copy of the state."""
        return cast(STATE_DICT_TYPE, self._copier.copy(state_dict))

    def synchronize_staging(self) -> None:
        """Does nothing: ``stage`` has copied the state."""

    def close(self) -> None:
        """Frees the memory of the last copy."""
        self._copier.clear()
