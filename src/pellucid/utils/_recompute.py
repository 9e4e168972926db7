"""Non-reentrant checkpoints: recompute saved tensors.

While a checkpointed function runs, a pack hook replaces every tensor that its ops save
by a placeholder. The first placeholder that backward unpacks reruns the function, and
the tensors that its ops then save fill the placeholders in the same order. Called by
``checkpoint.py``.

Checkpoints nest: a frame stores the function's arguments as saved tensors of a node, so
that an outer checkpoint's hooks replace them by placeholders too.
"""

from __future__ import annotations

import threading
import traceback
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import pellucid
from pellucid import _C, Tensor
from pellucid._tensor.copying import leaf_of
from pellucid.autograd import Function
from pellucid.autograd.graph import saved_tensors_hooks

__all__ = [
    "CheckpointError",
    "Frame",
    "GraphExecGroup",
    "StopRecomputation",
    "add_scope",
    "current_scopes",
    "remove_scope",
]


class CheckpointError(RuntimeError):
    """Raised if a recomputation differs from the first run."""


class StopRecomputation(Exception):
    """Raised to stop a recomputation early: everything needed has been recomputed."""


Scope = Callable[[bool], AbstractContextManager[Any]]


class _Scopes(threading.local):
    def __init__(self) -> None:
        self.entered: list[Scope] = []


_scopes = _Scopes()


def add_scope(scope: Scope) -> None:
    """Until ``remove_scope``: functions checkpointed now run again inside
    ``scope(differentiates)``, which restores what they see now. Gradients flow to what
    it restores if the new run is differentiated; else only its values matter.
    """
    _scopes.entered.append(scope)


def remove_scope(scope: Scope) -> None:
    """Ends ``add_scope``."""
    _scopes.entered.remove(scope)


def current_scopes() -> Scope:
    """What enters the scopes of this moment again; they are current in it, too."""
    return partial(_inside, list(dict.fromkeys(_scopes.entered)))


@contextmanager
def _inside(scopes: list[Scope], differentiates: bool) -> Iterator[None]:
    with ExitStack() as stack:
        for scope in scopes:
            stack.enter_context(scope(differentiates))
            add_scope(scope)
            stack.callback(remove_scope, scope)
        yield


class GraphExecGroup:
    """A scope whose backward passes share recomputed tensors.

    For several losses that are differentiated in turn, each through its own part of a
    checkpointed graph.
    """

    current: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup.current is not None:
            raise RuntimeError("GraphExecGroup scopes cannot be nested")
        GraphExecGroup.current = self
        return self

    def __exit__(self, *exception: object) -> None:
        GraphExecGroup.current = None


class _Placeholder:
    """The placeholder of one saved tensor; per backward pass the key of its new
    value.
    """

    def __init__(self) -> None:
        self.keys: dict[Any, _Key | None] = {}


class _Key:
    """Keeps one recomputed tensor alive until it is unpacked."""


class _SavedFacts(NamedTuple):
    """The metadata that is compared between both runs."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any


class _KeepArguments(Function):
    """A node whose saved tensors are the arguments of a checkpointed function."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return anchor.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("nothing depends on the anchor of a checkpoint")


_reads_outside_backward = count()


def _pass() -> Any:
    """The id of the running backward pass."""
    if GraphExecGroup.current is not None:
        return GraphExecGroup.current
    number = _C._current_graph_task_id()
    # Reading a node's saved tensors outside backward recomputes separately.
    return number if number != -1 else ("read", next(_reads_outside_backward))


