"""The ops of single elements in groups of recorded ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from pellucid_compiler.abi.requests import FunctionRequest, read_request
from pellucid_compiler.declare.op import declared_op
from pellucid_compiler.declare.scalar_function import ScalarFunction
from pellucid_compiler.declare.schema import Schema
from pellucid_compiler.declare.tracing import with_default_dtype
from pellucid_compiler.specialise.pointwise import PointwiseOp, tensor_positions
from pellucid_compiler.specialise.scalars import compute_key

FIRST_VALUE = 1 << 16
"""Operands from here on are values of the group, below it inputs."""

Resolve: TypeAlias = Callable[[Any, Any], Any]
"""From a reference and the arguments of a request to the op: answer.py."""


class Member(NamedTuple):
    """An op of a group: its function, the argument of each operand, its schema."""

    function: ScalarFunction
    tensors: tuple[int, ...]
    schema: Schema


def member_of(request: bytes, resolve: Resolve) -> Member:
    """The op that answers a request for a scalar function."""
    asked = read_request(FunctionRequest, request)
    with with_default_dtype(asked.default_dtype):
        if isinstance(asked.op, bytes):
            found = resolve(asked.op, [])
            assert isinstance(found, PointwiseOp)
            return Member(found.function, found.tensors, found.schema)
        op = declared_op(asked.op)
        compute = compute_key(op.schema, asked.arguments, asked.common)
        positions = tensor_positions(compute.key)
        return Member(op.scalar_function(compute.key), positions, op.schema)
