"""The reducer of DistributedDataParallel: averages gradients while backward runs.

A hook after each parameter's gradient decrements its bucket's count. A full bucket is
copied into memory that the ranks share, and its all_reduce starts on the group's
thread, in the order of the buckets. At the end of the pass the reducer waits and copies
the averages back into the gradients.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pellucid as torch
from pellucid import _C
from pellucid import distributed as dist
from pellucid.autograd import Variable
from pellucid.nn.parallel._buckets import (
    BUCKET,
    REDUCED,
    WAIT,
    Bucket,
    GradBucket,
    bytes_for,
    default_bytes,
    group_numbers,
    make_buckets,
)

Hook = Callable[[Any, GradBucket], Any]


class Reducer:
    """Reduces the gradients of one module's parameters."""

    def __init__(
        self,
        parameters: list[Any],
        names: list[str],
        group: Any,
        bucket_bytes: int | None,
        finds_unused: bool,
        keeps_views: bool,
    ) -> None:
        self.parameters, self._names, self._group = parameters, names, group
        self._finds_unused, self._keeps_views = finds_unused, keeps_views
        self.bucket_bytes = bucket_bytes or default_bytes(parameters)
        self._lock = threading.Lock()
        self.is_static = False
        self._expected: set[int] | None = None  # of a static graph
        self.hook: tuple[Any, Hook] | None = None
        self.divisor: float | None = None  # inside join: number of ranks with inputs
        self._is_armed = self._is_in_pass = False
        # Recorded in the first pass, if it is the same on all ranks.
        self._order: list[int] | None = None if finds_unused else []
        self._memory = _bytes(group, bytes_for(parameters), parameters[0].device)
        order = list(reversed(range(len(parameters))))
        self._set_buckets(group_numbers(parameters, order, self.bucket_bytes))
        for number, parameter in enumerate(parameters):
            parameter.register_post_accumulate_grad_hook(self._hook_of(number))

    def _set_buckets(self, groups: list[list[int]]) -> None:
        self.buckets = make_buckets(self.parameters, groups, self._memory)
        self._place = {
            number: (bucket, position)
            for bucket in self.buckets
            for position, number in enumerate(bucket.numbers)
        }

    # Before and in a pass

    def check_finished(self) -> None:
        """Raises if the last pass did not reach all parameters."""
        if not self._is_in_pass:
            return
        missing = sorted(n for bucket in self.buckets for n in bucket.missing)
        shown = ", ".join(self._names[number] for number in missing[:8])
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before "
            "starting a new one. This error indicates that your module has "
            f"parameters that were not used in producing loss, {len(missing)} in all: "
            f"{shown}. Pass find_unused_parameters=True to "
            "DistributedDataParallel, or let them take part in the loss"
        )

    def arm(self) -> None:
        """Prepares the next pass to reduce."""
        self.check_finished()
        if self._order and len(self._order) == len(self.parameters):
            self._regroup()
        self._is_armed = True

    def _regroup(self) -> None:
        """Rebuilds the buckets in the order of rank 0's first pass."""
        order = torch.tensor(self._order, device=self._group.object_device)
        dist.broadcast(order, group=self._group, group_src=0)
        self._order = None
        groups = group_numbers(self.parameters, order.tolist(), self.bucket_bytes)
        self._set_buckets(groups)
        if self._keeps_views:
            for parameter in self.parameters:
                if parameter.grad is not None:
                    parameter.grad = parameter.grad.clone()

    def _hook_of(self, number: int) -> Callable[[Any], None]:
        return lambda parameter: self._on_gradient(number)

    def _begin_pass(self) -> None:
        self._is_in_pass, self._next = True, 0
        self._used = [False] * len(self.parameters)
        expected = self._expected
        for bucket in self.buckets:
            numbers = set(bucket.numbers)
            bucket.missing = numbers if expected is None else numbers & expected
            bucket.result = None
        Variable._execution_engine.queue_callback(self._end_pass)

    def _on_gradient(self, number: int) -> None:
        if not self._is_armed:
            return
        with self._lock:
            if not self._is_in_pass:
                self._begin_pass()
            self._used[number] = True
            self._place[number][0].missing.discard(number)
            if self._order is not None and number not in self._order:
                self._order.append(number)
            if not self.is_static or self._expected is not None:
                self._start_full()

    def _start_full(self) -> None:
        while self._next < len(self.buckets):
            bucket = self.buckets[self._next]
            if bucket.missing:
                return
            self._start(bucket)
            self._next += 1

    def _start(self, bucket: Bucket) -> None:
        """Sends a bucket, as a range of the timeline."""
        name = f"{BUCKET} {bucket.index} {bucket.nbytes()}"
        token = _C._timeline_begin(name) if _C._timeline_is_on() else None
        try:
            self._send(bucket)
        finally:
            if token is not None:
                _C._timeline_end(token)
                _note_end(bucket)

    def _send(self, bucket: Bucket) -> None:
        with torch.no_grad():
            views, gradients = [], []
            for view, number in zip(bucket.views, bucket.numbers, strict=True):
                gradient = self.parameters[number].grad
                if not self._used[number] and self._expected is None:
                    gradient = gradient if self._holds_gradient(number) else None
                if gradient is None:
                    view.zero_()
                elif gradient is not view:
                    views.append(view)
                    gradients.append(gradient)
            if views:
                torch._foreach_copy_(views, gradients)
        is_last = bucket is self.buckets[-1]
        if self.hook is not None:
            state, hook = self.hook
            parameters = [self.parameters[number] for number in bucket.numbers]
            bucket.result = hook(state, GradBucket(bucket, parameters, is_last))
        else:
            op = dist.ReduceOp.AVG if self.divisor is None else dist.ReduceOp.SUM
            # Nothing is left to compute meanwhile: the last one runs on this thread.
            bucket.result = dist.all_reduce(
                bucket.flat, op, self._group, async_op=not is_last
            )

    def _holds_gradient(self, number: int) -> bool:
        """For an unused parameter: gradients accumulated in no_sync are reduced too."""
        return self.parameters[number].grad is not None and not self._keeps_views

    # After a pass

    def _end_pass(self) -> None:
        if not self._is_armed:
            return
        if self.is_static and self._expected is None:
            self._expected = {n for n, used in enumerate(self._used) if used}
        unused = [n for n, used in enumerate(self._used) if not used]
        if unused and not self._finds_unused and not self.is_static:
            return  # check_finished raises at the next forward
        anywhere = self._used
        for bucket in self.buckets[self._next :]:
            self._start(bucket)
        if self._finds_unused:  # on every rank after the buckets
            flags = torch.tensor(self._used, device=self._group.object_device)
            work = dist.all_reduce(flags, dist.ReduceOp.BOR, self._group, async_op=True)
        self._is_in_pass = self._is_armed = False
        token = _C._timeline_begin(WAIT)
        try:
            pending = [bucket.result for bucket in self.buckets]
            results = [None if work is None else work.wait() for work in pending]
        finally:
            _C._timeline_end(token)
        for bucket, result in zip(self.buckets, results, strict=True):
            self._finish(bucket, result)
        if self._finds_unused:
            assert work is not None
            work.wait()
            anywhere = flags.tolist()
        self._give_back(anywhere)

    def _finish(self, bucket: Bucket, result: Any) -> None:
        if self.hook is not None:
            found = result[0] if isinstance(result, (list, tuple)) else result
            if found.data_ptr() != bucket.flat.data_ptr():
                bucket.flat.copy_(found)
        elif self.divisor is not None:
            bucket.flat.div_(self.divisor)

    def _give_back(self, anywhere: list[bool]) -> None:
        targets, sources = [], []
        for bucket in self.buckets:
            for view, number in zip(bucket.views, bucket.numbers, strict=True):
                parameter = self.parameters[number]
                if not anywhere[number]:
                    continue
                if self._keeps_views:
                    parameter.grad = view
                elif parameter.grad is None:
                    parameter.grad = view.clone()
                else:
                    targets.append(parameter.grad)
                    sources.append(view)
        if targets:
            with torch.no_grad():
                torch._foreach_copy_(targets, sources)

    # For ranks without inputs (join)

    def shadow(self) -> None:
        """Takes part in one pass of the other ranks, with zeros."""
        if self._order and len(self._order) == len(self.parameters):
            self._regroup()
        self._used = [False] * len(self.parameters)
        for bucket in self.buckets:
            bucket.flat.zero_()
            op = dist.ReduceOp.AVG if self.divisor is None else dist.ReduceOp.SUM
            dist.all_reduce(bucket.flat, op, self._group)
        if self._finds_unused:
            flags = torch.tensor(self._used, device=self._group.object_device)
            dist.all_reduce(flags, dist.ReduceOp.BOR, self._group)


def _note_end(bucket: Bucket) -> None:
    """Records when a bucket that another thread reduces is reduced."""
    result = bucket.result
    future = result.get_future() if isinstance(result, dist.Work) else result
    if future is not None:
        name = f"{REDUCED} {bucket.index}"
        future.then(lambda _: _C._timeline_end(_C._timeline_begin(name)))


def _bytes(group: Any, nbytes: int, device: Any) -> Any:
    """Memory of a device; of the CPU, what the ranks share if they can."""
    allocate = getattr(group, "allocate_shared", None)
    if allocate is None or device.type != "cpu":
        return torch.zeros(nbytes, dtype=torch.uint8, device=device)
    return allocate(nbytes)
