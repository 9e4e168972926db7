"""Passes launches to a Python backend: kernels by their definitions, with a log.

The runtime calls ``receive`` for every step that a backend may run
(``runtime/python/backend.cpp``). Definitions are those that ship beside the kernel pack
and those that this process traced.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pellucid import _C
from pellucid.devices.recording import add_launch
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.devices.definitions import shipped_definitions
from pellucid_compiler.devices.launch import KernelFailed, Launch, Operand
from pellucid_compiler.ir.offers import CARRIER

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


def moved_as(memory: tuple[str, ...], kernel: Kernel) -> tuple[str, ...]:
    """The operands' dtypes in memory; integers' where the kernel moves elements as
    integers of their size (``lower/carriers.py``), which are not to be converted."""
    pairs = list(zip(memory, (*kernel.outputs, *kernel.inputs), strict=False))
    moved = {own for held, own in pairs if held != own and CARRIER.get(held) == own}
    if any(held == own for held, own in pairs if own in moved):
        return memory  # it computes with these integers
    return tuple(own if own in moved else held for held, own in pairs)


def text_of(kernel_id: bytes) -> str:
    """The text of a kernel, for devices in C++; "" for one that nothing defines."""
    kernel = definition(kernel_id)
    return kernel.text if kernel is not None else ""


def receive(
    backend: Backend,
    op: str,
    kernel_id: bytes,
    device: int,
    extents: tuple[int, ...],
    stored: int,
    operands: tuple[tuple[Any, ...], ...],
    params: tuple[int, ...],
    stream: int,
    captured: int,
) -> int | None:
    """Passes a launch to the backend; returns the kernel's status, or None if the CPU
    must run it. Where the stream ``captured`` is being captured, the launch is noted
    instead; -1: none is."""
    kernel = definition(kernel_id)
    if kernel is None:
        _refuse("no definition")
        return None
    dtypes = moved_as(tuple(operand[1] for operand in operands), kernel)
    made = tuple(
        Operand(address, dtype, *geometry)
        for (address, _, *geometry), dtype in zip(operands, dtypes, strict=True)
    )
    launch = Launch(op, kernel, device, extents, stored, made, params, stream)
    if launch.form not in backend.forms:
        _refuse(f"{launch.form} is not in forms")
        return None
    if captured >= 0:
        add_launch(backend, captured, launch)
        return 0
    where = f"{backend.name}:{device}"
    try:
        result = backend.launch(launch)
    except KernelFailed as failure:
        return failure.status
    except Exception as error:
        error.add_note(f"raised by launch() of {op} ({launch.form}) on {where}")
        raise
    if result is NotImplemented:
        _refuse(f"{launch.form} declined")
        return None
    if result is not None:
        raise TypeError(
            f"{backend.name}: launch() of {op} returned {result!r}; return None once "
            "the kernel is started, NotImplemented to leave it to the CPU"
        )
    _refuse(None)
    _log(Event(op, launch.form, where, "launched"))
    return 0


def fell_back(backend: Backend, op: str, kernel: str) -> None:
    """Logs a step that the CPU runs: one refused just now, or one never offered."""
    _C._timeline_end(_C._timeline_begin(f"host: {op}"))
    log_fallback(backend.name, op, kernel)


def log_launch(op: str, text: str, device: str, declined: int) -> None:
    """Logs a step that a device in C++ was offered."""
    form = text.partition(" ")[0]
    if declined:
        _refuse(f"{form} declined")
    else:
        _refuse(None)
        _log(Event(op, form, device, "launched"))


def log_fallback(name: str, op: str, kernel: str) -> None:
    """Logs a step of a device in C++ that the CPU runs."""
    reason = getattr(_refusal, "reason", None) or "not a kernel"
    _refusal.reason = None
    _log(Event(op, kernel, name, f"host: {reason}"))


_refusal = threading.local()


def _refuse(reason: str | None) -> None:
    """Notes why the CPU may have to run a step; the steps of a block are offered one by
    one when the block is refused."""
    _refusal.reason = reason


def _log(event: Event) -> None:
    for log in LOGS:
        log.append(event)
