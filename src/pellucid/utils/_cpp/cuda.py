"""Compiles CUDA C++ for the emulator (``include/pellucid/cuda``).

The compiler's instrumentation for races calls a function before each access, and that
for alignment one before a wrong access; the header defines both: the sanitizers' own
libraries are not linked. Read next:
``pellucid/devices/cuda_kernels.py``, which launches.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pellucid
from pellucid.utils._cpp import build, headers
from pellucid.utils._cpp.cuda_sources import for_emulator

SOURCES = (".cu", ".cuh")
# CUDA's own headers, and PyTorch's for the host's part of a source.
_OF_DEVICE = """
    cuda.h cuda_bf16.h cuda_fp16.h cuda_runtime.h cuda_runtime_api.h
    device_launch_parameters.h vector_types.h
"""
_OF_HOST = """
    ATen/cuda/CUDAContext.h ATen/cuda/Exceptions.h c10/cuda/CUDAException.h
    c10/cuda/CUDAFunctions.h c10/cuda/CUDAGuard.h c10/cuda/CUDAStream.h
"""


@cache
def _names() -> Path:
    """The folder of headers with CUDA's names."""
    text = (
        '// CUDA C++ for the emulator.\n#pragma once\n#include "pellucid/cuda/{}.h"\n'
    )
    made = {name: text.format("launch") for name in _OF_DEVICE.split()}
    made |= {name: text.format("host") for name in _OF_HOST.split()}
    return headers.written(made)


def include_folder() -> Path:
    """The headers that GPUs' compilers can read, too."""
    return Path(pellucid.__file__).parent / "include"


def _flags() -> list[str]:
    flags = ["-O1", "-fPIC", "-pipe", "-fvisibility=hidden", "-ffp-contract=off"]
    # A variable in shared memory is a library's own, whatever another one calls its.
    unique = ["-fno-gnu-unique"] if build.is_gcc(build.compiler()) else []
    return [*flags, *unique, "-fsanitize=thread,alignment", "-fno-strict-aliasing"]


def _for_compiler(options: Sequence[str]) -> list[str]:
    """Those of nvcc's options that say what the source means."""
    return chosen(options, ("-D", "-U", "-I", "-std="))


def chosen(options: Sequence[str], starts: tuple[str, ...]) -> list[str]:
    """The options that start so. A value that is given apart is joined: ``-I x``."""
    joined: list[str] = []
    for option in options:
        if joined and joined[-1] in ("-D", "-U", "-I"):
            joined[-1] += option
        else:
            joined.append(option)
    return [option for option in joined if option.startswith(starts)]


def own_options(path: str, options: Sequence[str]) -> list[str]:
    """The options of a source, whose folder's headers it can include."""
    return [f"-I{Path(path).resolve().parent}", *options]


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = build.first_errors(done.stderr)
        raise RuntimeError(f"the C++ compiler refuses the kernel:\n{errors}")


def compiled_object(
    text: str, name: str, folder: Path, options: Sequence[str], with_host: bool
) -> Path:
    """The object of a source, compiled unless it is up to date. ``with_host``: the
    source may use PyTorch's names."""
    include = "host" if with_host else "launch"
    own = f'#include "pellucid/cuda/{include}.h"\n#line 1 "{name}.cu"\n'
    folders = [str(_names()), str(include_folder())]
    if with_host:
        folders += build.folders()[1:]
    given = [*_for_compiler(options), *(["-DWITH_CUDA"] if with_host else [])]
    standard = [] if any(o.startswith("-std=") for o in given) else [build.STANDARD]
    words = [*shlex.split(build.compiler()), *_flags(), *standard, *given]
    words += [f"-I{path}" for path in folders]
    text = own + for_emulator(text)
    digest = hashlib.sha256("\0".join([*words, text]).encode())
    for header in sorted((include_folder() / "pellucid").rglob("*.h")):
        digest.update(header.read_bytes())
    target = folder / f"{name}_{digest.hexdigest()[:16]}.o"
    if not target.exists():
        source = target.with_suffix(".cpp")
        source.write_text(text)
        part = target.with_suffix(f".{os.getpid()}.part")
        _run([*words, "-c", str(source), "-o", str(part)])
        os.replace(part, target)
    return target


def objects_of(
    sources: Sequence[str], folder: Path, options: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The sources in C++, and the objects of those in CUDA C++."""
    plain = [path for path in sources if not path.endswith(SOURCES)]
    made = []
    for path in sources:
        if path not in plain:
            build.require_file(path)
            text = Path(path).read_text()
            own = own_options(path, options)
            name = Path(path).stem
            made.append(str(compiled_object(text, name, folder, own, with_host=True)))
    return plain, made


def kernel_library(text: str, kernel: str, options: Sequence[str]) -> Path:
    """The library of a source's kernel, which ``PELLUCID_KERNEL`` exports."""
    folder = build.root_folder() / "cuda_kernels"
    folder.mkdir(parents=True, exist_ok=True)
    whole = f"{text}\nPELLUCID_KERNEL({kernel})\n"
    name = "".join(c if c.isalnum() else "_" for c in kernel)
    made = compiled_object(whole, name, folder, options, with_host=False)
    target = made.with_suffix(".so")
    if not target.exists():
        part = target.with_suffix(f".{os.getpid()}.part")
        link = [*shlex.split(build.compiler()), "-shared", str(made), "-o", str(part)]
        _run(link)
        os.replace(part, target)
    return target
