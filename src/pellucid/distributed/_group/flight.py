"""The flight recorder: the last calls of this process's groups, with the fields of
PyTorch's dumps, whose tools and ours (``distributed/flight_recorder``) read them.

Off unless TORCH_FR_BUFFER_SIZE is the number of calls to keep; the calls under way are
known always, then with the number of elements for a shape. If ranks do not agree or do
not come and TORCH_FR_DUMP_TEMP_FILE is set, each rank writes its dump to that path and
its number.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pellucid._tensor.dtype_names import TYPE_NAMES
from pellucid.distributed._group.whereabouts import user_frames
from pellucid.distributed._transport import codes

VERSION = "2.10"  # of PyTorch's format
_SCHEDULED, _STARTED, _COMPLETED = "scheduled", "started", "completed"
_WHOLE_INPUTS = codes.REDUCE_SCATTER, codes.SCATTER
_WHOLE_OUTPUTS = codes.ALL_GATHER, codes.GATHER


class Operands(NamedTuple):
    """The tensors that a program gave to a call."""

    inputs: Sequence[Any]
    outputs: Sequence[Any]


class Recorded:
    """One call, until it is forgotten."""

    def __init__(self, number: int, facts: dict[str, Any]) -> None:
        now = time.time_ns()
        self.facts = facts | {
            "record_id": number,
            "time_created_ns": now,
            "frames": user_frames(),
            "state": _SCHEDULED,
            "retired": False,
        }

    def start(self) -> None:
        """The call runs."""
        self.facts["state"] = _STARTED
        self.facts["time_discovered_started_ns"] = time.time_ns()

    def around(self, run: Callable[..., None]) -> Callable[..., None]:
        """``run``, recorded as started when it is called, which a queue may delay."""

        def started(*arguments: Any) -> None:
            self.start()
            run(*arguments)

        return started

    def complete(self) -> None:
        """The call has ended."""
        self.facts["state"] = _COMPLETED
        self.facts["time_discovered_completed_ns"] = time.time_ns()
        self.facts["retired"] = True


def facts_of(
    group: Any, call: Any, number: int, operands: Operands | None = None
) -> dict[str, Any]:
    """What a dump says of a collective, the group's ``number``-th."""
    kind, count, dtype, _, _ = call
    if operands is not None:
        made = _entry(group, codes.KINDS[kind], *map(_described, operands))
    elif kind == codes.BARRIER:
        made = _entry(group, codes.KINDS[kind], ([], []), ([], []))
    else:
        whole, names = [count * group.size()], [TYPE_NAMES[codes.DTYPES[dtype]]]
        given = [whole if kind in _WHOLE_INPUTS else [count]]
        taken = [whole if kind in _WHOLE_OUTPUTS else [count]]
        made = _entry(group, codes.KINDS[kind], (given, names), (taken, names))
    return made | {"collective_seq_id": number, "p2p_seq_id": 0, "is_p2p": False}


def _described(tensors: Sequence[Any]) -> tuple[list[list[int]], list[str]]:
    """The shapes of tensors, and their dtypes."""
    return [list(x.shape) for x in tensors], [TYPE_NAMES[x.dtype] for x in tensors]


def _entry(group: Any, name: str, given: Any, taken: Any) -> dict[str, Any]:
    """An entry, of shapes and dtypes that go in and come out."""
    return {
        "process_group": (group.group_name or "0", group.group_desc or "undefined"),
        "pg_id": 0,
        "op_id": 0,
        "profiling_name": f"{group.backend_name}:{name}",
        "input_sizes": given[0],
        "output_sizes": taken[0],
        "input_dtypes": given[1],
        "output_dtypes": taken[1],
        "timeout_ms": int(1000 * group._timeout),
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
    }


class FlightRecorder:
    """Keeps the last ``size`` calls."""

    def __init__(self, size: int) -> None:
        self.calls: deque[Recorded] = deque(maxlen=size)
        self._numbers = itertools.count()

    def collective(self, group: Any, call: Any, operands: Operands) -> Recorded:
        """Records a collective that is about to be queued or run."""
        group._num_recorded += 1
        return self._kept(facts_of(group, call, group._num_recorded, operands))

    def message(self, group: Any, tensor: Any, peer: int, is_send: bool) -> Recorded:
        """Records a send or receive that has been posted."""
        group._num_messages += 1
        arrow = f"{group.rank()}->{peer}" if is_send else f"{group.rank()}<-{peer}"
        name = f"{'send' if is_send else 'recv'} {arrow}"
        described = _described([tensor])
        made = self._kept(
            _entry(group, name, described, described)
            | {
                "collective_seq_id": group._num_recorded,
                "p2p_seq_id": group._num_messages,
                "is_p2p": True,
            }
        )
        made.start()
        return made

    def _kept(self, facts: dict[str, Any]) -> Recorded:
        made = Recorded(next(self._numbers), facts)
        self.calls.append(made)
        return made


def _buffer_size() -> int:
    value = os.environ.get("TORCH_FR_BUFFER_SIZE")
    return int(value or os.environ.get("TORCH_NCCL_TRACE_BUFFER_SIZE") or 0)


_size = _buffer_size()
recorder: FlightRecorder | None = FlightRecorder(_size) if _size else None


def dump(
    groups: Sequence[Any],
    include_collectives: bool = True,
    include_stack_traces: bool = True,
    only_active: bool = False,
) -> dict[str, Any]:
    """The recorded calls, oldest first, and the groups of this process."""
    entries = [] if recorder is None else [dict(each.facts) for each in recorder.calls]
    if recorder is None:
        entries = [each for each in map(_current, groups) if each is not None]
    status = {
        group.group_name or "0": {
            "last_enqueued_collective": group._num_recorded or group._queue.num_calls,
            "last_started_collective": group._queue.num_calls,
            "last_completed_collective": group.last_completed(),
        }
        for group in groups
    }
    if only_active:
        entries = [each for each in entries if each["state"] != _COMPLETED]
    if not include_stack_traces:
        entries = [each | {"frames": []} for each in entries]
    return {
        "version": VERSION,
        "pg_config": {
            group.group_name or "0": {
                "name": group.group_name or "0",
                "desc": group.group_desc or "undefined",
                "ranks": str(list(group._global_ranks)),
            }
            for group in groups
        },
        "pg_status": status,
        "entries": entries if include_collectives else [],
    }


def _current(group: Any) -> dict[str, Any] | None:
    """The group's call under way, as an entry."""
    if not group._queue.since or group._queue.last is None:
        return None
    made = Recorded(
        group._queue.num_calls,
        facts_of(group, group._queue.last, group._queue.num_calls),
    )
    made.start()
    return made.facts


def write_dump(rank: int, groups: Sequence[Any]) -> None:
    """Writes this process's dump, if the environment says where. An error of the file
    is a warning: what the dump is about matters more.
    """
    import pickle

    prefix = os.environ.get("TORCH_FR_DUMP_TEMP_FILE") or os.environ.get(
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"
    )
    if not prefix:
        return
    try:
        with open(f"{prefix}{rank}", "wb") as file:
            pickle.dump(dump(groups), file)
    except OSError as error:
        warnings.warn(f"the flight recorder's dump: {error}", stacklevel=2)
