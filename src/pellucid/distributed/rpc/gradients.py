"""Contexts of distributed autograd: sent and received tensors, and the backward pass.

At the sender, the tensors of a message become roots of the context whose gradients
arrive later (`LateGradients` of the engine). At the receiver, a node sends the
gradients of all tensors of the message back together. Each worker runs one pass, which
waits for gradients when it has nothing else to run.

The worker that calls ``backward`` detects when all passes wait, by the algorithm of
Dijkstra and Scholten: the message that wakes a waiting worker is acknowledged when that
worker waits again and all its own messages are acknowledged; other messages are
acknowledged immediately. Messages without a gradient by then contribute to no root; the
latest of them, by a Lamport clock sent with every message, is marked as unused, until
none is left. Then all passes end.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from pellucid import _C, Tensor
from pellucid._tensor.copying import _rebuild_tensor
from pellucid.autograd import Function
from pellucid.distributed.rpc import wire
from pellucid.distributed.rpc.functions import async_execution
from pellucid.distributed.rpc.state import agent
from pellucid.distributed.rpc.workers import WorkerInfo
from pellucid.futures import Future

_COUNT_BITS = 48  # bits of a context's number; the bits above are the creating worker

Message = tuple[int, int]  # the sender's clock when it was sent; the sender
Gradients = Sequence[Tensor | None] | None  # of a message's tensors, or None


class Context:
    """One worker's part of a distributed pass."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lock = threading.Lock()
        self.workers: set[int] = set()  # workers with which messages were exchanged
        self.gradients: dict[Tensor, Tensor] = {}
        self.run: _Run | None = None
        self._clock = 0
        self._sent: dict[Message, list[Tensor]] = {}
        self._arrivals: dict[Message, _Arrival] = {}

    def __reduce__(self) -> Any:
        return known, (self.number,)

    def _context_id(self) -> int:
        """Its number."""
        return self.number

    def _known_worker_ids(self) -> set[int]:
        """The workers with which messages were exchanged."""
        return set(self.workers)

    def tick(self) -> Message:
        """The id of a new message."""
        with self.lock:
            self._clock += 1
            return self._clock, agent().own.id

    def leave(self, message: Message, tensor: Tensor, facts: Any) -> Any:
        """How to pickle a tensor that needs a gradient."""
        with self.lock:
            tensors = self._sent.setdefault(message, [])
            tensors.append(tensor)
        return _arrive, (self, message, len(tensors) - 1, facts)

    def arrive(self, message: Message, place: int, tensor: Tensor) -> Tensor:
        """A received tensor, whose gradient is sent back to the sender."""
        with self.lock:
            self._clock = max(self._clock, message[0])
            self.workers.add(message[1])
            arrival = self._arrivals.get(message)
            if arrival is None:
                arrival = self._arrivals[message] = _Arrival(self, message)
        result: Tensor = _Arrived.apply(arrival.together, tensor, arrival, place)
        return result

    def begin(self, roots: Sequence[Tensor], retain_graph: bool) -> _Run:
        """The pass of this worker, which has not started yet."""
        with self.lock:
            if self.run is not None:
                raise RuntimeError(f"context {self.number}: a backward pass runs")
            self.run = _Run(self, roots, dict(self._sent), retain_graph)
            return self.run

    def receive(self, message: Message, found: Gradients, retain_graph: bool) -> Future:
        """Passes gradients to the pass, which starts with the first; a Future of the
        acknowledgement."""
        with self.lock:
            run, is_new = self.run, self.run is None
            if run is None:
                run = self.run = _Run(self, (), dict(self._sent), retain_graph)
        answer = run.receive(message, found)
        if is_new:
            threading.Thread(target=run.settle, daemon=True, name="autograd").start()
        return answer


