"""Pointwise ops at one key: a Graph of elements as a map kernel and its encoding.

The runtime promotes before it sends a request: tensors have their compute dtype,
numbers only the common dtype. runtime/ops/element_functions.cpp reads what
``encode_function`` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from pellucid_compiler.abi.encode import encode
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.items import KEY, OperandNumber, OperandStatic, OperandTensor
from pellucid_compiler.abi.limits import FIRST_DRAW
from pellucid_compiler.abi.plan import Message
from pellucid_compiler.abi.records import (
    Function,
    FunctionInput,
    FunctionParameter,
    NumberChecks,
    PointwiseKey,
)
from pellucid_compiler.abi.schema_types import STATIC_WORDS
from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.declare.key import (
    ArgumentKey,
    Key,
    NumberKey,
    StaticKey,
    TensorKey,
)
from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.schema import Argument, Schema
from pellucid_compiler.ir.complex_parts import IMAGINARY, REAL, ComplexParts
from pellucid_compiler.ir.dtypes import is_complex, is_float, stored_dtype, wide_dtype
from pellucid_compiler.ir.elements import element_bodies
from pellucid_compiler.ir.expr import Check, Expr, checked, intern_expr, load
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.traversal import (
    bottom_up,
    loads,
    symbols,
    walk,
    without_partials,
)
from pellucid_compiler.lower.bodies import parameter_dtype, strong
from pellucid_compiler.lower.carriers import carried
from pellucid_compiler.lower.registers import NumberSource, RegisterBuilder, Source
from pellucid_compiler.lower.tile import tile_program
from pellucid_compiler.specialise.requests import (
    TensorPlace,
    decode_argument,
    key_item,
)


@dataclass(frozen=True)
class ComputeKey:
    """A pointwise key after promotion: the common dtype and the arguments."""

    common: str
    key: Key

    def specification(self, schema: Schema) -> PointwiseKey:
        """The key as in the frozen file."""
        pairs = zip(schema.arguments, self.key, strict=True)
        items = [_operand(item, argument) for argument, item in pairs]
        return PointwiseKey(self.common, items)


def _operand(item: ArgumentKey, argument: Argument) -> Any:
    """None if a tensor or number is absent; other values are part of the key."""
    if isinstance(item, TensorKey):
        return OperandTensor(item.dtype)
    if isinstance(item, NumberKey):
        return OperandNumber()
    assert isinstance(item, StaticKey)
    if argument.type not in STATIC_WORDS:
        return None
    return OperandStatic(KEY.encode(key_item(item, argument)))


def number_key(argument: Argument, common: str) -> NumberKey:
    """A number has the category of the common dtype, whatever its own type; a
    probability or a tolerance (``float``) keeps its type.
    """
    if argument.type == "float":
        return NumberKey("weakfloat")
    if is_complex(common):
        return NumberKey("weakcomplex")
    if common == "bool":
        return NumberKey("bool")
    return NumberKey("weakfloat" if is_float(common) else "weakint")


def compute_key(schema: Schema, items: Sequence[Any], common: str) -> ComputeKey:
    """The key of a request's operands."""
    key: list[Any] = []
    for item, argument in zip(items, schema.arguments, strict=True):
        if isinstance(item, OperandTensor):
            key.append(TensorKey(item.dtype, 0))
        elif isinstance(item, OperandNumber):
            key.append(number_key(argument, common))
        else:
            static = isinstance(item, OperandStatic)
            key.append(StaticKey(decode_argument(item.item) if static else None))
    return ComputeKey(common, tuple(key))


@dataclass(frozen=True)
class NumberRule:
    """Which numbers a parameter accepts; the runtime checks it before it computes.

    ``exact``: no floats if integers are computed, bools only for bools.
    ``nonnegative``: no negative number if integers are computed. ``fits``: the dtype
    whose range must contain the number; None accepts any.
    """

    exact: bool = False
    nonnegative: bool = False
    fits: str | None = None


def number_rules(op: Op, graph: Graph, common: str) -> dict[str, NumberRule]:
    """The rules of a declared op's ``Scalar`` arguments.

    A number that the op stores unchanged must fit the result; one that it computes with
    must fit the compute dtype.
    """
    names = [
        argument.name
        for argument in op.schema.arguments
        if argument.type == "Scalar"
        and argument.name != "self"
        and argument.length is None
    ]
    stored = _stored_numbers(element_bodies(graph)) if names else {}
    rules = {}
    for name in names:
        fits = stored.get(name, wide_dtype(common))
        rules[name] = NumberRule(
            name in op.options.exact,
            name in op.options.nonnegative,
            None if is_complex(fits) else fits,
        )
    return rules


def _stored_numbers(outputs: Sequence[Expr]) -> dict[str, str]:
    """The numbers that are stored unchanged in results, and these results' dtypes."""
    found: dict[str, str] = {}
    for output in outputs:
        left = [without_partials(output)]
        while left:
            e = left.pop()
            if e.op in ("cast", "checked"):
                left.append(e.args[0])
            elif e.op == "select":
                left += e.args[1:]
            elif e.op == "sym":
                found[e.attr] = stored_dtype(output.dtype)
    return found


class Parameter(NamedTuple):
    """The argument that a parameter of the kernel is, or a part of it.

    ``part``: as named in NUMBER_PART.
    """

    argument: int
    rule: NumberRule
    part: str

    @staticmethod
    def of(
        name: str, sources: Mapping[str, Source], rules: Mapping[str, NumberRule]
    ) -> Parameter:
        """The parameter of this name, as complex_parts.py names the parts."""
        stem, _, part = name.partition(".")
        whole_or_part = {"": "whole", REAL: "real", IMAGINARY: "imaginary"}[part]
        rule, source = rules.get(stem, NumberRule()), sources[stem]
        assert isinstance(source, NumberSource)
        return Parameter(source.argument, rule, whole_or_part)


