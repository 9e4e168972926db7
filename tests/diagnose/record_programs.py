"""Records programs in one process, by the clock of `clock.py`: reads the path of a
script a line, and writes its report, a line of JSON. What programs print is dropped.
"""

import gc
import os
import sys
from pathlib import Path

import clock

from pellucid import run
from pellucid.diagnose.child import main_module
from pellucid.diagnose.leaving import Leaving

FADING = {"faulty_denormals": 100}  # number of calls until values are denormal


def recorded(script):
    """The report of a script, as the command's child process writes it."""
    leaving = Leaving()
    code, module = main_module(script, {}, leaving)

    def work():
        leaving.start()
        exec(code, module.__dict__)
        leaving.stop()

    report = clock.diagnosed(work, [script], FADING.get(Path(script).stem))
    return report.pickled()


def main():
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    run.install()
    gc.freeze()  # no program is held by what exists before it
    for line in sys.stdin:
        print(recorded(line.rstrip("\n")), file=replies)


main()
