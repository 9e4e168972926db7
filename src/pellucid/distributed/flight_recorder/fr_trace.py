"""Compares the dumps of the ranks of a job: which collective did not match, and who was
not in it.

    python -m pellucid.distributed.flight_recorder.fr_trace FOLDER -p trace_rank_
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from pellucid.distributed.flight_recorder.components.builder import build_db
from pellucid.distributed.flight_recorder.components.config_manager import JobConfig
from pellucid.distributed.flight_recorder.components.loader import read_dir
from pellucid.distributed.flight_recorder.components.types import types

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Runs the analysis of a command line."""
    given = JobConfig().parse_args(args)
    if not given.trace_dir:
        raise AssertionError("give the folder of the dumps")
    dumps, version = read_dir(given)
    tables = build_db(dumps, given, version)
    if given.output:
        with open(given.output, "wb") as file:
            pickle.dump((types, tables), file)


if __name__ == "__main__":
    main()
