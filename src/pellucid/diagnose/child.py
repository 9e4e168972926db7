"""The child process of experiments: runs a script, original or patched, and reports.

``python -m pellucid.diagnose.child MODE RESULT PATCHED SCRIPT ...``: MODE "record"
gives a verdict, "time" seconds and the peak of memory, "values" which expressions
repeat others. ``import torch`` is this package, as under ``python -m pellucid.run``.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import json
import os
import resource
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from pellucid.diagnose.leaving import Leaving


def _use(patched: dict[str, str]) -> None:
    """Imports modules with patched files from the patched texts."""
    loader: Any = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, name: str) -> CodeType | None:
        path = self.get_filename(name)
        if path in patched:
            return compile(patched[path], path, "exec")
        return original(self, name)  # type: ignore[no-any-return]

    loader.get_code = get_code


def main_module(
    script: str, patched: dict[str, str], leaving: Leaving | None = None
) -> tuple[CodeType, ModuleType]:
    """A script's code and the module that it runs in; ``leaving`` keeps the variables
    of its functions.
    """
    path = os.path.abspath(script)
    source = patched.get(path) or Path(path).read_text(encoding="utf-8")
    module = ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    if leaving is None:
        code = compile(source, path, "exec")
    else:
        code = leaving.compiled(source, path)
        module.__dict__.update(leaving.names())
    sys.modules["__main__"] = module
    sys.path[0] = os.path.dirname(path)
    return code, module


def _preload(script: str, patched: dict[str, str]) -> None:
    """Imports what of this package and NumPy a script imports first: a gain is that of
    the program, however long its process takes to start.
    """
    path = os.path.abspath(script)
    source = patched.get(path) or Path(path).read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        names = [alias.name for alias in getattr(node, "names", ())]
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        elif not isinstance(node, ast.Import):
            continue
        for name in names:
            if name.partition(".")[0] in ("torch", "pellucid", "numpy"):
                exec(f"import {name}", {})


def _execute(code: CodeType, module: ModuleType) -> None:
    try:
        exec(code, module.__dict__)
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise


def timed(code: CodeType, module: ModuleType) -> str:
    """Seconds of a run, the peaks of its tensors' memory and of the process's, as JSON.
    Time without a core is caused by other programs and not counted.
    """
    from pellucid import _C
    from pellucid.diagnose.run_delay import Clock, run_delay

    before, clock = run_delay(), Clock()
    _execute(code, module)
    wall, without_core, _ = clock.read()
    peak = _C._memory_statistics()["peak_allocated_bytes"]
    away = before + without_core
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    measured = {"seconds": wall - without_core, "peak": peak, "resident": resident}
    return json.dumps({**measured, "away": away})


def recorded(code: CodeType, module: ModuleType, leaving: Leaving) -> str:
    """The report of a run, as `Report.unpickled` reads it."""
    from pellucid.diagnose.verdict import Recording, report_of

    recording = Recording()
    recording.start()
    leaving.start()
    try:
        _execute(code, module)
    finally:
        leaving.stop()
        facts = recording.stop([str(module.__file__)])
    return report_of(facts).pickled()


def valued(code: CodeType, module: ModuleType) -> str:
    """Which expressions of a rewritten program repeat others, as JSON."""
    import builtins

    from pellucid.diagnose.instrument import AGAIN
    from pellucid.diagnose.run_delay import run_delay
    from pellucid.diagnose.values import Enough, Values, answered

    values = Values()
    setattr(builtins, AGAIN, values.again)
    values.rows.watch()
    with contextlib.suppress(Enough):
        _execute(code, module)
    return json.dumps({**answered(values), "away": run_delay()})


_MODES = {"time": timed, "values": valued}  # besides "record"


def main() -> None:
    """See the module."""
    mode, result, texts, script, *arguments = sys.argv[1:]
    patched: dict[str, str] = json.loads(Path(texts).read_text())
    _use(patched)
    leaving = Leaving() if mode == "record" else None
    code, module = main_module(script, patched, leaving)
    sys.argv = [script, *arguments]
    from pellucid import run

    run.install()
    if mode == "time":
        _preload(script, patched)
    if leaving is None:
        found = _MODES[mode](code, module)
    else:
        found = recorded(code, module, leaving)
    Path(result).write_text(found)


if __name__ == "__main__":
    main()
