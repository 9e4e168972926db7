"""Runs a function in several processes that form a group, and processes in general.
After LIMIT seconds, processes that still run are aborted with their descendants and
print the stacks of their threads.

Ranks are forked from a process that has imported what they use, which saves most of
their time, except rank 0 and those with a variable that is read at import. So one rank
has another order of sets, another layout of memory and a whole interpreter's end.
"""

import atexit
import contextlib
import datetime
import faulthandler
import functools
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 150  # seconds: a loaded machine of two cores
PATIENCE = 30  # seconds for the others, once a process has failed

USED = (
    "pellucid.distributed.checkpoint",
    "pellucid.distributed.fsdp",
    "pellucid.distributed.tensor.parallel",
    "pytest",
)

READ_AT_IMPORT = {"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"}

# A rank in a process of its own.
PROGRAM = """
import sys
from tests.distributed.ranks import run_rank
run_rank(*sys.argv[1:4], *map(int, sys.argv[4:6]))
"""


def run_rank(module, functions, store, rank, size):
    """Calls each of the functions, whose names have commas between them, in a group."""
    import pellucid.distributed as dist

    called = importlib.import_module(module)
    limit = datetime.timedelta(seconds=60)
    for name in functions.split(","):
        dist.init_process_group(
            "gloo",
            store=dist.FileStore(f"{store}-{name}", -1),
            rank=rank,
            world_size=size,
            timeout=limit,
        )
        getattr(called, name)(rank, size)
        dist.destroy_process_group()
        _ended(store, name, rank).touch()


def _ended(store, name, rank):
    """A file that says that the rank came to the function's end."""
    return Path(f"{store}-{name}-{rank}-ended")


def _environment():
    return {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}


ENVIRONMENT = _environment()


@functools.cache
def _forks():
    """Forks from a process without threads that has imported Pellucid."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*USED])
    return context


def has_gloo():
    """Whether the system has Gloo with its headers."""
    folders = "/usr/include", "/usr/local/include"
    return any(os.path.exists(f"{folder}/gloo/context.h") for folder in folders)


class Started:
    """A process in its own session with files as outputs, so that it never waits for a
    reader.
    """

    def __init__(self, command, separates_errors=False, **environment):
        self._out = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._err = self._out
        if separates_errors:
            self._err = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONFAULTHANDLER": "1"} | environment,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )
        self.pid = self._process.pid

    @property
    def returncode(self):
        """The exit code; None while it runs."""
        return self._process.poll()

    def abort(self):
        """Aborts it and its descendants, which print their stacks."""
        pids = [pid for pid in _descendants(self.pid) if _send(pid, signal.SIGABRT)]
        end = time.monotonic() + 3
        while self.returncode is None and time.monotonic() < end:
            time.sleep(0.05)
        for pid in pids[1:]:
            _send(pid, signal.SIGKILL)
        self.kill()

    def kill(self):
        """Kills it and the rest of its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def outputs(self):
        """Its output: of both streams together, or of each."""
        return [_text(file) for file in dict.fromkeys((self._out, self._err))]

    def close(self):
        """Kills it and closes its files."""
        self.kill()
        self._out.close()
        self._err.close()


