"""What the runtime calls when the frozen file lacks a key: trace, lower, encode.

The runtime (runtime/ops/trace.cpp) holds a reference to ``answer`` and calls it with
the interpreter lock held. Kernels that traced plans use are remembered, so that they
can be compiled when the runtime requests their code, at the first run of a plan. Where
thousands came since, it runs the kernel's tile program. The first answer imports the op
sources. Threads trace at once, for the state of a trace is the thread's. One compiles
at a time: LLVM's context is the process's.
Read next: specialise/answer.py.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pellucid import _C
from pellucid._C._runtime import stored_answers
from pellucid_compiler.ir.bounded import Bounded

if TYPE_CHECKING:
    from pellucid import Tensor
    from pellucid_compiler.codegen.kernel import Kernel
    from pellucid_compiler.ir.expr import Expr

GROUP: Final = "group"
"""What is asked where the request describes a group."""

_kernels: Bounded[bytes, Kernel] = Bounded(8192)
_compiling = [threading.RLock()]


def _renew_lock() -> None:
    """A forked process has not the thread that held the lock."""
    _compiling[0] = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def answer(what: str, request: bytes) -> bytes:
    """The encoded plan, pointwise function or derivative for ``request``, or what a
    stored group brought along (stored_answers.py).
    """
    return stored_answers.known_answer((what, request)) or _traced(what, request)


def _traced(what: str, request: bytes) -> bytes:
    """The answer, made now.

    With it come the tile programs of the kernels that it uses. RuntimeError for calls
    that no plan computes: complex numbers where real ones belong.
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.abi.encode import encode
    from pellucid_compiler.lower.registers import LoweringError
    from pellucid_compiler.lower.tile import encoded_programs, program_table
    from pellucid_compiler.specialise.answer import answer as traced

    kernels: dict[bytes, Kernel] = {}
    try:
        found = traced(what, request, kernels)
    except LoweringError as error:
        raise RuntimeError(
            f"this call cannot be computed: {error}.\n"
            "Give a number or tensor of another type, or compute it by other ops."
        ) from error
    _kernels.update(kernels)
    answered = encode([found, program_table(encoded_programs(kernels))])
    stored_answers.note_answer((what, request), answered, tuple(kernels))
    return answered


def answer_group(description: bytes) -> bytes:
    """The encoded kernel of a group of recorded ops, with its tile programs; of a group
    with an anchor, the op that it is.
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.abi.encode import encode
    from pellucid_compiler.lower.tile import encoded_programs, program_table
    from pellucid_compiler.specialise.anchored import is_anchored, lower_anchored
    from pellucid_compiler.specialise.answer import resolve
    from pellucid_compiler.specialise.groups import lower_group

    if is_anchored(description):
        return lower_anchored(description, resolve)

    kernels: dict[bytes, Kernel] = {}
    found = lower_group(description, kernels)
    _kernels.update(kernels)
    answered = encode([found, program_table(encoded_programs(kernels))])
    stored_answers.note_answer((GROUP, description), answered, tuple(kernels))
    return answered


def derivative_elements(name: str) -> tuple[Sequence[Expr], dict[str, int]] | None:
    """What a derivative op computes of one element of each operand, and which argument
    each of its numbers is; None if it is not pointwise.
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.ir.elements import element_bodies
    from pellucid_compiler.specialise.answer import resolve
    from pellucid_compiler.specialise.pointwise import PointwiseOp

    found = resolve(_C._derivative_origin(name), None)
    if not isinstance(found, PointwiseOp):
        return None
    return element_bodies(found.graph), found.number_arguments()


def run_routine(
    name: str, inputs: list[Tensor], outputs: list[Tensor], options: dict[str, object]
) -> None:
    """Fill ``outputs`` by what the library routine ``name`` means in NumPy, which
    brings LAPACK and pocketfft along. Overflow gives no warning.
    """
    from importlib.util import find_spec

    if find_spec("numpy") is None:
        raise RuntimeError(
            f"{name} runs by NumPy, which is not installed: pip install numpy"
        )
    import numpy

    import pellucid_compiler.catalogue  # noqa: F401 - fills the routines
    from pellucid_compiler.ir.primitives.library import ROUTINES

    arrays = [numpy.asarray(tensor._buffer(False)) for tensor in inputs]
    with numpy.errstate(all="ignore"):
        results = ROUTINES[name].evaluate(*arrays, **options)
        for output, result in zip(outputs, results, strict=True):
            numpy.asarray(output._buffer(False))[...] = result


def traced_kernel(kernel_id: bytes) -> Kernel | None:
    """A kernel that an answer of this process used; in checked mode any."""
    return _kernels.get(kernel_id) or _definitions().get(kernel_id)


@functools.cache
def _definitions() -> dict[bytes, Kernel]:
    """The kernels of the packs, which checked mode recompiles."""
    import pickle

    from pellucid_compiler.abi.status import definitions_file

    path = definitions_file()
    if path is None:
        return {}
    with open(path, "rb") as file:
        found: dict[bytes, Kernel] = pickle.load(file)
    return found


def kernel_code(kernel_id: bytes, level: str) -> tuple[bytes, int] | None:
    """Machine code of a traced kernel and the offset of its entry, for an ISA level.

    From the disk cache, or compiled and put there. None without llvmlite, and for
    kernels that no answer used: the runtime then runs their tile programs.
    """
    from importlib.util import find_spec

    code = stored_answers.known_code(kernel_id, level)
    if code is not None:
        return code
    kernel = traced_kernel(kernel_id) or _kernel_asked_again(kernel_id)
    if kernel is None or find_spec("llvmlite") is None:
        return None
    from pellucid_compiler.codegen.targets.x86 import target_named
    from pellucid_compiler.pack.cache import user_cache
    from pellucid_compiler.pack.kernel_pack import compile_kernels

    target = target_named(level)
    cache = user_cache(target)
    with _compiling[0]:
        blob = compile_kernels([kernel], target, processes=1, cache=cache)[kernel_id]
    stored_answers.note_code(kernel_id, level, (blob.code, blob.entry))
    return blob.code, blob.entry


def _kernel_asked_again(kernel_id: bytes) -> Kernel | None:
    """A kernel of a stored answer whose machine code was not stored."""
    question = stored_answers.question_of(kernel_id)
    if question is None:
        return None
    what, request = question
    answer_group(request) if what == GROUP else _traced(what, request)
    return _kernels.get(kernel_id)
