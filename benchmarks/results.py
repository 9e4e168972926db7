"""``results.json``: all measurements, with their machines and dates.

Each section is one measurement: its machine, its date, its versions and its values.
``compare.py --record`` writes the sections "compare" and "distributed",
``memory.py``, ``overrides.py`` and ``sizes.py`` their own, ``tools/aten_page.py`` the
section "aten"; nothing is entered by hand. ``tools/figures.py`` makes the tables of the
documents from all of them.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")


def read() -> dict[str, Any]:
    """All sections."""
    return json.loads(RESULTS.read_text())


def record(section: str, values: dict[str, Any], **how: Any) -> None:
    """Replace a section by ``values``; ``how`` describes the measurement."""
    sections = read() if RESULTS.exists() else {}
    sections[section] = {**this_machine(), **how, "values": values}
    RESULTS.write_text(
        json.dumps(sections, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    )


def this_machine() -> dict[str, Any]:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "torch": installed_version("torch"),
    }


def cpu_model() -> str:
    """The processor's name and model number: its generation."""
    facts: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        facts[key.strip()] = value.strip()
    numbers = f"family {facts['cpu family']}, model {facts['model']}"
    return f"{facts['model name']} ({numbers})"


def installed_version(name: str) -> str | None:
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None
