"""Collects information about the system, for bug reports.

``python -m torch.utils.collect_env`` prints it.

Nothing is sent anywhere. Programs that are not installed are skipped.
"""

from __future__ import annotations

import locale
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pellucid

_PACKAGES = re.compile(
    r"^(pellucid|numpy|mypy|flake8|optree|onnx|llvmlite|scipy-openblas32|ml.dtypes|.*torch.*)$"
)


class SystemEnv(NamedTuple):
    """PyTorch's fields; those without a value here are "N/A" or None."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    pip_version: str
    pip_packages: str
    cpu_info: str


def run(command: str | list[str]) -> tuple[int, str, str]:
    """The exit status of a command, its output and its errors."""
    is_line = isinstance(command, str)
    encoding = locale.getpreferredencoding()
    done = subprocess.run(
        command, shell=is_line, capture_output=True, encoding=encoding, errors="replace"
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def _version_of(program: str, pattern: str = r"version (.*)") -> str | None:
    """The output of ``program --version``; None if it is not installed."""
    if shutil.which(program) is None:
        return None
    found = re.search(pattern, run([program, "--version"])[1])
    return found[1] if found else None


def _operating_system() -> str:
    release = Path("/etc/os-release")
    lines = release.read_text().splitlines() if release.exists() else []
    facts = dict(line.split("=", 1) for line in lines if "=" in line)
    name = facts.get("PRETTY_NAME", platform.system()).strip('"')
    return f"{name} ({platform.machine()})"


def _packages() -> str:
    pairs = {d.metadata["Name"]: d.version for d in metadata.distributions()}
    chosen = (f"{n}=={v}" for n, v in pairs.items() if n and _PACKAGES.match(n))
    return "\n".join(sorted(chosen, key=str.lower))


def _cpu() -> str:
    if shutil.which("lscpu"):
        return run(["lscpu"])[1]
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def get_env_info() -> SystemEnv:
    """The facts, one by one."""
    libc = platform.libc_ver()
    bits = "64" if sys.maxsize > 2**32 else "32"
    return SystemEnv(
        torch_version=f"{pellucid.__version__} (Pellucid)",
        is_debug_build="False",
        cuda_compiled_version="None",
        gcc_version=_version_of("gcc", r"(.*)"),
        clang_version=_version_of("clang"),
        cmake_version=_version_of("cmake"),
        os=_operating_system(),
        libc_version="-".join(part for part in libc if part) or "N/A",
        python_version=f"{sys.version.splitlines()[0]} ({bits}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available=str(pellucid.cuda.is_available()),
        pip_version=f"pip{sys.version_info.major}",
        pip_packages=_packages(),
        cpu_info=_cpu(),
    )


def get_pretty_env_info() -> str:
    """The facts as the text of a report."""
    env = get_env_info()
    packages = "\n".join(f"[pip3] {line}" for line in env.pip_packages.splitlines())
    return f"""\
PyTorch version: {env.torch_version}
Is debug build: {env.is_debug_build}
CUDA used to build PyTorch: {env.cuda_compiled_version}

OS: {env.os}
GCC version: {env.gcc_version or "Could not collect"}
Clang version: {env.clang_version or "Could not collect"}
CMake version: {env.cmake_version or "Could not collect"}
Libc version: {env.libc_version}

Python version: {env.python_version}
Python platform: {env.python_platform}
Is CUDA available: {env.is_cuda_available}

CPU:
{env.cpu_info}

Versions of relevant libraries:
{packages}"""


def main() -> None:
    """Prints the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
