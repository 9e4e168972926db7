"""The ops that answer requests for pointwise calls, and for members of recorded groups,
whose requests have the same form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pellucid_compiler.abi.encode import decode
from pellucid_compiler.abi.fields import read_record
from pellucid_compiler.abi.groups import GroupDescription
from pellucid_compiler.abi.requests import FunctionRequest, read_request
from pellucid_compiler.declare.op import declared_op
from pellucid_compiler.declare.tracing import with_default_dtype
from pellucid_compiler.specialise.pointwise import PointwiseOp, pointwise_at
from pellucid_compiler.specialise.scalars import compute_key

Resolve: TypeAlias = Callable[[Any, Any], Any]
"""From a reference and the arguments of a request to the op: answer.py."""


def described(description: bytes) -> GroupDescription:
    """A group, as described by the runtime."""
    return read_record(GroupDescription, decode(description))


def asked_op(request: bytes, resolve: Resolve) -> PointwiseOp:
    """The op that a FunctionRequest requests, for items after promotion."""
    asked = read_request(FunctionRequest, request)
    with with_default_dtype(asked.default_dtype):
        if isinstance(asked.op, bytes):
            found = resolve(asked.op, [])
            assert isinstance(found, PointwiseOp)
            return found
        op = declared_op(asked.op)
        return pointwise_at(op, compute_key(op.schema, asked.arguments, asked.common))
