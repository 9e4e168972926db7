#!/usr/bin/env python3
"""Compares the tables of mistakes and of warnings with an installed PyTorch.

Development only: needs torch. The tables are ``tests/surface/mistakes.py`` (errors),
``message_parts.py`` (parts of their messages) and ``program_warnings.py``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "surface"))
from message_parts import MESSAGE_PARTS
from mistakes import MISTAKES
from program_warnings import ADVICE


def raised_by(program: str) -> Exception | None:
    """The error of a program."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    try:
        exec(program, names)
    except Exception as error:
        return error
    return None


def error_of(program: str) -> str:
    """The name of the error's type; empty if there is none."""
    raised = raised_by(program)
    return "" if raised is None else type(raised).__name__


def categories_of(program: str) -> str:
    """The categories of the program's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error_of(program)
    return ", ".join(warning.category.__name__ for warning in caught)


def main() -> int:
    """Prints the cases in which a table is wrong."""
    wrong = 0
    for program, category in ADVICE:  # first: some warnings are given once
        found = categories_of(program)
        if found != category:
            wrong += 1
            print(f"{program}\n  table: {category or 'none'}, PyTorch: {found}")
    warnings.simplefilter("ignore")
    cases = [case for group in MISTAKES.values() for case in group]
    for program, error in cases:
        found = error_of(program)
        if found != error:
            wrong += 1
            print(f"{program}\n  table: {error}, PyTorch: {found or 'no error'}")
    for program, part in MESSAGE_PARTS:
        found = str(raised_by(program))
        if part not in found:
            wrong += 1
            print(f"{program}\n  table: {part}, PyTorch: {found}")
    count = len(ADVICE) + len(cases) + len(MESSAGE_PARTS)
    print(f"{count - wrong} of {count} agree with PyTorch {torch.__version__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
