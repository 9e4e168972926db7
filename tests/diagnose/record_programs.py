"""Records several programs in one process: ``record_programs.py RESULT SCRIPT ...``."""

import json
import sys
from pathlib import Path

from pellucid import run
from pellucid.diagnose.child import main_module, recorded


def main():
    result, *scripts = sys.argv[1:]
    run.install()
    found = {}
    for script in scripts:
        found[Path(script).stem] = json.loads(recorded(*main_module(script, {})))
    Path(result).write_text(json.dumps(found))


main()
