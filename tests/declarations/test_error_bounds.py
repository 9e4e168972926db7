"""Every derivative of a pointwise op, of first and second order, against its true
value.

Naive symbolic rules are wrong at edges; this test decides which ops need a hand rule.
The true value is the derivative of the body in 250 digits. A float64 derivative may
differ from it by a relative error, and by the effect of rounding the saved output.
"""

import warnings

import mpmath
import numpy as np
import pytest
from mpmath import mp

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler import transforms
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.key import NumberKey, StaticKey, TensorKey
from pellucid_compiler.ir.bounded import Bounded
from pellucid_compiler.ir.dtypes import is_complex, is_float
from pellucid_compiler.ir.elements import element_bodies, element_graph
from pellucid_compiler.ir.evaluate import evaluate
from pellucid_compiler.ir.traversal import without_partials

from .exact import DIGITS, exact_value

RELATIVE = 1e-8
ABSOLUTE = 1e-200  # smaller than any relevant slope
OUTPUT_ROUNDINGS = 64  # tolerated error of the saved output, in units in the last place
MAGNITUDES = [1.1e-30, 2.3e-3, 0.61, 0.97, 3.3, 9.1, 19.7, 41.3]
LARGE = [713.9, 3.1e4, 1.7e30, 1.9e150]
UNARY_POINTS = [s * m for m in MAGNITUDES + LARGE for s in (1, -1)]
BINARY_POINTS = [s * m for m in (2.3e-3, 0.61, 41.3, 3.1e4) for s in (1, -1)]
ORDERS = ("order_one", "order_two")
# Bits of integers; clamp by numbers needs one that its schema leaves out.
OF_NO_FLOATS = {
    *(f"bitwise_{name}.Tensor" for name in ("and", "or", "xor")),
    *(f"bitwise_{name}_shift.Tensor" for name in ("left", "right")),
    *("bitwise_not", "clamp"),
}
OUTSIDE = "no number to compare with"
APART = 1.07  # no ties: a body may have a kink there, and its rule none


def arguments(op):
    """(key, numbers) with float64 tensors and the schema's defaults, or None."""
    key, numbers = [], {}
    for argument in op.schema.arguments:
        if argument.is_tensor and not argument.is_list:
            if argument.name in op.options.unpromoted or argument.optional:
                return None
            key.append(TensorKey("float64", 0))
        elif argument.type in ("Scalar", "float") and not argument.is_list:
            if argument.has_default and argument.default is None:
                key.append(StaticKey(None))
                continue
            numbers[argument.name] = argument.default if argument.has_default else 0.5
            key.append(NumberKey("weakfloat"))
        elif argument.has_default:
            key.append(StaticKey(argument.default))
        else:
            return None
    return tuple(key), numbers


def function_of(op):
    """The op in float64 without its hand rules' effect on the value, or None."""
    actual = None if op.full_name in OF_NO_FLOATS else arguments(op)
    if actual is None:
        return None
    elements = op.element_graph(actual[0])
    if len(elements.outputs) != 1 or len(elements.inputs) not in (1, 2):
        return None
    (dtype,) = (value.dtype for value in elements.outputs)
    return None if not is_float(dtype) or is_complex(dtype) else (elements, actual[1])


def plain_function(elements):
    """The same body with derived slopes only, from which the true value is computed."""
    dtypes = [value.dtype for value in elements.inputs]
    bodies = [without_partials(body_of(elements))]
    return element_graph(elements.name, dtypes, bodies)


def body_of(elements):
    """The first output as an expression."""
    return element_bodies(elements)[0]


CASES = {
    name: function_of(op) for name, op in REGISTRY.items() if op.kind == "pointwise"
}
CASES = {name: case for name, case in CASES.items() if case is not None}


def in_float64(e, elements, numbers):
    count = max(elements, default=-1) + 1
    operands = [np.float64(elements.get(k, 0.0)) for k in range(count)]
    return float(evaluate(e, numbers, (), [np.asarray(x) for x in operands]))


def edges(function):
    """Zeros and ties, where a body may have a kink, and its rule none."""
    return [(x,) * len(function.inputs) for x in (0.0, 0.61, -3.3)]


