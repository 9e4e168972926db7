"""Kernel to machine code: the compiler's front door.

``kernel_text`` chooses the schedule by the form and prints LLVM; ``compile_kernel``
gives the blob that packs and caches hold. Called by ``pack.py``, ``cache.py`` and the
run-time compiler. Read next: ``kernel.py``, then ``schedules/map.py``.
"""

from __future__ import annotations

from pellucid.compiler.builder import Module
from pellucid.compiler.checked import CheckedModule
from pellucid.compiler.jit import compile_blob
from pellucid.compiler.kernel import Gemm, Kernel, Map, Nest, Reduce, Rows, Scan
from pellucid.compiler.link import Blob
from pellucid.compiler.schedules.gemm import emit_gemm
from pellucid.compiler.schedules.map import emit_map
from pellucid.compiler.schedules.nest import emit_nest
from pellucid.compiler.schedules.reduce import emit_reduce
from pellucid.compiler.schedules.rows import emit_rows
from pellucid.compiler.schedules.scan import emit_scan
from pellucid.compiler.status import definitions_file
from pellucid.compiler.targets.x86 import Target


def kernel_text(kernel: Kernel, target: Target, *, checked: bool | None = None) -> str:
    """The LLVM assembly of a kernel; ``checked``: see ``checked.py``, whether the
    process asks for it by default. Then proved indices are checked too."""
    if checked is None:
        checked = definitions_file() is not None
    kind = CheckedModule if checked else Module
    module = kind(has_avx512=target.has_masks)
    if isinstance(kernel.form, Gemm):
        emit_gemm(module, kernel.outputs[0], target)
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
