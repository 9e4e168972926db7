"""The answer to a request for a derivative, as bytes: runtime/ops/derivatives.cpp reads
it; DerivativePlan in autograd/derivative.h explains the fields.
"""

from __future__ import annotations

from pellucid_compiler.abi.encode import encode
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.plan import Instruction
from pellucid_compiler.abi.records import (
    DerivativeRow,
    DerivedOp,
    GuardedDerivative,
    PassedRow,
    SizeRow,
    SourceRow,
)
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.lower.registers import RegisterBuilder, size_sources
from pellucid_compiler.specialise.derivative_assembly import DerivativeOp
from pellucid_compiler.specialise.keyed import KeyedOp


def guard_program(op: KeyedOp) -> tuple[Instruction, ...]:
    """The forward op's guards, evaluated again when a derivative is looked up."""
    registers = RegisterBuilder({**size_sources(op.graph), **op.sources})
    for condition, answer in op.guards.items():
        registers.guard(condition, answer)
    return tuple(registers.program)


def encode_derivative(
    forward: KeyedOp, derivative: DerivativeOp | None, kernels: dict[bytes, Kernel]
) -> bytes:
    """The answer to a "derivative" request; ``kernels`` collects what it uses."""
    guards = guard_program(forward)
    if derivative is None:
        return encode(encode_record(GuardedDerivative(guards, None)))
    row = DerivativeRow(
        op=_derived_op(derivative.op, kernels),
        arguments=tuple(
            SourceRow(a.origin, a.index, a.element) for a in derivative.arguments
        ),
        sizes=tuple(SizeRow(*size) for size in derivative.sizes),
        results=derivative.results,
        broadcasts=forward.broadcasts,
        saved_arguments=derivative.saved_arguments,
        saved_results=derivative.saved_results,
        node=forward.node,
        passed=tuple(PassedRow(*way) for way in derivative.passed),
        forward=_derived_op(derivative.forward, kernels),
    )
    return encode(encode_record(GuardedDerivative(guards, row)))


def _derived_op(op: KeyedOp | None, kernels: dict[bytes, Kernel]) -> DerivedOp | None:
    """An op made at first use, with what runs its only key."""
    if op is None:
        return None
    assert isinstance(op.reference, bytes)
    keys = encode([op.keyed(kernels)])
    return DerivedOp(op.schema.text, op.kind, op.promoted, op.reference, keys)
