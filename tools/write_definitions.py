#!/usr/bin/env python3
"""Writes the texts of all shipped kernels, for devices: ``definitions.bin``.

Called by ``build.py`` after ``freeze.py``, whose cache of traces it reads; separate
from it, because a change of ``freeze.py`` traces every op again.
"""

import sys

from freeze import BUILD, PACKAGE, TraceCache, freeze_catalogue, replace_file
from pellucid_compiler.devices.definitions import encode_definitions


def main() -> int:
    target, frozen = PACKAGE / "definitions.bin", PACKAGE / "frozen.bin"
    if target.exists() and target.stat().st_mtime >= frozen.stat().st_mtime:
        return 0
    kernels = freeze_catalogue(TraceCache(BUILD / "traces")).kernels
    replace_file(target, encode_definitions(kernels.values()))
    print(f"wrote the definitions of {len(kernels)} kernels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