class Forked:
    """A rank like a ``Started`` one, forked."""

    def __init__(self, arguments, environment):
        self._out = tempfile.NamedTemporaryFile("w+", errors="replace")  # noqa: SIM115
        given = (self._out.name, environment, *arguments)
        self._process = _forks().Process(target=_forked_rank, args=given)
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self):
        """The exit code; None while it runs."""
        return self._process.exitcode

    abort = Started.abort

    def kill(self):
        """Kills it and the rest of its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()

    def outputs(self):
        """Its output."""
        return [_text(self._out)]

    def close(self):
        """Kills it and closes its file."""
        self.kill()
        self._process.close()
        self._out.close()


def _forked_rank(output, environment, *arguments):
    os.environ |= environment
    os.setsid()
    os.chdir(ROOT)
    file = os.open(output, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)
    faulthandler.enable()
    try:
        run_rank(*arguments)
    finally:
        atexit._run_exitfuncs()


def _text(file):
    file.seek(0)
    return file.read()


def _send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def _descendants(pid):
    """A process and its running descendants, the process first."""
    actual = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                actual += _descendants(int(child))
    return actual


def wait_for_all(processes, limit=LIMIT):
    """Waits until all have ended; returns those that had to be aborted."""
    end = time.monotonic() + limit
    running = list(processes)
    while running and time.monotonic() < end:
        time.sleep(0.005)
        ended = [process for process in running if process.returncode is not None]
        running = [process for process in running if process.returncode is None]
        if any(each.returncode not in (0, -signal.SIGKILL) for each in ended):
            end = min(end, time.monotonic() + PATIENCE)
    for process in running:
        process.abort()
    return running


def run_command(command, **environment):
    """A command's exit code, output and errors."""
    started = Started(command, separates_errors=True, **environment)
    try:
        late = wait_for_all([started])
        output, errors = started.outputs()
        assert not late, f"{command} did not end in time\n{output}\n{errors}"
        return subprocess.CompletedProcess(command, started.returncode, output, errors)
    finally:
        started.close()


def names_left(processes):
    """The shared memory that ended processes left by name. Other tests run at the same
    time and may use some, too.
    """
    own = tuple(f"pellucid_{process.pid}_" for process in processes)
    return [name for name in os.listdir("/dev/shm") if name.startswith(own)]


def run_all(commands, killed=(), **environment):
    """The outputs of commands that run together; all must succeed except those
    ``killed``, and leave no shared memory.
    """
    return _run_together(lambda each: Started(each, **environment), commands, killed)


def _run_together(start, calls, killed):
    started = []
    try:
        for call in calls:
            started.append(start(call))
        late = wait_for_all(started)
        outputs = [process.outputs()[0] for process in started]
        shown = "\n".join(f"rank {r}: {text}" for r, text in enumerate(outputs))
        pids = [process.pid for process in late]
        assert not late, f"processes {pids} did not end in time\n{shown}"
        for rank, process in enumerate(started):
            expected = -signal.SIGKILL if rank in killed else 0
            assert process.returncode == expected, shown
        assert names_left(started) == []
        return outputs
    finally:
        for process in started:
            process.close()


def run_ranks(functions, size, folder, *, killed=(), **environment):
    """The outputs of the ranks of ``function(rank, size)``, one or several that run one
    after the other; all ranks must succeed except those ``killed``.
    """
    functions = [functions] if callable(functions) else functions
    forks = _environment() == ENVIRONMENT and not READ_AT_IMPORT & environment.keys()
    names = [function.__name__ for function in functions]
    (module,) = {function.__module__ for function in functions}
    named = module, ",".join(names), str(folder / "store")

    def start(rank):
        if forks and rank > 0:
            return Forked((*named, rank, size), environment)
        arguments = (*named, str(rank), str(size))
        return Started([sys.executable, "-c", PROGRAM, *arguments], **environment)

    outputs = _run_together(start, range(size), killed)
    for rank in set(range(size)) - set(killed):
        for name in names[:-1]:  # the last may exit
            assert _ended(named[2], name, rank).exists(), f"rank {rank} left {name}"
    return outputs


def failures(items, run):
    """What fails in ``run(items)``, whose processes end at the first failure: the
    halves are run by others.
    """
    try:
        run(items)
    except AssertionError as error:
        text = str(error)
    else:
        return []
    middle = len(items) // 2
    halves = (items[:middle], items[middle:]) if middle else ()
    return [each for half in halves for each in failures(half, run)] or [text]


def exit_code_of(pid, seconds=30):
    """The exit code of a forked process, which is aborted after the limit."""
    ends = [(seconds, signal.SIGABRT), (seconds + 3, signal.SIGKILL)]
    began = time.monotonic()
    while (actual := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if ends and time.monotonic() > began + ends[0][0]:
            os.kill(pid, ends.pop(0)[1])
        time.sleep(0.01)
    return os.waitstatus_to_exitcode(actual[1])
