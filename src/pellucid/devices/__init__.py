"""Device backends written in Python, and the twin, which detects stray accesses.

A backend provides memory; kernels that it does not launch run on the CPU over copies of
the operands. ``docs/devices.md`` has an example that runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import pellucid
from pellucid import _C

if TYPE_CHECKING:
    from pellucid.devices.launching import Event
    from pellucid_compiler.devices.launch import Launch

__all__ = [
    "Backend",
    "counts",
    "register",
    "register_twin",
    "set_fallback",
    "synchronize",
    "trace",
]

Policy = Literal["allow", "warn", "error"]
Pool = Literal["none", "best_fit", "first_fit", "size_classes"]
_POLICIES = ("allow", "warn", "error")
_POOLS = ("none", "best_fit", "first_fit", "size_classes")
_STEPS = frozenset({"map", "reduce", "rows", "scan", "nest", "gemm"})
_FORMS = _STEPS | {"block"}  # of several steps, which run one by one without it
_MEMORY = ("allocate", "release", "to_host", "from_host")
_STREAMS = ("new_stream", "record", "wait", "is_done", "finish", "elapsed")


class Backend:
    """A type of devices: subclass it, and pass an object to :func:`register`.

    ``name`` is the type in ``torch.device(name)``; ``count`` the number of devices. An
    address is any positive int; the runtime adds offsets to it and never reads there.

    Example::

        class Ram(Backend):
            name = "ram"

            def __init__(self):
                self.blocks, self.next = {}, 4096

            def allocate(self, device, nbytes):
                ...
    """

    name: str = ""
    count: int = 1
    forms: frozenset[str] = _STEPS
    # Whether `launch` takes products that read zeros beyond the ends of an operand
    # (`Operand.guards`); if not, the operand is copied with its zeros first.
    guards: bool = False

    # How memory is handed out: "none" asks `allocate` for each block; the others take
    # segments of at least `segment` bytes, and reuse what was freed. Addresses and
    # sizes are multiples of `alignment`, and `padding` bytes behind a block are its
    # own. `poison` fills freed blocks with ones, which are NaN in every float. `color`
    # is the size of a memory bank: where "best_fit" and "first_fit" have room, blocks
    # start at eight banks in turn, so that arrays of one size are in different banks.
    pool: Pool = "none"
    alignment: int = 1
    padding: int = 0
    segment: int = 1 << 20
    poison: bool = False
    color: int = 0

    # Whether work is queued: copies then take the stream as a last argument, launches
    # have it as `launch.stream`, and the six methods below exist.
    streams: bool = False

    # Whether each device has a random generator of its own, whose words the kernel of
    # pellucid::_philox_words computes; else random numbers are words of the CPU's.
    generators: bool = False

    def allocate(self, device: int, nbytes: int) -> int:
        """The address of ``nbytes`` bytes of device number ``device``."""
        raise NotImplementedError(f"{type(self).__name__} has no allocate()")

    def release(self, device: int, address: int, nbytes: int) -> None:
        """Frees memory from ``allocate``. Not called while the process ends."""
        raise NotImplementedError(f"{type(self).__name__} has no release()")

    def to_host(self, device: int, address: int, into: memoryview) -> None:
        """Copies ``len(into)`` bytes at ``address`` to ``into``, which ends with the
        call."""
        raise NotImplementedError(f"{type(self).__name__} has no to_host()")

    def from_host(self, device: int, address: int, data: memoryview) -> None:
        """Copies ``data``, which ends with the call, to ``address``."""
        raise NotImplementedError(f"{type(self).__name__} has no from_host()")

    def launch(self, launch: Launch) -> Any:
        """Runs a kernel with its whole nest; NotImplemented leaves it to the CPU.

        Called for the ``forms`` alone. ``reference.run`` says what each means.
        """
        return NotImplemented

    def synchronize(self, device: int) -> None:
        """Waits until all work on the device is done."""

    def new_stream(self, device: int) -> int:
        """The number of a new stream; 0 is every device's default stream."""
        raise NotImplementedError(f"{type(self).__name__} has no new_stream()")

    def record(self, device: int, stream: int) -> int:
        """Records an event, any number from 0, at the current end of the stream."""
        raise NotImplementedError(f"{type(self).__name__} has no record()")

    def wait(self, device: int, stream: int, event: int) -> None:
        """Makes later work of the stream wait for the event."""
        raise NotImplementedError(f"{type(self).__name__} has no wait()")

    def is_done(self, device: int, event: int) -> bool:
        """Whether all work before the event is done."""
        raise NotImplementedError(f"{type(self).__name__} has no is_done()")

    def finish(self, device: int, event: int) -> None:
        """Waits until all work before the event is done; raises its errors."""
        raise NotImplementedError(f"{type(self).__name__} has no finish()")

    def elapsed(self, device: int, first: int, second: int) -> float:
        """Milliseconds from one event to a later one."""
        raise NotImplementedError(f"{type(self).__name__} has no elapsed()")

    def handle(self, device: int, stream: int) -> int:
        """The stream as the device's own libraries know it: a ``cudaStream_t``."""
        raise NotImplementedError(f"{type(self).__name__} has no handle()")


def _install(name: str) -> None:
    from pellucid.devices.module import DeviceModule
    from pellucid.utils.backend_registration import add_device_methods

    module = DeviceModule(name)
    setattr(pellucid, name, module)
    sys.modules[module.__name__] = module
    add_device_methods(name)


