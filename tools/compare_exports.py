"""What programs are exported as here and by PyTorch: ``tools/compare_exports.py``.

Exports the programs of ``tests/export/programs.py`` with both packages, compares what
their nodes call, in order, and prints those that differ. ``--record`` writes PyTorch's
targets to ``tests/export/targets.json``, which ``tests/export/test_targets.py`` reads.
Needs torch.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.export.programs import PROGRAMS, targets_of

import pellucid

RECORDED = Path(__file__).resolve().parent.parent / "tests" / "export" / "targets.json"


def attempted(library: Any, name: str) -> list[str] | str:
    """The targets, or the error that the export ends in."""
    try:
        return targets_of(library, name)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:200]}"


def shown(found: list[str] | str) -> str:
    if isinstance(found, str):
        return found
    return " ".join(target.removeprefix("aten.") for target in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="*", help="of programs; all without")
    parser.add_argument("--record", action="store_true", help="write PyTorch's targets")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = chosen.name or list(PROGRAMS)
    reference: dict[str, list[str] | str] = {n: attempted(torch, n) for n in names}
    counts: Counter[str] = Counter()
    for name in names:
        theirs, own = reference[name], attempted(pellucid, name)
        if isinstance(theirs, str):
            counts["refused by PyTorch"] += 1
            print(f"{name}: PyTorch refuses it: {theirs}")
        elif own == theirs:
            counts["equal"] += 1
        else:
            counts["refused here" if isinstance(own, str) else "different"] += 1
            print(f"{name}\n    here: {shown(own)}\n    PyTorch: {shown(theirs)}")
    print(f"of {len(names)}: {dict(counts)}")
    if chosen.record:
        found = {n: t for n, t in reference.items() if isinstance(t, list)}
        recorded = {"torch": torch.__version__, "targets": found}
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
