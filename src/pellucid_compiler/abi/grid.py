"""What GPU kernels receive besides their arguments when they run on the CPU.

``headers.py`` writes runtime/device/grid_machine.h from this; gpu/builder.py prints
kernels that read ``MACHINE`` at ``OFFSETS``. The kinds of accesses are in ``codes.py``.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Member(NamedTuple):
    """A word of the table."""

    name: str
    cpp: str
    meaning: str = ""


_SELF = "GridMachine*"
MACHINE: Final = (
    Member("thread", "int64_t thread", "its number in its block"),
    Member("block", "int64_t block"),
    Member("blocks", "int64_t blocks"),
    Member("barrier", f"void (*barrier)({_SELF})"),
    Member(
        "shuffle",
        f"uint64_t (*shuffle)({_SELF}, uint64_t word, int64_t mask)",
        "the word of the lane whose number differs in `mask`",
    ),
    Member(
        "touch",
        f"void (*touch)({_SELF}, char* address, int64_t nbytes, int64_t access)",
        "called before an access",
    ),
    Member("shared", "char* shared", "the block's shared memory"),
    # The next ones are used by CUDA C++ (include/pellucid/cuda).
    Member(
        "gather",
        f"uint32_t (*gather)({_SELF}, const char* function, uint64_t word, "
        "uint32_t lanes, bool orders, uint64_t* words)",
        "the words of `lanes`, which all call it in one function; `orders` accesses of "
        "shared memory; returns the lanes that are there",
    ),
    Member(
        "update",
        f"void (*update)({_SELF}, char* address, int64_t nbytes)",
        "called before an atomic in shared memory",
    ),
    Member("fail", f"void (*fail)({_SELF}, const char* what)", "ends the run"),
    Member(
        "copy",
        f"void (*copy)({_SELF}, char* to, const char* from, int64_t nbytes,"
        " int64_t used)",
        "starts a copy to shared memory; bytes from `used` on become zeros",
    ),
    Member("wait_copies", f"void (*wait_copies)({_SELF})", "ends the thread's copies"),
    Member(
        "load_matrices",
        f"void (*load_matrices)({_SELF}, char* row, uint32_t* words,"
        " int64_t transposed)",
        "a word of each of four matrices, whose rows the lanes give",
    ),
    Member(
        "multiply_matrices",
        f"void (*multiply_matrices)({_SELF}, uint32_t* words, int64_t kind)",
        "words: four of A, two of B, four of the sums, which are replaced",
    ),
)
OFFSETS: Final = {member.name: 8 * place for place, member in enumerate(MACHINE)}
WARP: Final = 32
"""Threads that exchange words by ``shuffle``."""
