"""The machine's peak rates, measured with our own kernels.

``machine()`` gives the rates that kernels reached: matrix products by dtype, divisions
and elementary functions in the L1 cache, bytes at working sets of each cache level and
of memory, what a call costs. It is measured once, which takes about a second, and
stored per processor, cores and ISA level. On a busy machine the better of the older and
the newer figure is used, and `Machine.is_busy` says so.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pellucid as torch

_SECONDS: Final = 0.04  # a probe's measurements take together
_SIZES: Final = {"L1": 1 << 13, "L2": 1 << 17, "L3": 1 << 21, "memory": 3 << 24}
_BUSY: Final = 0.9  # of the wall time that a thread is on the processor, at least
_CALLS: Final = 4  # of a probe, at least
_QUIET: Final = (
    0.5  # processes that run, for each thread, on a machine that is not busy
)
_VERSION: Final = 1


@dataclass(frozen=True)
class Machine:
    """Rates a second.

    ``products``: operations of float32, float64 and bfloat16 matrix products.
    ``division``, ``elementary``: elements of float32. ``bandwidth``: bytes read and
    written by `add` at a working set of ``capacity`` bytes, by level. ``call``: seconds
    of a small call. ``scaling``: how much faster a product is with all threads than
    with one. ``spread``: median over best time of the products, less one.
    """

    name: str
    threads: int
    products: dict[str, float]
    division: float
    elementary: float
    bandwidth: dict[str, float]
    capacity: dict[str, int]
    call: float
    scaling: float
    spread: float
    is_busy: bool

    def level(self, nbytes: int) -> str:
        """The smallest level that holds a working set."""
        fits = (name for name, size in self.capacity.items() if nbytes <= size)
        return next(fits, "memory")

    def move_time(self, nbytes: int) -> float:
        """Seconds to read and write so many distinct bytes, at the least."""
        return nbytes / self.bandwidth[self.level(nbytes)]

    def compute_time(self, operations: dict[str, int], dtype: str = "float32") -> float:
        """Seconds for operations by class, at the least."""
        peak = self.products.get(dtype, self.products["float32"])
        return (
            operations.get("arithmetic", 0) / peak
            + operations.get("division", 0) / self.division
            + operations.get("elementary", 0) / self.elementary
        )

    def __str__(self) -> str:
        peaks = ", ".join(f"{k} {v / 1e9:.0f}" for k, v in self.products.items())
        moved = ", ".join(f"{k} {v / 1e9:.0f}" for k, v in self.bandwidth.items())
        busy = "; other programs ran while it was measured" if self.is_busy else ""
        return (
            f"{self.name}, {self.threads} threads: products {peaks} GFLOP/s; "
            f"bytes {moved} GB/s; a call {self.call * 1e9:.0f} ns{busy}"
        )


def machine(refresh: bool = False) -> Machine:
    """This machine's rates, measured at the first call; ``refresh`` measures again and
    keeps what was better before, and so does a call on a quiet machine if the figures
    are of a busy one.

    Example: ``print(pellucid.diagnose.machine())``.
    """
    path = _file()
    known = _load(path)
    is_better_now = known is not None and known.is_busy and _is_quiet(known.threads)
    if known is not None and not refresh and not is_better_now:
        return known
    measured = _measure()
    if known is not None:
        measured = _better(known, measured)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(measured)))
    except OSError:
        pass  # it is measured again next time
    return measured


def raise_roof(found: Machine, kind: str, name: str, rate: float) -> Machine:
    """Raises a rate if a kernel was faster than it; ``kind``: "products" of a dtype or
    "bandwidth" of a level.
    """
    rates: dict[str, float] = getattr(found, kind)
    if rate <= rates.get(name, float("inf")):
        return found
    return Machine(**{**asdict(found), kind: {**rates, name: rate}})


def _is_quiet(threads: int) -> bool:
    return os.getloadavg()[0] < _QUIET * threads


def _file() -> Path:
    from pellucid_compiler.codegen.targets.x86 import host_target

    facts = [_VERSION, _processor(), torch.get_num_threads(), host_target().name]
    name = sha256(repr(facts).encode()).hexdigest()[:16]
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("PELLUCID_CACHE") or Path(base) / "pellucid")
    return folder / f"machine-{name}.json"


def _load(path: Path) -> Machine | None:
    try:
        return Machine(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _better(a: Machine, b: Machine) -> Machine:
    """The greater rates of two measurements."""
    first, second = asdict(a), asdict(b)
    merged: dict[str, Any] = {**second}
    for key in ("products", "bandwidth"):
        merged[key] = {k: max(v, second[key][k]) for k, v in first[key].items()}
    for key in ("division", "elementary", "scaling"):
        merged[key] = max(first[key], second[key])
    merged["call"] = min(a.call, b.call)
    return Machine(**merged)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = (line.split(":")[1] for line in lines if line[:10] == "model name")
            return next(names).strip()
    except (OSError, StopIteration, IndexError):
        return "unknown processor"


def _times(work: Callable[[], object]) -> list[float]:
    """Seconds of single calls, sorted: calls for _SECONDS, and _CALLS at least."""
    work()
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _CALLS or (time.perf_counter() < end and len(times) < 1000):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return sorted(times)


def _measure() -> Machine:
    threads = torch.get_num_threads()
    wall, cpu = time.perf_counter(), time.thread_time()
    with torch.no_grad():
        call = _call_time()
        products, spread = dict[str, float](), 0.0
        for name, times in _products():
            products[name] = 2 * 640**3 / times[0]
            spread = max(spread, times[len(times) // 2] / times[0] - 1)
        division, elementary = _rate(torch.reciprocal, call), _rate(torch.exp, call)
        on_processor = (time.thread_time() - cpu) / (time.perf_counter() - wall)
        bandwidth = {level: _bandwidth(size, call) for level, size in _SIZES.items()}
        scaling = _scaling(threads, products["float32"])
    return Machine(
        name=_processor(),
        threads=threads,
        products=products,
        division=division,
        elementary=elementary,
        bandwidth=bandwidth,
        capacity={name: size * 3 // 2 for name, size in _SIZES.items()},
        call=call,
        scaling=scaling,
        spread=spread,
        is_busy=on_processor < _BUSY or spread > 0.25,
    )


def _call_time() -> float:
    a, b = torch.ones(4), torch.ones(4)

    def calls() -> None:
        for _ in range(100):
            torch.add(a, b)

    return _times(calls)[0] / 100


def _products() -> Iterator[tuple[str, list[float]]]:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        a = torch.ones(640, 640, dtype=dtype)
        out = torch.empty_like(a)
        yield str(dtype)[6:], _times(lambda a=a, out=out: torch.mm(a, a, out=out))  # type: ignore[misc]


def _rate(function: Any, call: float) -> float:
    x = torch.linspace(0.5, 1.5, 4096)
    out = torch.empty_like(x)
    return 4096 / max(_times(lambda: function(x, out=out))[0] - call, 1e-9)


def _bandwidth(size: int, call: float) -> float:
    """Of ``out = a + b`` over three arrays of ``size`` bytes together."""
    count = size // 12
    a, b, out = torch.ones(count), torch.ones(count), torch.ones(count)
    seconds = _times(lambda: torch.add(a, b, out=out))[0]
    return 12 * count / max(seconds - call, 1e-9)


def _scaling(threads: int, all_threads: float) -> float:
    if threads == 1:
        return 1.0
    a = torch.ones(640, 640)
    out = torch.empty_like(a)
    torch.set_num_threads(1)
    try:
        alone = 2 * 640**3 / _times(lambda: torch.mm(a, a, out=out))[0]
    finally:
        torch.set_num_threads(threads)
    return all_threads / alone