@dataclass(frozen=True, eq=False)
class LoweredFunction:
    """A map kernel, the argument of each operand, and its parameters.

    Operands from ``FIRST_DRAW`` on are random words; each element consumes
    ``num_draws``. ``of_numbers`` are requirements checked before the kernel runs;
    ``of_elements`` are its checks.
    """

    kernel: Kernel
    operands: tuple[int, ...]
    params: tuple[Parameter, ...]
    num_draws: int = 0
    of_numbers: RegisterBuilder | None = None
    of_elements: tuple[Check, ...] = ()


def lower_elements(
    graph: Graph,
    places: Sequence[TensorPlace],
    sources: Mapping[str, Source],
    rules: Mapping[str, NumberRule],
) -> LoweredFunction:
    """The kernel of a Graph of elements; ``places``: the argument of each operand;
    random words follow.
    """
    num_draws = len(graph.inputs) - len(places)
    operands = [place.argument for place in places]
    operands += [FIRST_DRAW + k for k in range(num_draws)]
    outputs = element_bodies(graph)
    dtypes = tuple([value.dtype for value in graph.inputs])
    kernel, used, names, of_elements = _map_kernel(outputs, dtypes)
    return LoweredFunction(
        kernel,
        tuple(operands[k] for k in used),
        tuple(Parameter.of(name, sources, rules) for name in names),
        num_draws,
        _number_checks(graph, sources),
        of_elements,
    )


@lru_cache(1024)  # calls of an op, and its derivatives, differ more than their bodies
def _map_kernel(
    outputs: tuple[Expr, ...], dtypes: tuple[str, ...]
) -> tuple[Kernel, tuple[int, ...], tuple[str, ...], tuple[Check, ...]]:
    """The kernel, the inputs it reads, the numbers that are its parameters, and its
    checks of elements.
    """
    bodies = _real_arithmetic([without_partials(e) for e in outputs])
    found = [e.attr for e in walk(*bodies) if e.op == "checked"]
    of_elements = tuple(dict.fromkeys(found))
    used = list(dict.fromkeys(e.attr for e in loads(*bodies)))
    dtype_of = {s.attr: s.dtype for s in symbols(*bodies)}
    names = list(dtype_of)

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if e.op == "load":
            return load(used.index(e.attr), (), e.dtype)
        if e.op == "sym":
            number = names.index(e.attr)
            return intern_expr("sym", (), f"p{number}", parameter_dtype(e.dtype))
        if e.op == "checked":
            return checked(args[0], args[1], of_elements.index(e.attr))
        return None

    memo: dict[Expr, Expr] = {}
    kernel = Kernel(
        Map(tuple(strong(rewrite_untyped(e, leaf, memo)) for e in bodies)),
        tuple(dtypes[k] for k in used),
        tuple(stored_dtype(e.dtype) for e in bodies),
        tuple(parameter_dtype(dtype_of[name]) for name in names),
    )
    return kernel, tuple(used), tuple(names), of_elements


def _number_checks(
    graph: Graph, sources: Mapping[str, Source]
) -> RegisterBuilder | None:
    """The program that checks requirements on numbers; None if there are none."""
    if not graph.requirements:
        return None
    checks = RegisterBuilder(sources)
    for requirement in graph.requirements:
        checks.check(requirement)
    return checks


def _real_arithmetic(bodies: list[Expr]) -> list[Expr]:
    if not any(is_complex(e.dtype) for e in walk(*bodies)):
        return bodies
    parts = ComplexParts()
    return [parts.expand(e) for e in bodies]


def rewrite_untyped(e: Expr, leaf: Any, memo: dict[Expr, Expr]) -> Expr:
    """Like ``rewrite``, without typing the nodes again: a parameter is not weak."""

    def rebuilt(node: Expr) -> Expr:
        args = tuple([memo[a] for a in node.args])
        new = leaf(node, args)
        return intern_expr(node.op, args, node.attr, node.dtype) if new is None else new

    return bottom_up(e, memo, attrgetter("args"), rebuilt)


def encode_function(lowered: LoweredFunction, kernels: dict[bytes, Kernel]) -> bytes:
    """The function's bytes; ``kernels`` collects what it calls."""
    kernel = lowered.kernel
    run = carried(kernel)
    kernels[run.kernel_id] = run
    kernels.update(tile_program(run).kernels)
    operands = zip(lowered.operands, kernel.inputs, strict=True)
    params = zip(lowered.params, kernel.params, strict=True)
    function = Function(
        kernel=run.kernel_id,
        inputs=tuple(FunctionInput(number, dtype) for number, dtype in operands),
        outputs=kernel.outputs,
        params=tuple(_encoded_parameter(p, dtype) for p, dtype in params),
        draws=lowered.num_draws,
        checks=_encoded_checks(lowered.of_numbers),
        requirements=tuple(
            Message(c.error.__name__, (c.message,)) for c in lowered.of_elements
        ),
    )
    return encode(encode_record(function))


def _encoded_parameter(parameter: Parameter, dtype: str) -> FunctionParameter:
    return FunctionParameter(
        argument=parameter.argument,
        dtype="float64" if dtype == "float64" else "int64",
        exact=parameter.rule.exact,
        nonnegative=parameter.rule.nonnegative,
        range=parameter.rule.fits,
        part=parameter.part,
    )


def _encoded_checks(checks: RegisterBuilder | None) -> NumberChecks | None:
    if checks is None:
        return None
    return NumberChecks(tuple(checks.program), tuple(checks.messages))
