"""Passes launches to a Python backend: kernels by their definitions, with a log.

The runtime calls ``receive`` for every step that a backend may run
(``runtime/python/backend.cpp``). Definitions are those that ship beside the kernel pack
and those that this process traced.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pellucid import _C
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.devices.definitions import shipped_definitions
from pellucid_compiler.devices.reference import KernelFailed, Launch, Operand

if TYPE_CHECKING:
    from pellucid.devices import Backend

_SHIPPED = Path(__file__).parents[1] / "definitions.bin"


class Event(NamedTuple):
    """A step that a backend was offered, and what became of it: ``"launched"``, or
    ``"host: "`` and why the CPU ran it; then ``form`` is the kernel's name."""

    op: str
    form: str
    device: str
    outcome: str


LOGS: list[list[Event]] = []
"""The logs of active traces."""


@cache
def definition(kernel_id: bytes) -> Kernel | None:
    """The kernel of an id; None for one that nothing defines."""
    from pellucid._C._runtime.tracing import traced_kernel

    return traced_kernel(kernel_id) or shipped_definitions(_SHIPPED).get(kernel_id)


def receive(
    backend: Backend,
    op: str,
    kernel_id: bytes,
    device: int,
    extents: tuple[int, ...],
    stored: int,
    operands: tuple[tuple[int, str, tuple[int, ...], tuple[int, ...]], ...],
    params: tuple[int, ...],
    stream: int,
) -> int | None:
    """Passes a launch to the backend; returns the kernel's status, or None if the CPU
    must run it."""
    kernel = definition(kernel_id)
    if kernel is None:
        _refuse("no definition")
        return None
    made = tuple(Operand(*operand) for operand in operands)
    launch = Launch(op, kernel, device, extents, stored, made, params, stream)
    if launch.form not in backend.forms:
        _refuse(f"{launch.form} is not in forms")
        return None
    try:
        result = backend.launch(launch)
    except KernelFailed as failure:
        return failure.status
    if result is NotImplemented:
        _refuse(f"{launch.form} declined")
        return None
    if result is not None:
        raise TypeError(
            f"{backend.name}: launch() of {op} returned {result!r}; return None once "
            "the kernel is started, NotImplemented to leave it to the CPU"
        )
    _log(Event(op, launch.form, f"{backend.name}:{device}", "launched"))
    return 0


def fell_back(backend: Backend, op: str, kernel: str) -> None:
    """Logs a step that the CPU runs: one refused just now, or one never offered."""
    reason = getattr(_refusal, "reason", None) or "not a kernel"
    _refusal.reason = None
    _C._timeline_end(_C._timeline_begin(f"host: {op}"))
    _log(Event(op, kernel, backend.name, f"host: {reason}"))


_refusal = threading.local()


def _refuse(reason: str) -> None:
    _refusal.reason = reason


def _log(event: Event) -> None:
    for log in LOGS:
        log.append(event)
