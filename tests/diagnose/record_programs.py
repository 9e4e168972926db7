"""Records several programs in one process: ``record_programs.py RESULT SCRIPT ...``.

Their times are those of `clock.py`.
"""

import json
import sys
from pathlib import Path

import clock

from pellucid import run
from pellucid.diagnose.child import main_module

FADING = {"faulty_denormals": 100}  # number of calls until values are denormal


def recorded(script):
    """The report of a script, as the command's child process writes it."""
    code, module = main_module(script, {})
    report = clock.diagnosed(
        lambda: exec(code, module.__dict__), [script], FADING.get(Path(script).stem)
    )
    return json.loads(report.pickled())


def main():
    result, *scripts = sys.argv[1:]
    run.install()
    Path(result).write_text(json.dumps({name: recorded(name) for name in scripts}))


main()
