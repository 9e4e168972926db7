"""Reads the dumps of ranks, ours and PyTorch's."""

from __future__ import annotations

import argparse
import os
import pickle
import re
from typing import Any

__all__ = ["read_dir", "read_dump"]

_NAME = re.compile(r"([\w\-]*?)(\d+)$")


def read_dump(prefix: str, filename: str) -> dict[str, Any]:
    """The dump of one rank, whose number follows the prefix in the file's name."""
    rank = int(os.path.basename(filename)[len(prefix) :])
    with open(filename, "rb") as file:
        found = pickle.load(file)
    named = {name: found[name] for name in ("entries", "version", "pg_config")}
    return {"host_name": f"host_rank{rank}", "rank": rank, **named}


def _prefix_of(files: list[str]) -> str:
    found = {match.group(1) for match in map(_NAME.search, files) if match}
    if len(found) != 1:
        raise ValueError(
            f"the names of the dumps begin with {sorted(found)}: choose by --prefix"
        )
    return found.pop()


def read_dir(args: argparse.Namespace) -> tuple[dict[str, dict[str, Any]], str]:
    """The dumps of a folder by their files' names, and their format's version."""
    if not os.path.isdir(args.trace_dir):
        raise AssertionError(f"folder {args.trace_dir} does not exist")
    files = sorted(os.listdir(args.trace_dir))
    prefix = _prefix_of(files) if args.prefix is None else args.prefix
    dumps = {
        name: read_dump(prefix, os.path.join(args.trace_dir, name))
        for name in files
        if name.startswith(prefix) and name[len(prefix) :].isdigit()
    }
    if not dumps:
        raise AssertionError(
            f"{args.trace_dir} has no dumps whose names begin with {prefix}"
        )
    return dumps, str(next(iter(dumps.values()))["version"])