def register(backend: Backend) -> None:
    """Makes ``torch.device(backend.name)`` a device that tensors can be on.

    A process has at most three backends. TypeError for what is not a Backend or lacks
    a method; ValueError for a name of anything but letters, a count below 1, forms or a
    pool that do not exist; RuntimeError for a name that is taken.

    Example::

        pellucid.devices.register(Ram())
        torch.ones(3, device="ram") + 1
    """
    if not isinstance(backend, Backend):
        raise TypeError(
            "register() takes an object of a subclass of pellucid.devices.Backend, "
            f"not {backend!r}"
        )
    name, count = backend.name, backend.count
    _require_name(name, count)
    _require_methods(backend)
    launches = type(backend).launch is not Backend.launch
    pool = _pool_of(backend)
    abilities = launches, backend.streams, backend.generators, backend.guards
    _C._add_backend(name, count, backend, *abilities, pool)
    _registered[name] = backend
    _install(name)


def _require_name(name: Any, count: Any) -> None:
    """That a type of devices can be named so, and can have so many."""
    from pellucid.utils.backend_registration import taken_method

    if not (isinstance(name, str) and name.isidentifier() and name.isalpha()):
        raise ValueError(
            f"a backend's name is letters alone, as in 'toy'; {name!r} was given"
        )
    if not isinstance(count, int) or not 1 <= count <= 127:
        raise ValueError(f"{name}: count must be an int in 1..127, not {count!r}")
    if hasattr(pellucid, name):
        raise RuntimeError(f"a backend cannot be named {name!r}: torch.{name} exists")
    if taken := taken_method(name):
        raise RuntimeError(f"a backend cannot be named {name!r}: {taken} exists")


def _require_methods(backend: Backend) -> None:
    """TypeError for a method that a backend must have and has not; ValueError for a
    form of kernel that does not exist."""
    needed = (*_MEMORY, *(_STREAMS if backend.streams else ()))
    for method in needed:
        inherited = getattr(type(backend), method) is getattr(Backend, method)
        if inherited or not callable(getattr(backend, method)):
            why = "streams = True" if method in _STREAMS else "every backend"
            raise TypeError(
                f"{backend.name} has no method {method}(), which {why} needs"
            )
    if unknown := sorted(set(backend.forms) - _FORMS):
        raise ValueError(
            f"{backend.name}: forms has {unknown}; the forms are {sorted(_FORMS)}"
        )


_registered: dict[str, Backend] = {}


def backend_of(device: Any) -> Backend:
    """The backend of a device. ValueError for one that ``register`` did not add."""
    name = pellucid.device(device).type
    if name not in _registered:
        raise ValueError(f"{name} is not a device that register() has added")
    return _registered[name]


def _pool_of(backend: Backend) -> tuple[int, int, int, int, bool, int]:
    """The pool that a backend asks for, checked."""
    if backend.pool not in _POOLS:
        raise ValueError(
            f"{backend.name}: pool must be one of {_POOLS}, not {backend.pool!r}"
        )
    alignment, padding, segment = backend.alignment, backend.padding, backend.segment
    color = backend.color
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise ValueError(
            f"{backend.name}: alignment must be a power of two, not {alignment!r}"
        )
    sizes = {"padding": padding, "segment": segment, "color": color}
    for name, value in sizes.items():
        if not isinstance(value, int) or value < 0:
            raise ValueError(
                f"{backend.name}: {name} must be a number of bytes, not {value!r}"
            )
    if color % alignment or (color and backend.pool not in ("best_fit", "first_fit")):
        raise ValueError(
            f"{backend.name}: color must be a multiple of the alignment, and the pool "
            f"'best_fit' or 'first_fit'; color={color}, alignment={alignment}, "
            f"pool={backend.pool!r}"
        )
    pool = _POOLS.index(backend.pool)
    return pool, alignment, padding, segment, backend.poison, color


def register_twin(name: str = "twin", count: int = 2) -> None:
    """Makes ``torch.device("twin")`` a device in the CPU's memory that ends the
    process, naming itself, when anything but its backend touches it."""
    _C._add_twin(name, count)
    _install(name)


def set_fallback(device: Any, policy: Policy) -> None:
    """What happens where a kernel is not launched and runs on the CPU: nothing
    (``"allow"``), a warning (``"warn"``), NotImplementedError (``"error"``)."""
    if policy not in _POLICIES:
        raise ValueError(f"policy must be one of {_POLICIES}, not {policy!r}")
    _C._set_fallback(device, _POLICIES.index(policy))


def counts(device: Any) -> dict[str, int]:
    """How many steps of plans and ops were ``launched``, and how many ran on the CPU
    (``fallbacks``), over all devices of the type."""
    launched, fallbacks = _C._backend_counts(device)
    return {"launched": launched, "fallbacks": fallbacks}


@contextmanager
def trace() -> Iterator[list[Event]]:
    """The steps that backends are offered within: op, form, device, outcome.

    Example::

        with torch.devices.trace() as log:
            model(x)
        print([event.op for event in log if event.outcome != "launched"])
    """
    from pellucid.devices.launching import LOGS

    log: list[Event] = []
    LOGS.append(log)
    _C._trace_launches(True)
    try:
        yield log
    finally:
        LOGS[:] = [other for other in LOGS if other is not log]
        _C._trace_launches(bool(LOGS))


def synchronize(device: Any) -> None:
    """Waits until all work on the device is done."""
    _C._synchronize_device(device)
