"""Kernel to machine code: the compiler's front door.

``kernel_text`` chooses the schedule by the form and prints LLVM; ``compile_kernel``
returns the blob that packs and caches store. Called by ``cache.py`` and the run-time
compiler. Read next: ``kernel.py``, then ``schedules/map.py``.
"""

from __future__ import annotations

from pellucid_compiler.abi.status import definitions_file
from pellucid_compiler.codegen.builder import Module
from pellucid_compiler.codegen.checked import CheckedModule
from pellucid_compiler.codegen.kernel import Gemm, Kernel, Map, Nest, Reduce, Rows, Scan
from pellucid_compiler.codegen.schedules.gemm import emit_gemm
from pellucid_compiler.codegen.schedules.map import emit_map
from pellucid_compiler.codegen.schedules.nest import emit_nest
from pellucid_compiler.codegen.schedules.reduce import emit_reduce
from pellucid_compiler.codegen.schedules.rows import emit_rows
from pellucid_compiler.codegen.schedules.scan import emit_scan
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.pack.jit import compile_blob
from pellucid_compiler.pack.link import Blob


def kernel_text(kernel: Kernel, target: Target, *, checked: bool | None = None) -> str:
    """The LLVM assembly of a kernel; ``checked``: see ``checked.py``, whether the
    process asks for it by default. Then proved indices are checked too."""
    if checked is None:
        checked = definitions_file() is not None
    kind = CheckedModule if checked else Module
    module = kind(has_avx512=target.has_masks)
    if isinstance(kernel.form, Gemm):
        emit_gemm(module, kernel.inputs[0], kernel.outputs[0], target)
    elif isinstance(kernel.form, Map):
        emit_map(module, kernel, kernel.form, target)
    elif isinstance(kernel.form, Reduce):
        emit_reduce(module, kernel, kernel.form, target)
    elif isinstance(kernel.form, Rows):
        emit_rows(module, kernel, kernel.form, target)
    elif isinstance(kernel.form, Nest):
        emit_nest(module, kernel, kernel.form, target, checked=checked)
    elif isinstance(kernel.form, Scan):
        emit_scan(module, kernel, kernel.form, target)
    return module.text(target.attributes)


def compile_kernel(kernel: Kernel, target: Target) -> Blob:
    """The position-independent machine code of a kernel."""
    return compile_blob(kernel_text(kernel, target), target)
