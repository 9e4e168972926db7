"""Starts programs on the stand-in driver: builds it, and runs kernels by the emulator.

``install()`` is called in a process of its own, before pellucid looks for GPUs.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_RUNNER = ctypes.CFUNCTYPE(
    *(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64)),
    *(ctypes.c_int, ctypes.POINTER(ctypes.c_uint)),
)
LAUNCH_FAILED = 719


def built(without: str = "") -> Path:
    """The driver; ``without`` a function."""
    flags = [f"-D{without}={without}_renamed"] if without else []
    return compiled(HERE / "standin_driver.cpp", *flags)


@functools.cache
def compiled(source: Path, *flags: str) -> Path:
    """A library, compiled once per source."""
    digest = sha256(source.read_bytes() + repr(flags).encode()).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"pellucid-{source.stem}-{digest}.so"
    if not library.exists():
        draft = library.with_suffix(f".{os.getpid()}")
        options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra"]
        command = ["g++", *options, *flags, str(source), "-o", str(draft)]
        subprocess.run(command, check=True)
        draft.rename(library)
    return library


def run_program(text: str, expected: int = 0, **options: object) -> str:
    """The output of a program on the stand-in, which ``options`` set up."""
    driver = options.pop("driver", built())
    settings = " ".join(f"{name}={value}" for name, value in options.items())
    done = subprocess.run(
        [sys.executable, "-c", f"{PRELUDE}\n{text}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={**os.environ, "STANDIN": settings, "PELLUCID_CUDA_DRIVER": str(driver)},
    )
    assert done.returncode == expected, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stdout


PRELUDE = """
import tempfile, os
os.environ.setdefault("PELLUCID_CACHE", tempfile.mkdtemp())
import pellucid as torch
from tests.cuda.standin import StandIn
driver = StandIn() if os.path.exists(os.environ["PELLUCID_CUDA_DRIVER"]) else None
"""


class StandIn:
    """The library as a test sees it."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ["PELLUCID_CUDA_DRIVER"])
        self.library.standin_log.restype = ctypes.c_char_p
        self.library.standin_fail.argtypes = [ctypes.c_char_p, *[ctypes.c_int] * 2]
        self.faults: list[str] = []
        self.order, self.fault_next = 0, False
        self._run = _RUNNER(self._kernel)  # kept: the library calls it
        self.library.standin_run_with(self._run)

    def log(self) -> list[str]:
        """The calls since the last time."""
        return self.library.standin_log().decode().splitlines()

    def fail(self, function: str, status: int, after: int = 0) -> None:
        """Makes a later call of a function fail."""
        self.library.standin_fail(function.encode(), status, after)

    def _kernel(self, label, words, num_words, grid):
        if self.fault_next:
            return LAUNCH_FAILED
        try:
            given = ctypes.string_at(words, 8 * num_words)
            self._launch(label.decode(), given, tuple(grid[:7]))
        except Exception as error:
            self.faults.append(f"{label.decode()}: {error!r}")
            return LAUNCH_FAILED
        return 0

    def _launch(self, label, words, grid):
        from pellucid import _C

        ranges = (ctypes.c_uint64 * 65536)()
        count = self.library.standin_ranges(ranges, len(ranges))
        places = ctypes.string_at(ranges, 8 * count)
        if label.startswith("// cuda "):
            CUDA_KERNELS[label.removeprefix("// cuda ")](grid, words, places)
            return
        code = _emulated(label)
        assert grid[1:3] + grid[4:] == (1, 1, 1, 1, 0)
        size = (grid[0], grid[3], code.shared_bytes, self.order)
        _C._run_grid(code.executable.address, words, places, *size)


USER_KERNELS: dict[str, Any] = {}
"""What gives the emulator's code of users' kernels, by their names."""
CUDA_KERNELS: dict[str, Any] = {}
"""What runs users' kernels in CUDA C++, by their names: called with the numbers of the
grid, the arguments and the ranges that they may access."""


@functools.cache
def _emulated(label: str):
    """The emulator's code of the kernel that the first line of its PTX names."""
    from pellucid.devices.emulated import compiled
    from pellucid.devices.launching import definition
    from pellucid_compiler.gpu.grid import Shape

    if label.startswith("// user "):
        return USER_KERNELS[label.removeprefix("// user ")]()
    _, kernel_id, axes, memory = label.split(" ")
    shape = Shape.of(tuple(map(int, axes.split(","))), tuple(memory.split(",")))
    kernel = definition(bytes.fromhex(kernel_id))
    return compiled(kernel, shape)
