"""``torch._C._distributed_c10d``: the names that libraries import from there, and the
dumps of the flight recorder (``distributed/_group/flight.py``).
"""

from __future__ import annotations

import json
import pickle

from pellucid.distributed import FileStore as FileStore
from pellucid.distributed import HashStore as HashStore
from pellucid.distributed import TCPStore as TCPStore
from pellucid.distributed import distributed_c10d as _c10d
from pellucid.distributed._group.flight import dump
from pellucid.distributed._group.running import running_groups
from pellucid.distributed.distributed_c10d import *  # noqa: F403 - as torch has it

ProcessGroupGloo = _c10d.ProcessGroupGloo


def _dump_fr_trace(
    includeCollectives: bool = True,
    includeStackTraces: bool = True,
    onlyActive: bool = False,
) -> bytes:
    """The recorded calls and the groups of this process, pickled."""
    groups = running_groups()
    return pickle.dumps(
        dump(groups, includeCollectives, includeStackTraces, onlyActive)
    )


def _dump_fr_trace_json(
    includeCollectives: bool = True, onlyActive: bool = False
) -> bytes:
    """The same as JSON, without lines."""
    return json.dumps(
        dump(running_groups(), includeCollectives, False, onlyActive)
    ).encode()


_dump_nccl_trace, _dump_nccl_trace_json = _dump_fr_trace, _dump_fr_trace_json