class _Run:
    """One worker's pass."""

    def __init__(
        self,
        context: Context,
        roots: Sequence[Tensor],
        sent: dict[Message, list[Tensor]],
        retain_graph: bool,
    ) -> None:
        self.context, self.retain_graph = context, retain_graph
        self.done = Future()
        self.missing = dict.fromkeys(sent)
        self.replies: deque[Future] = deque()  # acknowledgements of the pass's messages
        self.waker: Future | None = None  # acknowledges the waking message
        self.leads, self.is_over = bool(roots), False
        self._roots, self._sent = roots, sent
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ready: deque[tuple[int, Tensor | None]] = deque()
        places = itertools.accumulate((len(t) for t in sent.values()), initial=0)
        self._places = dict(zip(sent, places, strict=False))

    # Other threads

    def receive(self, message: Message | None, gradients: Any) -> Future:
        """Queues gradients, or None for the end; returns the acknowledgement's
        Future.
        """
        answer = Future()
        with self._lock:
            self._queue.put((message, gradients))
            if not self.leads and not self.is_over and self.waker is None:
                self.waker = answer
                return answer
        answer.set_result(None)
        return answer

    def fail(self, error: BaseException) -> None:
        """Ends a pass that waits."""
        self._queue.put((None, error))

    # The pass's own thread

    def settle(self) -> None:
        """Runs the pass; errors are reported to its waker and waiters."""
        try:
            self.run()
        except Exception as error:
            with self._lock:
                self.is_over = True
                waker, self.waker = self.waker, None
            for future in (waker, self.done):
                if future is not None:
                    future.set_exception(error)
        else:
            self.done.set_result(None)

    def run(self) -> None:
        """Gathers the gradients of this worker's leaves."""
        late = [tensor for tensors in self._sent.values() for tensor in tensors]
        leaves = list(_leaves([*self._roots, *late]))
        roots, given = self._roots, [None] * len(self._roots)
        try:
            with wire.recording(None):
                gradients = _C._run_backward(
                    roots, given, self.retain_graph, False, leaves, True, False,
                    late, self._next_gradient,
                )  # fmt: skip
        finally:
            self.context.run = None
        sums = self.context.gradients
        for leaf, gradient in zip(leaves, gradients, strict=True):
            if gradient is not None:
                sums[leaf] = sums[leaf] + gradient if leaf in sums else gradient

    def _next_gradient(self) -> tuple[int, Tensor | None] | None:
        """Called when the pass has nothing to run: the next gradient of a sent
        tensor.
        """
        while not self._ready:
            if self._queue.empty():
                self._wait_for_replies()
            if self._queue.empty() and self.leads and not self._give_up_latest():
                return None
            message, gradients = self._queue.get()
            if isinstance(gradients, BaseException):
                raise gradients
            if message is None:
                return None
            if message in self.missing:
                del self.missing[message]
                place, tensors = self._places[message], self._sent[message]
                known = dict(
                    enumerate(gradients or ())
                )  # without the last that have none
                for k in range(len(tensors)):
                    self._ready.append((place + k, known.get(k)))
        return self._ready.popleft()

    def _wait_for_replies(self) -> None:
        """Waits until all messages are acknowledged, then acknowledges the waking
        message.
        """
        while self.replies:
            self.replies.popleft().wait()
        with self._lock:
            if not self._queue.empty():
                return
            waker, self.waker = self.waker, None
        if waker is not None:
            waker.set_result(None)

    def _give_up_latest(self) -> bool:
        """Called when all passes wait: marks the latest message without gradients as
        unused. If there is none, ends all other passes.
        """
        number, own = self.context.number, agent().own.id
        latest_of = {own: max(self.missing, default=None)}
        others: deque[int] = deque(self.context.workers - {own})
        while others:
            worker = others.popleft()
            if worker in latest_of:
                continue
            asked = _call(agent().workers[worker], look, (number,))
            latest_of[worker], neighbours = asked.wait()
            others.extend(neighbours)
        latest = max(
            (message for message in latest_of.values() if message), default=None
        )
        if latest is None:
            ends = [
                _call(agent().workers[worker], finish, (number,))
                for worker in latest_of
                if worker != own
            ]
            for end in ends:
                end.wait()
            return False
        if latest[1] == own:
            self.receive(latest, None)
        else:
            arguments = number, latest, None, self.retain_graph
            _call(agent().workers[latest[1]], receive, arguments).wait()
            self._queue.put(((-1, -1), None))  # looks again
        return True


class _Arrival:
    """The received tensors of a message. Their nodes share one that sends all
    gradients.
    """

    def __init__(self, context: Context, message: Message) -> None:
        self.context, self.message = context, message
        self.gradients: dict[int, Tensor] = {}
        self.together: Tensor = _Together.apply(Tensor([]).requires_grad_(), self)

    def send_back(self) -> None:
        """Sends gradients to the tensors' sender; its acknowledgement is awaited
        later.
        """
        gradients, self.gradients = self.gradients, {}
        listed = [gradients.get(k) for k in range(max(gradients, default=-1) + 1)]
        run = self.context.run
        assert run is not None
        arguments = self.context.number, self.message, listed, run.retain_graph
        run.replies.append(_call(agent().workers[self.message[1]], receive, arguments))


