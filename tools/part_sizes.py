"""What a built file's bytes are for, and what made it grow since the build before.

``tools/build.py`` and ``tools/freeze.py`` print the sentences of ``report``; the sizes
of the last build are in ``build/sizes``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "build" / "sizes"
SHOWN = 4  # parts that grew
WORTH_SAYING = 1024  # bytes


def report(path: Path, parts: Mapping[str, int]) -> str:
    """One sentence on a file; ``parts``: the bytes of each thing in it, which are
    remembered for the next call.
    """
    record = FOLDER / f"{path.name}.json"
    before = json.loads(record.read_text()) if record.exists() else None
    FOLDER.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"": path.stat().st_size, **parts}))
    sentence = f"{path.name}: {shown(path.stat().st_size)}"
    if before is None:
        return sentence
    grown = {name: size - before.get(name, 0) for name, size in parts.items()}
    largest = sorted(grown.items(), key=lambda item: -item[1])[:SHOWN]
    named = [f"{n} {shown(more)}" for n, more in largest if more >= WORTH_SAYING]
    change = path.stat().st_size - before.pop("")
    if not named and abs(change) < WORTH_SAYING:
        return sentence
    sign = "+" if change >= 0 else "-"
    grew = f"; grew: {', '.join(named)}" if named else ""
    return f"{sentence} ({sign}{shown(abs(change))}{grew})"


def shown(size: int) -> str:
    return f"{size / 1e6:.2f} MB" if size >= 100_000 else f"{size / 1e3:.1f} KB"
