"""Answers to the runtime's requests: plans, pointwise functions, derivatives, as bytes.

``resolve`` finds the op of a reference: a declared one by name, a derivative by its
origin (the op it is derived from, the arguments it was traced for, the mask).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pellucid_compiler.abi.encode import Decoded, decode
from pellucid_compiler.abi.requests import PlanRequest, read_request
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.op import SCALAR_KINDS, Op, declared_op
from pellucid_compiler.declare.tracing import with_default_dtype
from pellucid_compiler.specialise.anchored import RULE as GROUP
from pellucid_compiler.specialise.anchored import anchored_graph
from pellucid_compiler.specialise.batching import derive_batched
from pellucid_compiler.specialise.derivative_answer import encode_derivative
from pellucid_compiler.specialise.derivative_assembly import DerivativeOp
from pellucid_compiler.specialise.derivatives import (
    derive,
    derive_saving,
    derive_tangent,
    saving_forward,
)
from pellucid_compiler.specialise.graphs import GraphOp, declared_graph
from pellucid_compiler.specialise.keyed import KeyedOp
from pellucid_compiler.specialise.members import asked_op
from pellucid_compiler.specialise.pointwise import declared_pointwise
from pellucid_compiler.specialise.requests import decode_argument
from pellucid_compiler.specialise.staged import RULE as STAGE
from pellucid_compiler.specialise.staged import stage_graph

Kernels = dict[bytes, Kernel]


def resolve(reference: Decoded, arguments: Decoded) -> KeyedOp:
    """The op of a reference, at the key of ``arguments``."""
    if isinstance(reference, bytes):
        origin: Any = decode(reference)
        rule, base, given, mask = origin
        if rule == GROUP:
            return anchored_graph(base, arguments, resolve)
        if rule == STAGE:
            return stage_graph(base, arguments)
        derivative = _RULES[rule](resolve(base, given), mask)
        assert derivative is not None and derivative.op is not None
        return derivative.op
    assert isinstance(reference, str) and isinstance(arguments, list)
    op = declared_op(reference)
    values = [decode_argument(item) for item in arguments]
    return keyed_op(op, values)


def keyed_op(op: Op, arguments: Sequence[Any]) -> KeyedOp:
    """A declared op for arguments as they were given."""
    is_scalar = op.kind in SCALAR_KINDS
    return (declared_pointwise if is_scalar else declared_graph)(op, arguments)


def _forward(op: GraphOp, mask: int) -> DerivativeOp:
    return DerivativeOp(saving_forward(op), (), (), (), 0, 0)


_RULES: Final[dict[str, Callable[[Any, int], DerivativeOp | None]]] = {
    "vjp": derive,
    "jvp": derive_tangent,
    "batch": derive_batched,
    "saved_vjp": derive_saving,
    "forward": _forward,
}


def answer(what: str, request: bytes, kernels: Kernels) -> bytes:
    """The encoded answer: to a FunctionRequest for "element_function", else to a
    PlanRequest: a plan, or a derivative for the masked inputs, or that there is none.
    """
    if what == "element_function":
        return asked_op(request, resolve).encoded(kernels)
    plan = read_request(PlanRequest, request)
    with with_default_dtype(plan.default_dtype):
        op = resolve(plan.op, plan.arguments)
        if what == "plan":
            return op.encoded(kernels)
        return encode_derivative(op, _RULES[what](op, plan.mask), kernels)
