"""Pointwise ops at one key, and their derivatives, which are pointwise ops again.

A ``PointwiseOp`` is a ScalarFunction under a schema. Its derivative by some operands
gives one full-shape gradient each; the engine sums them to the operands' shapes. Its
tangents have the shape of what they read; the runtime expands them to the outputs'.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pellucid_compiler.abi.encode import Encodable, encode
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.records import (
    DerivativeRow,
    DerivedOp,
    GuardedDerivative,
    KeyedFunction,
    PassedRow,
    SourceRow,
)
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.key import (
    Key,
    NumberKey,
    TensorKey,
    bind_arguments,
)
from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.scalar_function import (
    Derivative,
    Operand,
    ScalarFunction,
    element_of,
    jvp,
    split_passed,
    vjp,
    with_numbers,
)
from pellucid_compiler.declare.schema import Schema, parse_schema
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import rewrite, substitute, sym
from pellucid_compiler.lower.registers import LoweringError
from pellucid_compiler.specialise.derivatives import DIGEST, derived_node_name
from pellucid_compiler.specialise.promotion import (
    common_dtype,
    compute_items,
    element_key,
    promoted_mask,
)
from pellucid_compiler.specialise.requests import UNIT, encode_argument, specification
from pellucid_compiler.specialise.scalars import (
    ComputeKey,
    NumberRule,
    encode_function,
    lower_function,
    number_key,
    number_rules,
)


@dataclass(frozen=True, eq=False)
class PointwiseOp:
    """A ScalarFunction for one key after promotion.

    ``called`` is the key before promotion; ``tensors`` the argument of each operand;
    ``node`` names the nodes that record calls of it. ``units`` are the factors that
    are 1, as they are unless given (add's alpha): derivatives know them.
    """

    reference: Encodable
    schema: Schema
    arguments: Encodable
    called: Key
    compute: ComputeKey
    promoted: int
    function: ScalarFunction
    tensors: tuple[int, ...]
    node: str
    rules: Mapping[str, NumberRule] = field(default_factory=dict)
    units: tuple[str, ...] = ()

    def lower(self, kernels: dict[bytes, Kernel]) -> bytes:
        """The encoded function; ``kernels`` collects what it calls."""
        lowered = lower_function(self.function, self.tensors, self.schema, self.rules)
        return encode_function(lowered, kernels)

    def input_number(self, operand: int) -> int:
        """Autograd's number of an operand: every tensor-typed argument counts."""
        position = self.tensors[operand]
        arguments = self.schema.arguments[:position]
        return sum(argument.is_tensor for argument in arguments)

    def differentiated(self) -> ScalarFunction:
        """The function that derivatives are taken of."""
        return with_numbers(self.function, dict.fromkeys(self.units, 1))


def unit_factors(schema: Schema, arguments: Sequence[Any]) -> tuple[str, ...]:
    """Numbers that are 1 where 1 is the default; plan/key.cpp tells them too."""
    return tuple(
        argument.name
        for argument, value in zip(schema.arguments, arguments, strict=True)
        if argument.type == "Scalar"
        and argument.has_default
        and _is_one(argument.default)
        and _is_one(value)
    )


def _is_one(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 1 and value is not True


def declared_function(op: Op, compute: ComputeKey) -> ScalarFunction:
    return op.scalar_function(compute.key)


def declared_pointwise(op: Op, arguments: Sequence[Any]) -> PointwiseOp:
    """A declared op for arguments as they were given."""
    arguments = bind_arguments(op.schema, arguments, {})
    called = element_key(op, op.specialise(*arguments).key)
    promoted = promoted_mask(op)
    compute = compute_of(op.schema, called, promoted, op.options.int_to_float)
    function = declared_function(op, compute)
    return PointwiseOp(
        reference=op.full_name,
        schema=op.schema,
        arguments=[
            encode_argument(value, argument)
            for value, argument in zip(arguments, op.schema.arguments, strict=True)
        ],
        called=called,
        compute=compute,
        promoted=promoted,
        function=function,
        tensors=tensor_positions(called),
        node=op.node_name(called),
        rules=number_rules(op, function, compute.common),
        units=unit_factors(op.schema, arguments),
    )


def compute_of(
    schema: Schema, called: Key, promoted: int, int_to_float: bool
) -> ComputeKey:
    common = common_dtype(called, promoted, int_to_float)
    key = compute_items(called, promoted, common)
    numbered = (
        number_key(argument, common) if isinstance(item, NumberKey) else item
        for item, argument in zip(key, schema.arguments, strict=True)
    )
    return ComputeKey(common, tuple(numbered))


def tensor_positions(key: Key) -> tuple[int, ...]:
    return tuple(k for k, item in enumerate(key) if isinstance(item, TensorKey))


@dataclass(frozen=True, eq=False)
class PointwiseDerivative:
    """The op that computes gradients or tangents; None with nothing to compute.

    ``sources`` are (origin, index) of its arguments, ``results`` the input of each
    gradient, the output of each tangent. ``passed`` are gradients that go on as they
    came: of which output, to which input.
    """

    op: PointwiseOp | None
    sources: tuple[tuple[str, int], ...]
    results: tuple[int, ...]
    saved_arguments: int
    saved_results: int
    passed: tuple[tuple[int, int], ...] = ()


def derive_pointwise(op: PointwiseOp, mask: int) -> PointwiseDerivative | None:
    """The derivative by the inputs whose bits are set; None without one."""
    needed = _moving_operands(op, mask)
    if not any(needed) or not any(map(is_float, op.function.output_dtypes)):
        return None
    derivative, found = split_passed(_reading_results(op, vjp, needed))
    passed = tuple((gradient, op.input_number(k)) for gradient, k in found)
    if not derivative.outputs:
        return PointwiseDerivative(None, (), (), 0, 0, passed)
    operands = derivative.operands or (Operand("grad", 0),)  # it gives the shape
    results = tuple(op.input_number(k) for k in derivative.outputs)
    computed = _derivative(op, "vjp", mask, derivative, operands, results)
    return replace(computed, passed=passed)


def derive_pointwise_tangent(op: PointwiseOp, mask: int) -> PointwiseDerivative | None:
    """The tangents of the outputs where the inputs of ``mask`` have tangents."""
    moving = _moving_operands(op, mask)
    if not any(moving) or not any(map(is_float, op.function.output_dtypes)):
        return None
    derivative = _reading_results(op, jvp, moving)
    operands = derivative.operands or (Operand("tangent", moving.index(True)),)
    return _derivative(op, "jvp", mask, derivative, operands, derivative.outputs)


def _moving_operands(op: PointwiseOp, mask: int) -> list[bool]:
    return [
        bool(mask >> op.input_number(k) & 1) and is_float(op.function.inputs[k])
        for k in range(len(op.tensors))
    ]


def _derivative(
    op: PointwiseOp,
    rule: str,
    mask: int,
    derivative: Derivative,
    operands: tuple[Operand, ...],
    results: tuple[int, ...],
) -> PointwiseDerivative:
    sources = [_tensor_source(op, operand) for operand in operands]
    names = {a.name: k for k, a in enumerate(op.schema.arguments)}
    sources += [("argument", names[name]) for name, _ in derivative.function.params]
    read = [index for origin, index in sources if origin == "argument"]
    tensors = [op.input_number(op.tensors.index(k)) for k in read if k in op.tensors]
    saved = [index for origin, index in sources if origin == "result"]
    return PointwiseDerivative(
        op=_derivative_op(op, rule, mask, derivative, operands),
        sources=tuple(sources),
        results=results,
        saved_arguments=sum(1 << k for k in tensors),
        saved_results=sum(1 << k for k in saved),
    )


def _reading_results(
    op: PointwiseOp,
    rule: Callable[[ScalarFunction, Sequence[bool]], Derivative],
    needed: list[bool],
) -> Derivative:
    """The derivative with results that are not differentiable as further inputs.

    So dropout's gradient reads its mask, not the random words.
    """
    function = op.differentiated()
    count = len(function.inputs)
    masks = [k for k, dtype in enumerate(function.output_dtypes) if not is_float(dtype)]
    read = {
        function.outputs[k]: element_of(count + number, function.outputs[k].dtype)
        for number, k in enumerate(masks)
    }
    given = ScalarFunction(
        (*function.inputs, *(e.dtype for e in read)),
        function.params,
        tuple(e if e in read else substitute(e, read) for e in function.outputs),
    )
    needed = [*needed, *([False] * (len(given.inputs) - len(needed)))]
    found = rule(given, needed)
    operands = []
    for operand in found.operands:
        extra = operand.position - count
        if operand.role == "input" and extra >= 0:
            operand = Operand("output", masks[extra])
        elif operand.role == "input" and operand.position >= len(op.tensors):
            raise LoweringError(
                f"the derivative of {op.schema.name} reads random words"
            )
        operands.append(operand)
    return Derivative(found.function, tuple(operands), found.outputs)


def _tensor_source(op: PointwiseOp, operand: Operand) -> tuple[str, int]:
    if operand.role == "input":
        return "argument", op.tensors[operand.position]
    if operand.role == "tangent":
        return "tangent", op.input_number(operand.position)
    origin = {"output": "result", "grad": "gradient"}[operand.role]
    return origin, operand.position


def _derivative_op(
    op: PointwiseOp,
    rule: str,
    mask: int,
    derivative: Derivative,
    operands: tuple[Operand, ...],
) -> PointwiseOp:
    count = len(operands)
    function = derivative.function
    params = tuple((f"n{count + k}", d) for k, (_, d) in enumerate(function.params))
    dtypes = function.inputs or (op.function.output_dtypes[0],)
    key: list[TensorKey | NumberKey] = [TensorKey(d, 1) for d in dtypes]
    key += [NumberKey(dtype) for _, dtype in params]
    declared = [f"Tensor a{k}" for k in range(count)]
    declared += [f"Scalar {name}" for name, _ in params]
    promoted = sum(1 << k for k in range(count) if _is_promoted(op, operands[k]))
    returns = ", ".join(["Tensor"] * len(function.outputs))
    if len(function.outputs) > 1:
        returns = f"({returns})"
    name = _derivative_name(op, rule, mask)
    return PointwiseOp(
        reference=encode([rule, op.reference, op.arguments, mask]),
        schema=parse_schema(f"{name}({', '.join(declared)}) -> {returns}"),
        arguments=[],
        called=tuple(key),
        compute=ComputeKey(
            common_dtype(tuple(key), promoted, False, op.compute.common), tuple(key)
        ),
        promoted=promoted,
        function=_rename_params(function, params),
        tensors=tuple(range(len(function.inputs))),
        node=derived_node_name(op.node, rule),
    )


def _is_promoted(op: PointwiseOp, operand: Operand) -> bool:
    """Operands that had their own dtype in the forward op keep it here."""
    if operand.role in ("input", "tangent"):
        return bool(op.promoted >> op.tensors[operand.position] & 1)
    return operand.role == "grad" or is_float(
        op.function.output_dtypes[operand.position]
    )


def _rename_params(
    function: ScalarFunction, params: tuple[tuple[str, str], ...]
) -> ScalarFunction:
    new = {
        old: name for (old, _), (name, _) in zip(function.params, params, strict=True)
    }
    outputs = tuple(
        rewrite(e, lambda n, _: sym(new[n.attr], n.dtype) if n.op == "sym" else None)
        for e in function.outputs
    )
    return ScalarFunction(function.inputs, params, outputs)


def _derivative_name(op: PointwiseOp, rule: str, mask: int) -> str:
    key = encode_record(op.compute.specification(op.schema))
    whole = encode([rule, op.reference, key, list(op.units), mask])
    digest = hashlib.sha256(whole).hexdigest()[:DIGEST]
    base = op.schema.full_name.replace(".", "_").strip("_")
    stem = base[: -DIGEST - 1] if isinstance(op.reference, bytes) else base
    return f"{stem}_{rule}_{digest}"


def encode_pointwise_derivative(
    forward: PointwiseOp,
    derivative: PointwiseDerivative | None,
    kernels: dict[bytes, Kernel],
) -> bytes:
    """The answer to a "derivative" request of a pointwise op; it asks no questions."""
    if derivative is None:
        return encode(encode_record(GuardedDerivative((), None)))
    row = DerivativeRow(
        op=_derived_op(derivative.op, kernels),
        arguments=tuple(
            SourceRow(origin, index, -1) for origin, index in derivative.sources
        ),
        sizes=(),
        results=derivative.results,
        broadcasts=True,
        saved_arguments=derivative.saved_arguments,
        saved_results=derivative.saved_results,
        node=forward.node,
        passed=tuple(PassedRow(*way) for way in derivative.passed),
        forward=None,
    )
    return encode(encode_record(GuardedDerivative((), row)))


def _derived_op(
    op: PointwiseOp | None, kernels: dict[bytes, Kernel]
) -> DerivedOp | None:
    if op is None:
        return None
    keyed = KeyedFunction(op.compute.specification(op.schema), op.lower(kernels))
    assert isinstance(op.reference, bytes)
    keys = encode([encode_record(keyed)])
    return DerivedOp(op.schema.text, "pointwise", op.promoted, op.reference, keys)


def called_specification(op: PointwiseOp) -> Encodable:
    """The key before promotion, under which derivatives are frozen."""
    items = specification(op.schema, op.called, ranks=False)
    for position, argument in enumerate(op.schema.arguments):
        if argument.name in op.units:
            items[position] = [UNIT, *items[position][1:]]  # type: ignore[index]
    return items
