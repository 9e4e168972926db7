#!/usr/bin/env python3
"""Compares the table of mistakes with what an installed PyTorch raises.

Development only: needs torch. The table is ``tests/surface/mistakes.py``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "surface"))
from mistakes import MISTAKES


def error_of(program: str) -> str:
    """The name of the error's type; empty if there is none."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    try:
        exec(program, names)
    except Exception as error:
        return type(error).__name__
    return ""


def main() -> int:
    """Prints the cases in which the table is wrong."""
    warnings.simplefilter("ignore")
    wrong = 0
    cases = [case for group in MISTAKES.values() for case in group]
    for program, error in cases:
        found = error_of(program)
        if found != error:
            wrong += 1
            print(f"{program}\n  table: {error}, PyTorch: {found or 'no error'}")
    print(
        f"{len(cases) - wrong} of {len(cases)} agree with PyTorch {torch.__version__}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