class Derivatives:
    """First and second derivative of a function by one operand, as autograd
    takes them: Graphs of the operands, the output and a gradient of 1.
    """

    def __init__(self, function, operand):
        first = transforms.backward(function, [operand])
        self.first = body_of(first)
        self.result = len(function.inputs)
        read = first.used_inputs()
        self.seconds = {
            by: body_of(transforms.backward(first, [by]))
            for by in (operand, self.result)
            if by in read
        }

    def order_one(self, arguments, output, numbers, compute):
        elements = dict(enumerate([*arguments, output, 1.0]))
        return compute(self.first, elements, numbers)

    def order_two(self, arguments, output, numbers, compute):
        """Through the operand, and through the saved output times its own slope."""
        slope = self.order_one(arguments, output, numbers, compute)
        elements = dict(enumerate([*arguments, output, 1.0, slope, 1.0]))
        total = 0
        for by, second in self.seconds.items():
            part = compute(second, elements, numbers)
            total = total + (part * slope if by == self.result else part)
        return total


def points(function, domain):
    low, high = domain or (-mpmath.inf, mpmath.inf)
    if len(function.inputs) == 1:
        return [(x,) for x in UNARY_POINTS if low <= x <= high]
    return [(x, y * APART) for x in BINARY_POINTS for y in BINARY_POINTS]


def worst_error(function, truth, numbers, order, given_points):
    """The first excess over the bound: (operand, point, true value, found), or None.

    Every derivative must be compared somewhere.
    """
    for operand in range(len(function.inputs)):
        mine, true = Derivatives(function, operand), Derivatives(truth, operand)
        compared = 0
        for inputs in given_points:
            body = body_of(function)
            excess = error_at(
                mine, true, body, numbers, order, inputs, saves_output(body)
            )
            if excess is OUTSIDE:
                continue
            compared += 1
            if excess is not None:
                return operand, inputs, *excess
        assert compared
    return None


def saves_output(body):
    """Whether the rule is written in the result: of a scalar op, or by hand."""
    plain = all(a.op in ("load", "const", "cast", "sym") for a in body.args)
    return plain or body.op == "with_partials"


def error_at(mine, true, body, numbers, order, arguments, reads_output):
    """(true value, actual value) if the bound is exceeded; None; or OUTSIDE."""
    exact = [mp.mpf(x) for x in arguments]
    try:
        output = exact_value(body, dict(enumerate(exact)), numbers)
        wanted = getattr(true, order)(exact, output, numbers, exact_value)
    except ValueError:
        return OUTSIDE
    if abs(wanted) > 1e300 or abs(output) > 1e300:
        return OUTSIDE
    rounded = in_float64(body, dict(enumerate(arguments)), numbers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        actual = getattr(mine, order)(arguments, rounded, numbers, in_float64)
    allowed = RELATIVE * abs(wanted) + ABSOLUTE
    if reads_output:
        allowed += output_share(mine, order, exact, output, numbers)
    if np.isfinite(actual) and abs(mp.mpf(actual) - wanted) <= allowed:
        return None
    return mpmath.nstr(wanted, 8), actual


def output_share(mine, order, exact, output, numbers):
    """The change of the derivative if the saved output is off in its last places."""
    with mp.workdps(DIGITS):
        moved = output * (1 + OUTPUT_ROUNDINGS * mp.mpf(2) ** -53)
        try:
            there = getattr(mine, order)(exact, moved, numbers, exact_value)
            here = getattr(mine, order)(exact, output, numbers, exact_value)
        except ValueError:
            return mp.mpf(0)
        return abs(there - here)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CASES)
def test_derivative_meets_its_error_bound(name, order):
    function, numbers = CASES[name]
    truth = plain_function(function)
    where = points(function, REGISTRY[name].options.domain)
    worst = worst_error(function, truth, numbers, order, where)
    assert worst is None, (
        f"{name}, operand {worst[0]}: at {worst[1]} the derivative is {worst[2]}, "
        f"computed {worst[3]}; give the op a hand rule (@{name}.partials)"
    )


RULES = [
    name
    for name in CASES
    if REGISTRY[name].hand_partials is not None
    and REGISTRY[name].hand_partials.reason.startswith("accuracy")
]


@pytest.mark.parametrize("name", RULES)
def test_rule_for_accuracy_is_needed(name, monkeypatch):
    function, numbers = CASES[name]
    monkeypatch.setattr(REGISTRY[name], "hand_partials", None)
    monkeypatch.setattr(REGISTRY[name], "elements", Bounded(1))  # traced with the rule
    derived, _ = function_of(REGISTRY[name])
    where = [*points(function, REGISTRY[name].options.domain), *edges(function)]
    actual = [worst_error(derived, function, numbers, order, where) for order in ORDERS]
    assert any(actual), f"{name}: the derived derivative meets the bound; drop the rule"
