"""Questions about time, answered from the timeline's log of a run.

``explain.slow(fn, *args)``: what ran slowly in silence. ``explain.directions``: lines'
time forward and backward. ``explain.strides(t)``: what a layout costs.
``explain.loader(loader)``: where a batch's time goes. ``explain.device(fn, *args)``:
what a device's backend lacks.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import islice
from typing import Any

import pellucid as torch
from pellucid._tensor import Tensor
from pellucid.memory._peak import readable
from pellucid.profiler._timeline.log import Kind, Log, Session, Watch
from pellucid.profiler._timeline.makers import Makers
from pellucid.utils._pytree import tree_leaves

_MOST = 18  # lines of a list in an answer
_LINE = 64  # bytes that the processor reads at once
_REPEATS = 5


def _log_of(what: Watch, fn: Callable[..., Any], args: Any, kwargs: Any) -> Log:
    session = Session(what)
    session.start()
    try:
        fn(*args, **kwargs)
    finally:
        log = session.stop()
    return log


def explain_slow(fn: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """See `pellucid.explain.slow`."""
    log = _log_of(Watch.CALLS | Watch.LINES, fn, args, kwargs)
    lines = []
    rows: dict[str, list[float]] = defaultdict(list)
    for event in log.events:
        if event.kind is Kind.PREPARE:
            rows[f"{event.name} of a first call"].append(event.duration)
        elif event.kind is Kind.COLLECT:
            rows["garbage collection"].append(event.duration)
        elif event.kind is Kind.READ:
            rows[f"values read by Python ({event.name})"].append(event.duration)
        elif event.kind is Kind.CALL and event.name.endswith("contiguous"):
            rows["operands copied for their layout"].append(event.duration)
    for name, times in sorted(rows.items(), key=lambda row: -sum(row[1])):
        lines.append(f"{sum(times) / 1e6:10.3f} ms  {len(times):>5}x  {name}")
    cores, threads = len(os.sched_getaffinity(0)), torch.get_num_threads()
    if threads < cores:
        lines.append(f"{threads} of {cores} cores: torch.set_num_threads({cores})")
    if torch.is_anomaly_enabled():
        lines.append("anomaly mode is on: every gradient is checked for NaN")
    if torch.are_deterministic_algorithms_enabled():
        lines.append("use_deterministic_algorithms is on")
    wall = (log.end - log.begin) / 1e6
    calls = sum(event.kind is Kind.CALL for event in log.events)
    head = f"{wall:.3f} ms, {calls} calls; besides computing:"
    return "\n".join([head, *(lines[:_MOST] or ["nothing that is not said"])])


def explain_directions(fn: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """See `pellucid.explain.directions`."""
    fn(*args, **kwargs)
    log = _log_of(Watch.CALLS | Watch.LINES, fn, args, kwargs)
    forward: dict[str, float] = defaultdict(float)
    for event in log.events:
        line = log.user_line(event.line)
        if event.kind is not Kind.CALL or event.parent is not None or line is None:
            continue
        forward[str(line)] += event.duration
    backward: dict[str, float] = defaultdict(float)
    makers = Makers(log)
    for event in log.events_of(Kind.NODE):
        call = makers.call_of(event.sequence) if event.sequence >= 0 else None
        line = log.user_line(call.line) if call is not None else None
        if line is not None:
            backward[str(line)] += event.duration
    if not backward:
        return "no backward pass ran"
    ahead, back = sum(forward.values()), sum(backward.values())
    lines = [
        f"forward {ahead / 1e6:.3f} ms, backward {back / 1e6:.3f} ms: "
        f"{back / max(ahead, 1):.1f}x; a product has two gradients, so 2x is usual"
    ]
    ordered = sorted(forward, key=lambda place: -(forward[place] + backward[place]))
    for place in ordered[:_MOST]:
        there, back = forward[place], backward[place]
        ratio = f"{back / there:.1f}x" if there and back else ""
        lines.append(f"{there / 1e6:9.3f} {back / 1e6:9.3f} {ratio:>6}  {place}")
    return "\n".join(lines)


def _seconds(work: Callable[[], Any]) -> float:
    work()
    times = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def explain_strides(tensor: Tensor) -> str:
    """See `pellucid.explain.strides`."""
    size = tensor.element_size()
    inner = [
        (stride, extent)
        for stride, extent in zip(tensor.stride(), tensor.shape, strict=True)
        if extent > 1
    ]
    head = f"shape {list(tensor.shape)}, strides {list(tensor.stride())}: "
    if not inner or tensor.is_contiguous():
        return f"{head}contiguous; every byte of a line of memory is used"
    step = max(inner[-1][0], 1) * size
    used = f"1/{min(step // size, _LINE // size)}" if step > size else "all"
    plain = tensor.detach()
    dense = plain.contiguous()
    read, least = _seconds(plain.exp), _seconds(dense.exp)
    copy = _seconds(lambda: plain.clone(memory_format=torch.contiguous_format))
    saved = read - least
    if saved <= 0.05 * read:
        advice = "contiguous() gains nothing here"
    else:
        advice = f"contiguous() takes {copy * 1e6:.0f} us: pays after "
        advice += f"{max(1, -(-copy // saved)):.0f} reads"
    return (
        f"{head}along the last dimension {used} of every line of {_LINE} bytes is used"
        f"\na pass over it takes {read * 1e6:.0f} us, contiguous {least * 1e6:.0f} us"
        f"\n{advice}"
    )


def explain_loader(loader: Any, batches: int) -> str:
    """See `pellucid.explain.loader`."""
    dataset, collate = loader.dataset, loader.collate_fn
    if loader.batch_sampler is None or not hasattr(dataset, "__getitem__"):
        raise ValueError(
            "explain.loader: the loader has no batches of indices, so their parts "
            "cannot be taken apart\nexpected: a DataLoader of a dataset with "
            "__getitem__ and a batch_size"
        )
    parts = dict.fromkeys(("sampler", "dataset", "collate"), 0.0)
    sampler, count = iter(loader.batch_sampler), 0
    for _ in range(batches):
        moments = [time.perf_counter()]
        indices = next(sampler, None)
        if indices is None:
            break
        moments.append(time.perf_counter())
        samples = [dataset[k] for k in indices]
        moments.append(time.perf_counter())
        collate(samples)
        moments.append(time.perf_counter())
        for name, begin, end in zip(parts, moments, moments[1:], strict=False):
            parts[name] += end - begin
        count += 1
    lines = _taken(loader, count)
    lines.append("in this process, alone:")
    for name, seconds in sorted(parts.items(), key=lambda part: -part[1]):
        lines.append(f"{seconds / max(count, 1) * 1e3:10.3f} ms  {name}")
    slowest = max(parts, key=lambda name: parts[name])
    if slowest == "dataset":
        lines.append(
            f"most is {type(dataset).__name__}.__getitem__, a sample at a time"
        )
    return "\n".join(lines)


def _taken(loader: Any, count: int) -> list[str]:
    """What the timeline recorded of some batches, here and in the workers."""
    known = {child.pid for child in multiprocessing.active_children()}
    session = Session(Watch.CALLS)
    session.start()
    try:
        batches = iter(loader)
        begin = time.perf_counter()
        taken = list(islice(batches, count))
        whole = time.perf_counter() - begin
        children = {child.pid for child in multiprocessing.active_children()} - known
        private = [_private_bytes(pid) for pid in children]
        del batches
    finally:
        log = session.stop()
    number = max(len(taken), 1)
    lines = [
        f"{whole / number * 1e3:.3f} ms a batch, of {len(taken)}, with "
        f"{loader.num_workers} workers, the first included"
    ]
    if not private:
        return lines
    spent: dict[str, float] = defaultdict(float)
    for event in log.events_of(Kind.RANGE):
        where, _, stage = event.name.partition(": ")
        if where.startswith("DataLoader"):
            spent[f"{stage}, {'in a worker' if 'worker' in where else 'here'}"] += (
                event.duration
            )
    lines.append("in the workers, at the same time, and here:")
    for name, nanoseconds in sorted(spent.items(), key=lambda row: -row[1]):
        lines.append(f"{nanoseconds / number / 1e6:10.3f} ms  {name}")
    nbytes = sum(t.nbytes for t in tree_leaves(taken) if isinstance(t, Tensor))
    lines.append(
        f"a batch is copied once, {readable(nbytes // number)}, to shared memory; a "
        f"worker has {readable(sum(private) // len(private))} of its own"
    )
    return lines


def _private_bytes(process: int | None) -> int:
    """What a process has written, and so shares with no other."""
    with open(f"/proc/{process}/smaps_rollup") as file:
        rows = (line.split() for line in file if line.startswith("Private_Dirty"))
        return sum(int(row[1]) for row in rows) * 1024


def explain_device(fn: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """See `pellucid.explain.device`."""
    from pellucid import devices

    with devices.trace() as log:
        fn(*args, **kwargs)
    lacks: Counter[tuple[str, str]] = Counter()
    for event in log:
        if event.outcome.startswith("host: "):
            lacks[event.op, event.outcome.removeprefix("host: ")] += 1
    if not log:
        return "no step ran on a backend's device"
    if not lacks:
        return f"all {len(log)} steps ran on the device"
    lines = [f"{lacks.total()} of {len(log)} steps ran on the CPU instead:"]
    for (op, reason), count in lacks.most_common(_MOST):
        lines.append(f"{count:>5}x  {op}: {reason}")
    return "\n".join(lines)
