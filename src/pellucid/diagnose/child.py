"""The child process of experiments: runs a script, original or patched, and reports.

``python -m pellucid.diagnose.child SOCKET SCRIPT ...`` imports what the script imports
of this package, then forks for each request (`Program.run` sends them), so that a run
costs no start of an interpreter. The modes: "record" gives a verdict, "time" seconds
and the peak of memory, "values" which expressions repeat others. ``import torch`` is
this package, as under ``python -m pellucid.run``.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import json
import os
import resource
import signal
import socket
import sys
import time
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


def _preload(script: str) -> None:
    """Imports what of this package and NumPy a script imports first: a gain is that of
    the program, however long its process takes to start.
    """
    for node in ast.parse(Path(script).read_text(encoding="utf-8")).body:
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
    """Seconds of a run, also of the CPU, the peaks of its tensors' memory and of the
    process's, as JSON. Time without a core is caused by other programs, not counted.
    """
    from pellucid import _C
    from pellucid.diagnose.run_delay import Clock

    clock, cpu = Clock(), _cpu_seconds()
    _execute(code, module)
    wall, without_core, _ = clock.read()
    cpu = _cpu_seconds() - cpu
    peak = _C._memory_statistics()["peak_allocated_bytes"]
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    measured = {"seconds": wall - without_core, "cpu": cpu, "peak": peak}
    return json.dumps({**measured, "resident": resident})


def _cpu_seconds() -> float:
    """Of all threads of this process, and of the children that ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def recorded(code: CodeType, module: ModuleType, leaving: Leaving) -> str:
    """The report of a run, as `Report.unpickled` reads it."""
    from pellucid.diagnose.session import Full, Recording
    from pellucid.diagnose.verdict import report_of

    recording = Recording([str(module.__file__)], leaving)
    recording.start()
    try:
        with contextlib.suppress(Full):
            _execute(code, module)
    finally:
        facts = recording.stop()
    return report_of(facts).pickled()


def valued(code: CodeType, module: ModuleType, seconds: float) -> str:
    """Which expressions of a rewritten program repeat others, as JSON: what some
    seconds of the CPU show.
    """
    import builtins

    from pellucid.diagnose.instrument import AGAIN
    from pellucid.diagnose.values import Enough, Values, answered

    values = Values(seconds)
    setattr(builtins, AGAIN, values.again)
    values.rows.watch()
    with contextlib.suppress(Enough):
        _execute(code, module)
    return json.dumps(answered(values))


_POLL = 0.03  # seconds


def main() -> None:
    """See the module."""
    number, script, *arguments = sys.argv[1:]
    from pellucid import run

    run.install()
    with contextlib.suppress(Exception, SystemExit):  # the run itself reports it
        _preload(script)
    request = _next_request(socket.socket(fileno=int(number)))
    if request is not None:
        _answer(request, script, arguments)


def _next_request(channel: socket.socket) -> dict[str, Any] | None:
    """The request that this process, a fork, is to answer; None if there are no more.
    The requester learns what this process itself spent before it forked.
    """
    before = 0.0
    with channel, channel.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            request: dict[str, Any] = json.loads(line)
            spent, before = time.process_time() - before, time.process_time()
            process = os.fork()
            if not process:
                os.setsid()  # its own processes end with it
                return request
            status = _waited(process, request["limit"])
            reply = {"status": status, "spent": spent}
            print(json.dumps(reply), file=lines, flush=True)
    return None


def _waited(process: int, limit: float | None) -> int | None:
    """The exit status of a child; None if it took longer, and was ended."""
    end = float("inf") if limit is None else time.perf_counter() + limit
    done = 0
    try:
        while time.perf_counter() < end:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(_POLL)
        return None
    finally:
        if not done:  # also if this process is interrupted
            with contextlib.suppress(ProcessLookupError):  # it has no session yet
                os.killpg(process, signal.SIGKILL)
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _answer(request: dict[str, Any], script: str, arguments: list[str]) -> None:
    """Runs the script as a request asks, and writes what it prints and the result into
    the request's folder.
    """
    from pellucid.diagnose.run_delay import Clock

    folder, clock = Path(request["folder"]), Clock()
    for number, name in ((1, "output"), (2, "errors")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    mode, patched = request["mode"], request["patched"]
    _use(patched)
    leaving = Leaving() if mode == "record" else None
    code, module = main_module(script, patched, leaving)
    sys.argv = [script, *arguments]
    if leaving is not None:
        found = recorded(code, module, leaving)
    elif mode == "values":
        found = valued(code, module, request["seconds"])
    else:
        found = timed(code, module)
    wall, without_core, _ = clock.read()
    result = {"spent": wall - without_core, "found": found}
    (folder / "result").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
