"""Kernels for GPUs as the runtime asks for them: facts of a kernel, and its code.

``facts_of`` says how a launch becomes the arguments of a grid's kernel
(``runtime/cuda/grid_launch.h``), which the emulator shares. ``image_of`` is called once
per kernel, shape and GPU: PTX, compiled by the driver to a cubin that the user's cache
keeps. ``ptxas`` is not needed. Read next: ``pellucid_compiler/gpu/generate.py``.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import pellucid_compiler
from pellucid import _C
from pellucid.devices.launching import definition, moved_as
from pellucid_compiler.codegen.kernel import (
    Block,
    Kernel,
    Map,
    Nest,
    Reduce,
    RowAdd,
    Rows,
)
from pellucid_compiler.codegen.schedules.failures import failed_checks
from pellucid_compiler.codegen.schedules.map import failures_of
from pellucid_compiler.gpu.block_roles import columns_of_results
from pellucid_compiler.gpu.generate import grid_module
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.gpu.nvptx import ptx
from pellucid_compiler.ir.expr import load_fill
from pellucid_compiler.ir.traversal import walk
from pellucid_compiler.pack.cache import KernelCache, cache_folder
from pellucid_compiler.pack.link import Blob

FORMS = ("map", "reduce", "rows", "scan", "nest", "gemm", "block")  # as GridForm

Facts = tuple[int, int, int, int]
"""The number of the form, how many parameters there are, a bit for each output that
rows add to, and a bit for each class of a block along which results have columns."""


def grid_facts(kernel: Kernel) -> Facts:
    """What a launch's arguments depend on besides the launch."""
    form = kernel.form
    passes = form.passes if isinstance(form, Rows) else ()
    sums = sum(1 << item.output for item in passes if isinstance(item, RowAdd))
    name = type(form).__name__.lower()
    classes = columns_of_results(form) if isinstance(form, Block) else ()
    wide = sum(1 << cls for cls in classes)
    return FORMS.index(name), len(kernel.params), sums, wide


def facts_of(kernel_id: bytes) -> tuple[int, int, int, int, bool] | None:
    """``grid_facts`` of a kernel, and whether it may fail; None for an unknown one or a
    form without a schedule."""
    kernel = definition(kernel_id)
    if kernel is None or type(kernel.form).__name__.lower() not in FORMS:
        return None
    return *grid_facts(kernel), _can_fail(kernel.form)


def _can_fail(form: Any) -> bool:
    """Whether a kernel needs a status."""
    if isinstance(form, Map):
        return bool(failures_of(form))
    if isinstance(form, Reduce):
        return bool(failed_checks([form.value]))
    return isinstance(form, Nest) and _checks_indices(form)


def _checks_indices(form: Nest) -> bool:
    """Whether an index of a nest's operands was not proved to be in bounds; that of
    padded loads never is."""
    if len(form.proved) < sum(form.operand_ranks):
        return True
    roots = [e for store in form.stores for e in store.exprs]
    return any(e.op == "load" and load_fill(e) is not None for e in walk(*roots))


def image_of(
    kernel_id: bytes,
    axes: tuple[int, int, int, int, int],
    memory: tuple[str, ...],
    gpu: int,
) -> bytes:
    """A kernel's cubin for a GPU; empty where no schedule takes it."""
    kernel = definition(kernel_id)
    assert kernel is not None
    architecture, folder = _target(gpu)
    shape = Shape.of(axes, moved_as(memory, kernel))
    name = hashlib.sha256(f"{kernel.text}\0{shape}".encode()).digest()[:16]
    known = folder.get(name) if folder is not None else None
    if known is not None:
        return known.code
    try:
        text = grid_module(kernel, shape).printed()
    except NotImplementedError:
        return b""
    label = f"// {kernel_id.hex()} {','.join(map(str, axes))} {','.join(memory)}\n"
    made = _C._cuda_link(gpu, label + ptx(text, architecture))
    if folder is not None:
        folder.put(name, Blob(made, 0))
    return made


def architecture_of(gpu: int) -> str:
    """What PTX is printed for: sm_90a runs on 9.0 alone, sm_80 from 8.0 on."""
    facts = _C._cuda_properties(gpu)
    return "sm_90a" if (facts["major"], facts["minor"]) == (9, 0) else "sm_80"


@cache
def _target(gpu: int) -> tuple[str, KernelCache | None]:
    """The architecture to print PTX for, and the user's cache of its cubins."""
    facts = _C._cuda_properties(gpu)
    version = f"{facts['major']}{facts['minor']}"
    architecture = architecture_of(gpu)
    made_by = _digest_of_generators()
    made_by.update(f"{architecture} {_C._cuda_driver_version()}".encode())
    try:
        folder = KernelCache(cache_folder() / f"sm_{version}", made_by.digest())
    except OSError:
        folder = None
    return architecture, folder


def _digest_of_generators() -> hashlib._Hash:
    """Of the sources that determine a kernel's text."""
    root = Path(pellucid_compiler.__file__).parent
    digest = hashlib.sha256()
    for name in ("gpu", "codegen", "ir"):
        for source in sorted((root / name).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest
