"""``JobConfig``: the command line of the analysis."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence

from pellucid.distributed.flight_recorder.components.fr_logger import (
    FlightRecorderLogger,
)

__all__ = ["JobConfig"]


class JobConfig:
    """The options, as PyTorch's."""

    def __init__(self) -> None:
        self.parser = argparse.ArgumentParser(
            description="Compares the dumps of ranks' flight recorders."
        )
        add = self.parser.add_argument
        add("trace_dir", nargs="?", help="a folder with a dump <prefix><rank> per rank")
        add("--selected-ranks", nargs="+", type=int, help="print these ranks' calls")
        add("--allow-incomplete-ranks", action="store_true",
            help="although some ranks have no dump")  # fmt: skip
        add("--pg-filters", nargs="+", help="print calls of these groups")
        add("-o", "--output", help="a file for the tables, pickled")
        add("-p", "--prefix", help="what the dumps' names begin with")
        add("-j", "--just_print_entries", action="store_true", help="print all calls")
        add("-v", "--verbose", action="store_true", help="print more")
        add("--print_stack_trace", action="store_true", help="print the calls' lines")
        add("--mismatch_cap", type=int, default=10, help="mismatches to print at most")

    def parse_args(self, args: Sequence[str] | None) -> argparse.Namespace:
        """The parsed command line."""
        found = self.parser.parse_args(args)
        for name in ("selected_ranks", "pg_filters"):
            if getattr(found, name) is not None and not found.just_print_entries:
                raise AssertionError(
                    f"--{name.replace('_', '-')} chooses what -j prints: give -j too"
                )
        if found.verbose:
            FlightRecorderLogger().set_log_level(logging.DEBUG)
        return found
