"""``build_db``: compares the ranks' calls, by group and number."""

from __future__ import annotations

import argparse
import ast
from typing import Any

from pellucid.distributed.flight_recorder.components.fr_logger import (
    FlightRecorderLogger,
)
from pellucid.distributed.flight_recorder.components.messages import (
    differing_messages,
    num_elements,
)
from pellucid.distributed.flight_recorder.components.types import (
    Collective,
    Database,
    Group,
    MatchInfo,
    MatchState,
    Membership,
    NCCLCall,
    Op,
    Traceback,
)

__all__ = ["build_db"]

logger = FlightRecorderLogger()

_Entries = dict[int, dict[str, Any]]  # of a call, by rank


def _groups(dumps: list[dict[str, Any]]) -> dict[str, tuple[str, list[int]]]:
    """The description and the ranks of each group by its name."""
    found: dict[str, tuple[str, list[int]]] = {}
    for dump in dumps:
        for given, facts in dump["pg_config"].items():
            name = given or "0"  # as the calls of PyTorch's default group say
            ranks = sorted(ast.literal_eval(str(facts["ranks"])))
            key = (
                name if found.get(name, ("", ranks))[1] == ranks else f"{name} {ranks}"
            )
            found[key] = str(facts["desc"]), ranks
    return found


def _of_group(
    dumps: list[dict[str, Any]], name: str, ranks: list[int]
) -> dict[int, _Entries]:
    """The collectives of a group by their number and rank."""
    calls: dict[int, _Entries] = {}
    for dump in dumps:
        if dump["rank"] not in ranks:
            continue
        for entry in dump["entries"]:
            if str(entry["process_group"][0]) == name and not entry["is_p2p"]:
                number = int(entry["collective_seq_id"])
                calls.setdefault(number, {})[dump["rank"]] = entry
    return calls


def _compared(entries: _Entries, is_complete: bool) -> MatchInfo | None:
    """How the ranks' calls differ; None: they do not. ``is_complete``: no rank's call
    is absent.
    """
    first, *others = sorted(entries)
    op = Op(entries[first])
    for rank in others:
        info = op.match(Op(entries[rank]))
        if info.state is not MatchState.FULLY_MATCHED:
            info.culprit = f"rank {rank} beside rank {first}: {info.culprit}"
            return info
    entered = sum(num_elements(each["input_sizes"]) for each in entries.values())
    left = sum(num_elements(each["output_sizes"]) for each in entries.values())
    if op.type.startswith("all_to_all") and is_complete and entered != left:
        return MatchInfo(
            MatchState.SIZE_OR_SYNTAX_MISMATCH,
            f"the ranks give {entered} elements and expect {left}",
        )
    return None


def _print_entries(dumps: list[dict[str, Any]], args: argparse.Namespace) -> None:
    for dump in dumps:
        if args.selected_ranks and dump["rank"] not in args.selected_ranks:
            continue
        logger.info("Rank %d", dump["rank"])
        for entry in dump["entries"]:
            if not args.pg_filters or {*entry["process_group"]} & {*args.pg_filters}:
                logger.info("  %s %s", Op(entry), entry["state"])


def _print_mismatch(call: Collective, entries: _Entries) -> None:
    where = f"collective {call.collective_seq_id} of group {call.pg_desc}"
    if call.missing_ranks:
        logger.info(
            "%s, %s: ranks %s did not call it",
            *(where, call.collective_name, sorted(call.missing_ranks)),
        )
    if call.type_of_mismatch is not None:
        logger.info("Collective mismatch at %s. %s", where, call.type_of_mismatch)
    for rank, entry in sorted(entries.items()):
        frames = entry.get("frames") or [{"filename": "no file", "line": 0}]
        line = f"{frames[0]['filename']}:{frames[0]['line']}"
        logger.info("  rank %d: %s, %s (%s)", rank, Op(entry), entry["state"], line)


def build_db(
    details: dict[str, dict[str, Any]], args: argparse.Namespace, version: str
) -> Database:
    """The tables of the dumps, whose mismatches are printed."""
    dumps = sorted(details.values(), key=lambda dump: int(dump["rank"]))
    if odd := [dump["rank"] for dump in dumps if str(dump["version"]) != version]:
        raise AssertionError(f"ranks {odd} have another version than {version}")
    known, present = _groups(dumps), {dump["rank"] for dump in dumps}
    expected = {rank for _, ranks in known.values() for rank in ranks}
    if (absent := sorted(expected - present)) and not args.allow_incomplete_ranks:
        raise AssertionError(
            f"there are no dumps of ranks {absent}; compare the others with "
            "--allow-incomplete-ranks"
        )
    tables = Database([], [], [], [], [])
    if args.just_print_entries:
        _print_entries(dumps, args)
        return tables
    num_found = 0
    for name, (desc, ranks) in known.items():
        tables.groups.append(Group(name, desc, len(ranks)))
        tables.memberships.extend(Membership(name, rank) for rank in ranks)
        calls = _of_group(dumps, name.split(" ")[0], ranks)
        # Earlier calls were forgotten by a rank whose buffer was full.
        kept = [min(n for n in calls if rank in calls[n]) for rank in ranks
                if any(rank in call for call in calls.values())]  # fmt: skip
        for number in sorted(n for n in calls if n >= max(kept)):
            entries = calls[number]
            missing = ({*ranks} & present) - entries.keys()
            call = _add(tables, name, desc, number, entries, {*ranks}, missing)
            if missing or call.type_of_mismatch:
                num_found += 1
                if num_found <= args.mismatch_cap:
                    _print_mismatch(call, entries)
        for line in differing_messages(dumps, name.split(" ")[0], ranks):
            num_found += 1
            if num_found <= args.mismatch_cap:
                logger.info("In group %s, %s", desc, line)
    compared = {name.split(" ")[0] for name in known}
    called = {str(e["process_group"][0]) for dump in dumps for e in dump["entries"]}
    if called - compared:
        logger.warning(
            "Calls of groups %s were not compared: no dump says which ranks they have",
            sorted(called - compared),
        )
    elif not num_found:
        logger.info("All collectives of %d ranks match", len(present))
    return tables


def _add(
    tables: Database,
    name: str,
    desc: str,
    number: int,
    entries: _Entries,
    ranks: set[int],
    missing: set[int],
) -> Collective:
    first = entries[min(entries)]
    made = Collective(
        *(len(tables.collectives), name, desc, number, first["profiling_name"]),
        *(first["state"], first["input_sizes"], first["output_sizes"], ranks, missing),
        *(first.get("frames", []), _compared(entries, ranks == entries.keys())),
    )
    tables.collectives.append(made)
    for rank, entry in sorted(entries.items()):
        place = len(tables.tracebacks)
        tables.tracebacks.append(Traceback(place, str(entry.get("frames", []))))
        tables.ncclcalls.append(
            NCCLCall(
                *(len(tables.ncclcalls), made.id, name, rank, place),
                *(entry["profiling_name"], entry["input_sizes"]),
            )
        )
    return made
