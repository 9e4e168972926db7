"""Answers to the runtime's requests: plans, scalar functions, derivatives, as bytes.

``resolve`` finds the op of a reference: a declared one by name, a derivative by its
origin (the op it came from, the arguments it was traced for, the mask).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pellucid_compiler.abi.encode import Decoded, decode
from pellucid_compiler.abi.plan import (
    encode_plan,
)
from pellucid_compiler.abi.requests import (
    FunctionRequest,
    PlanRequest,
    read_request,
)
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.op import SCALAR_KINDS, declared_op
from pellucid_compiler.declare.tracing import with_default_dtype
from pellucid_compiler.specialise.anchored import RULE as GROUP
from pellucid_compiler.specialise.anchored import anchored_graph
from pellucid_compiler.specialise.batching import derive_batched
from pellucid_compiler.specialise.derivatives import (
    DerivativeOp,
    derive,
    derive_saving,
    derive_tangent,
    encode_derivative,
    saving_forward,
)
from pellucid_compiler.specialise.graphs import GraphOp, declared_graph
from pellucid_compiler.specialise.pointwise import (
    PointwiseOp,
    declared_pointwise,
    derive_pointwise,
    derive_pointwise_tangent,
    encode_pointwise_derivative,
)
from pellucid_compiler.specialise.requests import TENSOR, decode_argument
from pellucid_compiler.specialise.scalars import (
    compute_key,
    encode_function,
    lower_function,
    number_rules,
)
from pellucid_compiler.specialise.staged import RULE as STAGE
from pellucid_compiler.specialise.staged import stage_graph

Kernels = dict[bytes, Kernel]


def resolve(reference: Decoded, arguments: Decoded) -> GraphOp | PointwiseOp:
    """The op of a reference, at the key of ``arguments``."""
    if isinstance(reference, bytes):
        origin: Any = decode(reference)
        rule, base, given, mask = origin
        if rule == GROUP:
            return anchored_graph(base, arguments, resolve)
        if rule == STAGE:
            return stage_graph(base, arguments)
        derivative = _derive(rule, resolve(base, given), mask)
        assert derivative is not None
        return derivative.op  # type: ignore[no-any-return]
    assert isinstance(reference, str) and isinstance(arguments, list)
    op = declared_op(reference)
    values = [decode_argument(item) for item in arguments]
    if op.kind in SCALAR_KINDS:
        return declared_pointwise(op, values)
    return declared_graph(op, values)


def _forward(op: GraphOp, mask: int) -> DerivativeOp:
    return DerivativeOp(saving_forward(op), (), (), (), 0, 0)


_RULES: Final[dict[str, Callable[[GraphOp, int], Any]]] = {
    "vjp": derive,
    "jvp": derive_tangent,
    "batch": derive_batched,
    "saved_vjp": derive_saving,
    "forward": _forward,
}
_POINTWISE_RULES: Final[dict[str, Callable[[PointwiseOp, int], Any]]] = {
    "vjp": derive_pointwise,
    "jvp": derive_pointwise_tangent,
}


def _derive(rule: str, op: GraphOp | PointwiseOp, mask: int) -> Any:
    if isinstance(op, PointwiseOp):
        return _POINTWISE_RULES[rule](op, mask)
    return _RULES[rule](op, mask)


def answer(what: str, request: bytes, kernels: Kernels) -> bytes:
    """The encoded answer to a FunctionRequest for a "scalar_function", else to a
    PlanRequest.
    """
    if what == "scalar_function":
        function = read_request(FunctionRequest, request)
        with with_default_dtype(function.default_dtype):
            return _answer_function(function, kernels)
    plan = read_request(PlanRequest, request)
    with with_default_dtype(plan.default_dtype):
        if what == "plan":
            return _answer_plan(plan, kernels)
        return _answer_rule(what, plan, kernels)


def _answer_plan(request: PlanRequest, kernels: Kernels) -> bytes:
    """An encoded plan."""
    op = resolve(request.op, request.arguments)
    assert isinstance(op, GraphOp)
    lowered = op.lower()
    kernels.update(lowered.kernels)
    return encode_plan(lowered.plan)


def _answer_function(request: FunctionRequest, kernels: Kernels) -> bytes:
    """An encoded function of items after promotion, to their common dtype."""
    if isinstance(request.op, bytes):
        found = resolve(request.op, [])
        assert isinstance(found, PointwiseOp)
        return found.lower(kernels)
    op = declared_op(request.op)
    compute = compute_key(op.schema, request.arguments, request.common)
    tensors = [k for k, item in enumerate(request.arguments) if _is_tensor(item)]
    function = op.scalar_function(compute.key)
    rules = number_rules(op, function, request.common)
    lowered = lower_function(function, tensors, op.schema, rules)
    return encode_function(lowered, kernels)


def _answer_rule(rule: str, request: PlanRequest, kernels: Kernels) -> bytes:
    """An encoded derivative by the masked inputs, or that none is."""
    op = resolve(request.op, request.arguments)
    derived = _derive(rule, op, request.mask)
    if isinstance(op, PointwiseOp):
        return encode_pointwise_derivative(op, derived, kernels)
    return encode_derivative(op, derived, kernels)


def _is_tensor(item: Any) -> bool:
    return isinstance(item, list) and item[0] == TENSOR
