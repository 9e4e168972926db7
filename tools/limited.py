#!/usr/bin/env python3
"""Runs a script that may take so many seconds, no more.

    python tools/limited.py SECONDS SCRIPT [arguments]

One that takes longer ends with status 1 and the stacks of all its threads: a deadlock
names itself. Tests have the same limit by pytest's options in pyproject.toml.
"""

import faulthandler
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True)
    sys.argv = sys.argv[2:]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
