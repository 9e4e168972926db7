"""A kernel and a shape to LLVM text, for a GPU or for the emulator."""

from __future__ import annotations

from pellucid_compiler.codegen.kernel import (
    Block,
    Gemm,
    Kernel,
    Map,
    Nest,
    Reduce,
    Rows,
    Scan,
)
from pellucid_compiler.gpu.attention import emit_block
from pellucid_compiler.gpu.builder import GpuFunction, GpuModule, NvptxFunction
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.gpu.maps import emit_map
from pellucid_compiler.gpu.nests import emit_nest
from pellucid_compiler.gpu.products import emit_gemm
from pellucid_compiler.gpu.reductions import emit_reduce, emit_rows
from pellucid_compiler.gpu.scans import emit_scan

FORMS = frozenset({"map", "reduce", "rows", "scan", "nest", "gemm", "block"})
"""Those with a schedule."""

_MOST_SHARED = 48 << 10  # bytes of a block that every GPU has without being asked


def grid_module(
    kernel: Kernel,
    shape: Shape,
    printer: type[GpuFunction] = NvptxFunction,
    *,
    without_barrier: int = -1,
) -> GpuModule:
    """The kernel for one thread of a grid; NotImplementedError where no schedule
    takes it, or where it takes more shared memory than 48 KiB."""
    module = GpuModule(printer, without_barrier)
    form = kernel.form
    if isinstance(form, Map):
        emit_map(module, kernel, form, shape)
    elif isinstance(form, Reduce):
        emit_reduce(module, kernel, form, shape)
    elif isinstance(form, Rows):
        emit_rows(module, kernel, form, shape)
    elif isinstance(form, Scan):
        emit_scan(module, kernel, form, shape)
    elif isinstance(form, Nest):
        emit_nest(module, kernel, form, shape)
    elif isinstance(form, Gemm):
        emit_gemm(module, kernel, form, shape)
    elif isinstance(form, Block):
        emit_block(module, kernel, form, shape)
    else:
        raise NotImplementedError(f"{type(form).__name__} has no schedule for a grid")
    if module.shared_bytes > _MOST_SHARED:
        raise NotImplementedError(
            f"{type(form).__name__} takes {module.shared_bytes} bytes of shared memory "
            f"for {shape}; a block has {_MOST_SHARED}"
        )
    return module
