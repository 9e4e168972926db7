"""Several modules concurrently, each with its own inputs and thread."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread
from typing import Any

import pellucid
from pellucid.nn.modules.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """``modules[k](*inputs[k], **kwargs_tup[k])`` for each k; inputs that are not a
    tuple are one argument. The first error is reraised with the module's number.

    Grad mode and autocast are those of the calling thread.
    """
    named = kwargs_tup or [{} for _ in modules]
    if not len(modules) == len(inputs) == len(named):
        raise AssertionError(
            f"parallel_apply: {len(modules)} modules for {len(inputs)} inputs and "
            f"{len(named)} dicts of named ones"
        )
    if devices is not None and len(devices) != len(modules):
        raise AssertionError(
            f"parallel_apply: {len(modules)} modules on {len(devices)} devices"
        )
    results: list[Any] = [None] * len(modules)
    errors: list[Exception | None] = [None] * len(modules)
    is_recorded = pellucid.is_grad_enabled()
    casts = pellucid.is_autocast_enabled("cpu")
    dtype = pellucid.get_autocast_dtype("cpu")

    def run(k: int) -> None:
        arguments = inputs[k] if isinstance(inputs[k], (tuple, list)) else (inputs[k],)
        recording = pellucid.set_grad_enabled(is_recorded)
        with recording, pellucid.autocast("cpu", dtype=dtype, enabled=casts):
            try:
                results[k] = modules[k](*arguments, **named[k])
            except Exception as error:
                error.add_note(f"in module {k} of parallel_apply")
                errors[k] = error

    if len(modules) == 1:
        run(0)
    else:
        threads = [Thread(target=run, args=(k,)) for k in range(len(modules))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for error in errors:
        if error is not None:
            raise error
    return results