class Frame:
    """One call of a checkpointed function."""

    def __init__(
        self,
        recompute: Callable[..., None],
        arguments: tuple[Any, ...],
        early_stop: bool,
        compare: bool,
        debug: bool,
    ) -> None:
        self.recompute = recompute
        self.early_stop = early_stop
        self.compare = compare
        self.debug = debug
        self.completed = False
        self.placeholders: list[weakref.ref[_Placeholder]] = []
        self.facts: list[_SavedFacts] = []
        self.traces: list[str] = []
        self.values: defaultdict[Any, weakref.WeakKeyDictionary[_Key, Tensor]] = (
            defaultdict(weakref.WeakKeyDictionary)
        )
        self.seen: dict[Any, list[_SavedFacts]] = {}
        self._keep(arguments)

    def _keep(self, arguments: tuple[Any, ...]) -> None:
        anchor = pellucid.empty(0, requires_grad=True)
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        others = [None if isinstance(a, Tensor) else a for a in arguments]
        places = [i for i, a in enumerate(arguments) if isinstance(a, Tensor)]
        self._keeper = _KeepArguments.apply(anchor, *tensors)

        def restored() -> list[Any]:
            result = list(others)
            saved = self._keeper.grad_fn.saved_tensors
            for place, tensor, given in zip(places, saved, needed, strict=True):
                result[place] = leaf_of(tensor, given)
            return result

        needed = [tensor.requires_grad for tensor in tensors]
        self.arguments = restored

    @property
    def records(self) -> bool:
        """Whether grad mode was on."""
        return self._keeper.grad_fn is not None

    def hooks(self) -> saved_tensors_hooks:
        """The scope of the function's first run."""
        return saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, tensor: Tensor) -> _Placeholder:
        placeholder = _Placeholder()
        self.placeholders.append(weakref.ref(placeholder))
        if self.compare:
            self.facts.append(_facts(tensor))
        if self.debug:
            self.traces.append(_trace())
        return placeholder

    def _unpack(self, placeholder: _Placeholder) -> Tensor:
        key = _pass()
        if key not in self.seen:
            self._run_again(key)
        if key not in placeholder.keys:
            raise CheckpointError(
                "the function did not save this tensor again when the checkpoint "
                "recomputed it: it must do the same work each time"
            )
        place = placeholder.keys[key]
        if place is None:
            raise CheckpointError(
                "a tensor of a checkpoint was unpacked a second time in one backward "
                "pass: read ctx.saved_tensors once, or use two passes"
            )
        placeholder.keys[key] = None
        return self.values[key][place]

    def _run_again(self, key: Any) -> None:
        self.seen[key] = []
        second = _SecondRun(self, key)
        arguments = self.arguments()
        try:
            with (
                saved_tensors_hooks(second.pack, lambda tensor: tensor),
                _C.enable_grad(),
            ):
                self.recompute(*arguments)
        except StopRecomputation:
            pass
        self._check(key)

    def _check(self, key: Any) -> None:
        if not self.compare:
            return
        seen = self.seen[key]
        if len(seen) != len(self.placeholders):
            raise CheckpointError(
                "a checkpointed function saved a different number of tensors when it "
                f"ran again: {len(seen)}, at first {len(self.placeholders)}.\n"
                "It must do the same each time; use determinism_check='none' if the "
                "difference does no harm"
            )
        for number, (first, again) in enumerate(zip(self.facts, seen, strict=True)):
            if first != again:
                raise CheckpointError(self._difference(number, first, again))

    def _difference(self, number: int, first: _SavedFacts, again: _SavedFacts) -> str:
        where = (
            f"\nThe first run saved it here:\n{self.traces[number]}"
            if self.debug
            else "\nPass debug=True to see where it was saved"
        )
        return (
            f"tensor {number} that a checkpointed function saved differs when it ran "
            f"again:\nfirst: {_described(first)}\nagain: {_described(again)}{where}"
        )


class _SecondRun:
    """The pack hook of a recomputation: fills the placeholders in order."""

    def __init__(self, frame: Frame, key: Any) -> None:
        # Weak: a graph that is recorded while recomputing must not keep the frame.
        self.frame, self.key = weakref.ref(frame), key

    def pack(self, tensor: Tensor) -> Tensor:
        frame = self.frame()
        assert frame is not None
        seen = frame.seen[self.key]
        number = len(seen)
        seen.append(_facts(tensor))
        if number < len(frame.placeholders):
            placeholder = frame.placeholders[number]()
            if placeholder is not None:
                place = placeholder.keys[self.key] = _Key()
                frame.values[self.key][place] = tensor.detach()
        if frame.early_stop and len(seen) == len(frame.placeholders):
            raise StopRecomputation
        return tensor.detach()


def _facts(tensor: Tensor) -> _SavedFacts:
    return _SavedFacts(tuple(tensor.shape), tensor.dtype, tensor.device)


def _described(facts: _SavedFacts) -> str:
    return f"shape {list(facts.shape)}, {facts.dtype}, on {facts.device}"


def _trace() -> str:
    frames = [f for f in traceback.extract_stack()[:-2] if f.filename != __file__]
    return "".join(traceback.format_list(frames[-3:])).rstrip()
