"""Descriptions of groups of recorded ops, and the answers to them.

``headers.py`` writes runtime/record/group_records.h from these: descriptions, which C++
writes (``WRITTEN``) and specialise/{groups,anchored}.py read, and answers, which go the
other way. A *place* is an input of the group, or from ``FIRST_VALUE`` on a value that a
member computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from pellucid_compiler.abi.codes import NUMBER_PART
from pellucid_compiler.abi.fields import (
    DTypeName,
    Int32,
    Int64,
    KernelId,
    Nested,
    UInt16,
    code,
)

NumberPart: TypeAlias = Annotated[str, code(NUMBER_PART)]


@dataclass(frozen=True)
class MemberOperand:
    """Where an argument of an op comes from."""

    argument: Int32
    place: Int64


@dataclass(frozen=True)
class MemberNumber:
    """A number that an op takes. ``equals``: the first number of the group that it
    equals, or ``ONE``.
    """

    argument: Int32
    equals: UInt16
    is_integer: bool
    part: NumberPart


@dataclass(frozen=True)
class Member:
    """An op of a group, given by the request that found its implementation.
    ``numbers``: empty for the anchor, the op in passes over whole tensors.
    """

    request: Nested
    operands: tuple[MemberOperand, ...]
    numbers: tuple[MemberNumber, ...] | None


@dataclass(frozen=True)
class InputExample:
    """An input of a group with an anchor, as first seen."""

    dtype: DTypeName
    sizes: tuple[Int64, ...]


@dataclass(frozen=True)
class GroupDescription:
    """The members in order and the values that the group returns; ``inputs``: for a
    group with an anchor.
    """

    members: tuple[Member, ...]
    outputs: tuple[Int32, ...]
    inputs: tuple[InputExample, ...] | None


@dataclass(frozen=True)
class GroupInput:
    """An operand of the kernel: an input of the group in the dtype that the kernel
    reads.
    """

    number: UInt16
    dtype: DTypeName


@dataclass(frozen=True)
class GroupNumber:
    """A number of the kernel: a part of an argument of a member."""

    member: UInt16
    argument: Int32
    part: NumberPart


@dataclass(frozen=True)
class GroupAnswer:
    """The map kernel of a group without an anchor."""

    kernel: KernelId
    inputs: tuple[GroupInput, ...]
    outputs: tuple[DTypeName, ...]
    numbers: tuple[GroupNumber, ...]


WRITTEN: Final = (MemberOperand, MemberNumber, Member, InputExample, GroupDescription)
READ: Final = (GroupInput, GroupNumber, GroupAnswer)
