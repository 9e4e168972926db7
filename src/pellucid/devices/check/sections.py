"""The sections of the kit in order, and the run over them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

import pellucid as torch
from pellucid.devices import Backend
from pellucid.devices.check import behaviour, dtypes, memory, ops, training
from pellucid.devices.check.deadline import deadline
from pellucid.devices.check.place import Check, Mismatch, Place
from pellucid.devices.check.report import Report
from pellucid.devices.check.samples import Given
from pellucid.devices.check.watched import Watched, watched

SECTIONS: dict[str, Callable[[Given], Iterable[Check]]] = {
    "memory": lambda given: memory.CHECKS,
    "dtypes": lambda given: dtypes.DTYPE_CHECKS,
    "views": lambda given: dtypes.VIEW_CHECKS,
    "errors": lambda given: behaviour.ERRORS,
    "streams": lambda given: behaviour.STREAMS,
    "random": lambda given: behaviour.RANDOM,
    "serialization": lambda given: behaviour.FILES,
    "autograd": lambda given: training.CHECKS,
    "ops": ops.checks,
}


def run(
    backend: Backend | str,
    sections: Sequence[str] = tuple(SECTIONS),
    given: Given | None = None,
    timeout: float = 120.0,
) -> Report:
    """Checks a backend, which it registers, or a registered type by its name.

    ``sections`` are names of :data:`SECTIONS`; ``given`` has arguments for ops whose
    schemas do not tell what fits together. A check that lasts longer than ``timeout``
    seconds ends the process, as nothing else can end a backend that hangs. A backend
    with streams is run as it is; the memory of others is watched. The report is false
    where a check failed.

    Example::

        report = pellucid.devices.check.run(Ram(), ["memory"])
        print(report)
    """
    unknown = [name for name in sections if name not in SECTIONS]
    if unknown:
        raise ValueError(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    inner = None
    if not isinstance(backend, str):
        inner = None if backend.streams else watched(backend)
        torch.devices.register(inner or backend)
    name = backend if isinstance(backend, str) else backend.name
    launches = torch._C._backend_launches(name)
    place = Place(name, torch._C._device_count(name), not launches)
    report = Report(_described(place, inner))
    start, before = time.monotonic(), torch.devices.counts(name)["launched"]
    with torch.devices.trace() as log, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for section in sections:
            for check in SECTIONS[section](given or {}):
                title = (check.__doc__ or repr(check)).strip()
                with deadline(timeout, f"{name}, {section}: {title}", log):
                    _run(section, check, place, inner, report)
            report.host_steps.update(_reasons(log))
            log.clear()
    report.launched = torch.devices.counts(name)["launched"] - before
    report.seconds = time.monotonic() - start
    return report


def _described(place: Place, inner: Watched | None) -> str:
    does = "memory alone" if place.is_exact else "launches"
    if inner is not None and not place.is_exact:
        does += f" {', '.join(sorted(inner.forms))}"
    return f"{place.name}: {place.count} devices; {does}"


def _run(
    section: str, check: Check, place: Place, inner: Watched | None, report: Report
) -> None:
    title = (check.__doc__ or repr(check)).strip()
    reasons = []
    try:
        check(place)
    except Exception as error:
        kind = "" if isinstance(error, Mismatch) else f"{type(error).__name__}: "
        reasons.append(f"{kind}{error}")
    if inner is not None:
        reasons[:0] = inner.faults[:2]
        inner.faults.clear()
    if reasons:
        report.failed(section, title, "\n".join(reasons))
    else:
        report.passed(section)


def _reasons(log: Sequence[torch.devices.launching.Event]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for event in log:
        if event.outcome != "launched":
            why = event.outcome.removeprefix("host: ")
            if why == "not a kernel":
                why += f", {event.op}"
            found[why] = found.get(why, 0) + 1
    return found
