"""``MemTracker``: bytes in use by role, now and at the peak, and when every module
begins, ends and is at its peak.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable
from copy import deepcopy
from enum import StrEnum
from typing import Any, Self

import pellucid as torch
from pellucid import _C, nn, optim
from pellucid.distributed._tools import _display
from pellucid.distributed._tools._ledger import TOTAL, Ledger, Snapshot
from pellucid.distributed._tools.mod_tracker import ModTracker
from pellucid.memory._live import address_of
from pellucid.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from pellucid.utils._pytree import tree_leaves
from pellucid.utils.weak import WeakTensorKeyDictionary

__all__ = ["MemTracker"]


class _RefType(StrEnum):
    """What memory is for."""


class _State(StrEnum):
    """When a snapshot of a module is taken."""


class _MemRefType(_RefType):
    """ACT: made in forward, or when a checkpoint reruns it. TEMP: made in backward.
    OTH: tensors given to ``track_external``.
    """

    PARAM = "Parameter"
    BUFFER = "Buffer"
    GRAD = "Gradient"
    ACT = "Activation"
    TEMP = "Temp"
    OPT = "Optstate"
    OTH = "Other"


class _ModState(_State):
    """AC: a forward that a checkpoint reruns in backward."""

    PRE_FW = "Pre-Forward"
    POST_FW = "Post-Forward"
    PEAK_FW = "Peak-Forward"
    PRE_BW = "Pre-Backward"
    PRE_FW_AC = "Pre-Forward-AC"
    POST_FW_AC = "Post-Forward-AC"
    POST_BW = "Post-Backward"
    PEAK_BW = "Peak-Backward"


class _ModMemStats:
    """The memory of a module: bytes of its parameters, buffers, inputs and outputs, and
    snapshots of all memory by state, one a call.
    """

    parameter_mem = buffer_mem = input_mem = output_mem = 0

    def __init__(self, mod_fqn: str) -> None:
        self.mod_fqn = mod_fqn
        self.local_peak: dict[torch.device, int] = {}
        self.snapshots: dict[_ModState, list[Snapshot]] = {}

    def _add(self, state: _ModState, snapshot: Snapshot) -> None:
        self.snapshots.setdefault(state, []).append(deepcopy(snapshot))

    def _begin_peak(self, state: _ModState, snapshot: Snapshot) -> None:
        self.local_peak = {device: sums[TOTAL] for device, sums in snapshot.items()}
        self._add(state, snapshot)

    def _raise_peak(self, state: _ModState, snapshot: Snapshot) -> None:
        for device, sums in snapshot.items():
            if state in self.snapshots and self.local_peak.get(device, 0) < sums[TOTAL]:
                self.local_peak[device] = sums[TOTAL]
                self.snapshots[state][-1][device] = dict(sums)


class MemTracker:
    """A context that tracks the memory of what is made in it, and of what is given to
    ``track_external`` before.

    ``memory_tracking`` has the statistics of each module that is called. Only host
    memory is tracked.

    Example::

        tracker = MemTracker()
        tracker.track_external(model, optimizer, x)
        with tracker:
            model(x).sum().backward()
            optimizer.step()
        tracker.display_snapshot("peak", units="MiB")
        tracker.display_modulewise_snapshots(depth=3, units="MiB")
    """

    def __init__(self) -> None:
        self.memory_tracking: weakref.WeakKeyDictionary[nn.Module, _ModMemStats] = (
            weakref.WeakKeyDictionary()
        )
        self._ledger = Ledger(_MemRefType)
        self._modules = ModTracker()
        self._peak: Snapshot = {}
        self._hooked: Any = WeakTensorKeyDictionary()
        self._handles: list[Any] = []
        self._given: dict[int, Any] = {}  # roles that the next cut sets, by address
        self._in_opt = self._in_backward = False  # since the last cut
        self._rerun: Any = None  # the outermost module that a checkpoint reruns
        self._depth = 0

    # What is tracked

    def track_external(self, *external: Any) -> None:
        """Tracks modules, optimizers and tensors that exist already."""
        self._cut()  # else the next cut sets the roles of what the scope has made
        for each in tree_leaves(external):
            if isinstance(each, torch.Tensor):
                self._ledger.note(each, _MemRefType.OTH)
            elif isinstance(each, nn.Module):
                self._note_module(each)
            elif isinstance(each, optim.Optimizer):
                self._note_states(each)
            elif each is not None:
                raise TypeError(
                    "track_external takes modules, optimizers and tensors, not a "
                    f"{type(each).__name__}"
                )

    def _note_module(self, module: nn.Module) -> tuple[int, int]:
        """The bytes of its parameters and buffers."""
        note, counts = self._ledger.note, [0, 0]
        for parameter in module.parameters():
            counts[0] += note(parameter, _MemRefType.PARAM)
            if parameter.grad is not None:
                note(parameter.grad, _MemRefType.GRAD)
        for buffer in module.buffers():
            counts[1] += note(buffer, _MemRefType.BUFFER)
        return counts[0], counts[1]

    def _hook_gradients(self, parameters: Iterable[Any]) -> None:
        """Gradients are known as such as soon as they are accumulated."""

        def note(parameter: Any) -> None:
            local = getattr(parameter.grad, "_local_tensor", parameter.grad)
            self._given[address_of(local)] = _MemRefType.GRAD

        for parameter in parameters:
            if parameter.requires_grad and parameter not in self._hooked:
                handle = parameter.register_post_accumulate_grad_hook(note)
                self._hooked[parameter] = handle

    def _note_states(self, optimizer: optim.Optimizer) -> None:
        for entry in optimizer.state.values():
            for value in entry.values():
                if isinstance(value, torch.Tensor):
                    self._ledger.note(value, _MemRefType.OPT)

    def _bytes_of(self, values: Any) -> int:
        tensors = [x for x in tree_leaves(values) if isinstance(x, torch.Tensor)]
        return sum(self._ledger.bytes_of(x) for x in tensors)

    # Cuts

    def _role_of(self, is_in_node: bool) -> _MemRefType:
        if self._in_opt:
            return _MemRefType.OPT
        in_backward = is_in_node or self._in_backward
        is_temporary = in_backward and self._rerun is None
        return _MemRefType.TEMP if is_temporary else _MemRefType.ACT

    def _cut(self, without: str = "") -> Snapshot:
        """The memory now; peaks until now are those of the running modules, except for
        one that begins.
        """
        given, self._given = self._given, {}
        highest = self._ledger.snapshot(self._ledger.cut(self._role_of, given))
        running = self._modules.parents - {without}
        state = _ModState.PEAK_BW if self._modules.is_bw else _ModState.PEAK_FW
        for stats in self.memory_tracking.values():
            if stats.mod_fqn in running:
                stats._raise_peak(state, highest)
        for device, sums in highest.items():
            if device not in self._peak or self._peak[device][TOTAL] < sums[TOTAL]:
                self._peak[device] = sums
        if self._modules.is_bw and not self._in_backward:
            _C._queue_callback(self._end_backward)
        self._in_backward = self._modules.is_bw
        return self._ledger.snapshot()

    def _end_backward(self) -> None:
        self._cut()
        self._in_backward = False

    def _pre_fw(self, module: nn.Module, inputs: Any) -> None:
        name = self._modules.get_known_fqn(module)
        assert name is not None
        self._cut(without=name)
        stats = self.memory_tracking.get(module)
        state = _ModState.PRE_FW
        if stats is None:
            stats = self.memory_tracking[module] = _ModMemStats(name)
            stats.parameter_mem, stats.buffer_mem = self._note_module(module)
            self._hook_gradients(module.parameters())
        elif self._modules.is_bw:
            state = _ModState.PRE_FW_AC
            self._rerun = self._rerun or weakref.ref(module)
        elif self._modules.parents == {"Global", name}:
            raise NotImplementedError(
                f"{name} has been tracked: call reset_mod_stats before another step"
            )
        snapshot = self._ledger.snapshot()
        if state is _ModState.PRE_FW:
            stats.mod_fqn, stats.input_mem = name, self._bytes_of(inputs)
            stats._begin_peak(_ModState.PEAK_FW, snapshot)
        stats._add(state, snapshot)

    def _post_fw(self, module: nn.Module, inputs: Any, output: Any) -> None:
        snapshot, stats = self._cut(), self.memory_tracking[module]
        if not self._modules.is_bw:
            if output is not None:  # the call did not raise
                stats.output_mem = self._bytes_of(output)
            stats._add(_ModState.POST_FW, snapshot)
            return
        stats._add(_ModState.POST_FW_AC, snapshot)
        if self._rerun is not None and self._rerun() is module:
            self._rerun = None

    def _pre_bw(self, module: nn.Module | None, gradients: Any) -> None:
        if (stats := self._stats_in_backward(module)) is not None:
            snapshot = self._cut(without=stats.mod_fqn)
            stats._begin_peak(_ModState.PEAK_BW, snapshot)
            stats._add(_ModState.PRE_BW, snapshot)

    def _post_bw(self, module: nn.Module | None, gradients: Any) -> None:
        if (stats := self._stats_in_backward(module)) is not None:
            stats._add(_ModState.POST_BW, self._cut())

    def _stats_in_backward(self, module: nn.Module | None) -> _ModMemStats | None:
        if module is None:
            warnings.warn("a module was deleted before its backward", stacklevel=2)
            return None
        return self.memory_tracking.get(module)

    def _begin_step(self, *_: Any) -> None:
        self._cut()
        self._in_opt = True

    def _end_step(self, optimizer: optim.Optimizer, *_: Any) -> None:
        self._cut()
        self._note_states(optimizer)
        self._in_opt = False

    def __enter__(self) -> Self:
        self._depth += 1
        if self._depth > 1:
            return self
        self._modules.register_user_hooks(
            self._pre_fw, self._post_fw, self._pre_bw, self._post_bw
        )
        self._handles = [
            register_optimizer_step_pre_hook(self._begin_step),
            register_optimizer_step_post_hook(self._end_step),
        ]
        self._in_opt = self._in_backward = False  # also if an exception left the scope
        self._rerun, self._given = None, {}
        self._peak = self._ledger.snapshot()
        self._modules.__enter__()
        self._ledger.begin()
        return self

    def __exit__(self, *args: Any) -> None:
        self._depth -= 1
        if self._depth:
            return
        self._cut()
        self._ledger.end()
        self._modules.__exit__(*args)
        self._modules.clear_user_hooks()
        for handle in (*self._handles, *self._hooked.values()):
            handle.remove()
        self._handles.clear()
        self._hooked.clear()

    # What is found

    def get_tracker_snapshot(self, type: str = "current") -> Snapshot:
        """Bytes by device and role, "current" or at the "peak"."""
        if type not in ("current", "peak"):
            raise ValueError(f'a snapshot is "current" or "peak", not {type!r}')
        current = self._cut()
        return current if type == "current" else deepcopy(self._peak)

    def display_snapshot(
        self, type: str = "current", units: str = "B", tabulate: bool = False
    ) -> None:
        """Prints a snapshot in "B", "KiB", "MiB" or "GiB", also as a table."""
        _display.print_snapshot(self.get_tracker_snapshot(type), units, tabulate)

    def display_modulewise_snapshots(
        self, depth: int = 2, units: str = "B", tabulate: bool = False
    ) -> None:
        """Prints the snapshots of modules that are at most so deep."""
        listed = list(self.memory_tracking.values())
        for stats in sorted(listed, key=lambda each: _display.by_number(each.mod_fqn)):
            if stats.mod_fqn.count(".") < depth:
                print(f"Module:  {stats.mod_fqn}")
                _display.print_states(stats.snapshots, units, tabulate)

    def reset_mod_stats(self) -> None:
        """Forgets the statistics of modules: another step may begin."""
        self.memory_tracking.clear()