class _Together(Function):
    """The node after the nodes of all tensors of a message."""

    @staticmethod
    def forward(ctx: Any, leaf: Tensor, arrival: _Arrival) -> Tensor:
        ctx.arrival = arrival
        return leaf.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        ctx.arrival.send_back()
        return None, None


class _Arrived(Function):
    """The identity; backward collects the gradient with those of its message."""

    @staticmethod
    def forward(
        ctx: Any, together: Tensor, tensor: Tensor, arrival: _Arrival, place: int
    ) -> Tensor:
        ctx.arrival, ctx.place = arrival, place
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        ctx.arrival.gradients[ctx.place] = gradient
        return None, None, None, None


def _leaves(roots: Sequence[Tensor]) -> Iterator[Tensor]:
    """The leaves that the roots depend on."""
    nodes = list({_C._gradient_edge(root)[0] for root in roots})
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            yield variable
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                nodes.append(following)


# ---------------------------------------------------------------- contexts of a worker

_contexts: dict[int, Context] = {}
_lock = threading.Lock()
_counts = itertools.count()


def new_context() -> Context:
    """Creates a context with a globally unique number and enters it in this thread."""
    if wire.recording_context() is not None:
        raise RuntimeError(
            "Already have an autograd context id for this thread: contexts do not nest"
        )
    context = known((agent().own.id << _COUNT_BITS) | next(_counts))
    wire.set_recording_context(context)
    return context


def known(number: int) -> Context:
    """The context of that number, which another worker may have made."""
    with _lock:
        context = _contexts.get(number)
        if context is None:
            context = _contexts[number] = Context(number)
        return context


def find(number: int) -> Context:
    """The context; RuntimeError if it has ended or does not exist."""
    context = _contexts.get(number)
    if context is None:
        raise RuntimeError(
            f"Could not find autograd context with id: {number}. "
            "It ends with its `with` block."
        )
    return context


def release(number: int) -> None:
    """Releases the context here and on the workers that its messages reached."""
    with _lock:
        context = _contexts.pop(number, None)
    if context is None:
        return
    if wire.recording_context() is context:
        wire.set_recording_context(None)
    run = context.run
    if run is not None:
        run.fail(RuntimeError(f"the autograd context {number} has ended"))
    current = agent()
    for worker in context.workers - {current.own.id}:
        with contextlib.suppress(RuntimeError):  # a worker that has ended
            _call(current.workers[worker], release, (number,))


def backward(number: int, roots: Sequence[Tensor], retain_graph: bool) -> None:
    """The pass over all workers, led by this one; errors of any of them are raised
    here.
    """
    context = find(number)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for root in roots:
        if not root.requires_grad:
            raise RuntimeError("requires_grad not set on root")
        if root.numel() != 1:
            raise RuntimeError(
                f"the root of shape {list(root.shape)} is not a scalar, all roots need "
                "to be scalar: reduce it first"
            )
    context.begin(roots, retain_graph).run()


# Remote calls on other workers for a context.


def _call(worker: WorkerInfo, function: Any, args: Any) -> Future:
    with wire.recording(None):
        return agent().call(worker, function, args, {})


def _arrive(context: Context, message: Message, place: int, facts: Any) -> Tensor:
    storage, dtype, offset, size, stride, _ = facts
    tensor = _rebuild_tensor(storage, dtype, offset, size, stride, False)
    return context.arrive(message, place, tensor)


@async_execution
def receive(number: int, message: Message, found: Gradients, retain: bool) -> Future:
    """Receives the gradients of tensors that this worker has sent."""
    return find(number).receive(message, found, retain)


def look(number: int) -> tuple[Message | None, set[int]]:
    """The latest message whose gradients are pending here, and the neighbours."""
    context = find(number)
    run = context.run
    missing = list(run.missing) if run is not None else []
    return max(missing, default=None), set(context.workers)


@async_execution
def finish(number: int) -> Future:
    """Ends the local pass, if one is running."""
    run = find(number).run
    if run is None:
        ended = Future()
        ended.set_result(None)
        return ended
    run.receive(None, None)
    return run.done
