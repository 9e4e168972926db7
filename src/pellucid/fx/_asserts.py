"""Recognises that a truth value is tested by an ``assert`` statement."""

from __future__ import annotations

import dis
from types import FrameType

_NOT_OF_ASSERT = ("CACHE", "NOP", "EXTENDED_ARG", "NOT_TAKEN", "TO_BOOL")


def is_assert(frame: FrameType) -> bool:
    """Whether ``frame`` is at the test of an ``assert``: a jump over the raise of
    AssertionError.
    """
    instructions = [
        i for i in dis.get_instructions(frame.f_code) if i.opname not in _NOT_OF_ASSERT
    ]
    for index, instruction in enumerate(instructions[:-1]):
        if instruction.offset >= frame.f_lasti and "JUMP" in instruction.opname:
            behind = instructions[index + 1]
            return behind.opname == "LOAD_ASSERTION_ERROR" or (
                behind.opname == "LOAD_COMMON_CONSTANT"
                and behind.argrepr == "AssertionError"
            )
        if instruction.offset > frame.f_lasti:
            return False
    return False
