"""The table of scalar ops: everything known of each in one row.

The definition is total and given by NumPy: an integer divided by zero is 0, an
over-wide shift yields 0 (or the sign), comparisons with NaN are false, ``maximum``
propagates NaN. The compiler's lowerings, the functions of op bodies and the C++ of
register programs are derived from the rows.

A slope is an Expr of the operands and the result ``y``; ``FLAT`` is a derivative that
is zero wherever it exists. Slopes of complex ``conj``, ``real``, ``imag`` and ``abs``
are Wirtinger pairs, in partials.py. Read next: partials.py, evaluate.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

from pellucid_compiler.ir import number_values
from pellucid_compiler.ir import special_functions as special
from pellucid_compiler.ir.dtypes import is_complex, is_float
from pellucid_compiler.ir.expr import SCALAR_OPS as SCALAR_OPS
from pellucid_compiler.ir.expr import Expr, ScalarOp, make, select, with_partials

FLAT: Final = 0.0
_ELEMENTARY: Final = 20  # the cost of a polynomial with a reduction of the argument
_FEW: Final = 2  # ops of a higher cost are costly
_BY_COST: Final = ""  # what an op does is counted as an op of its cost is
_TWO_OVER_SQRT_PI: Final = 1.1283791670955126
_LN_2: Final = 0.6931471805599453
_LN_10: Final = 2.302585092994046


def _declare(
    name: str,
    arity: int,
    result: str,
    evaluate: Callable[..., Any],
    slopes: Callable[..., Any] | None = None,
    symbol: str | None = None,
    cost: int | None = None,
    work: str | None = _BY_COST,
    python: Callable[..., Any] | None = None,
    **facts: Any,
) -> None:
    """Add a row; ``python``: the operator on tensors, and on numbers unless ``value``
    is given.
    """
    is_condition = result in ("compare", "logic")
    if cost is None:
        cost = 1 if is_condition else _ELEMENTARY
    if work == _BY_COST:
        simple = "comparison" if is_condition else "arithmetic"
        work = simple if cost == 1 else "elementary"
    if python is not None:
        facts.setdefault("value", python)
        facts["emitted"] = lambda torch, *tensors: python(*tensors)
    if result == "float":
        facts.setdefault("domain", "floats")
    if facts.get("is_step"):
        slopes = _flat
    facts.setdefault("lowering", name)
    facts.setdefault("function", "" if symbol else name)
    SCALAR_OPS[name] = ScalarOp(
        name, arity, result, evaluate, slopes, cost, work, symbol, **facts
    )


def _flat(x: Expr, y: Expr) -> tuple[float]:
    return (FLAT,)


def _numpy(name: str) -> Callable[..., Any]:
    """Evaluate with NumPy's function of this name, looked up when it runs."""
    return lambda np, *args: getattr(np, name)(*args)


def _call(name: str) -> Callable[[Expr], Expr]:
    return lambda x: make(name, x)


def _by_integer_zero(name: str) -> Callable[..., Any]:
    """NumPy's division ``name``, with 0 for an integer divided by zero."""

    def evaluate(np: Any, a: Any, b: Any) -> Any:
        if a.dtype.kind == "f":
            return getattr(np, name)(a, b)
        safe = np.where(b == 0, 1, b).astype(b.dtype)
        return np.where(b == 0, 0, getattr(np, name)(a, safe)).astype(a.dtype)

    return evaluate


def _float_floordiv(np: Any, a: Any, b: Any) -> Any:
    """Floats: for a zero divisor ``a / b``, as in PyTorch; NumPy returns NaN."""
    if a.dtype.kind != "f":
        return _by_integer_zero("floor_divide")(np, a, b)
    return np.where(b == 0, a / b, np.floor_divide(a, b)).astype(a.dtype)


def _power(np: Any, a: Any, b: Any) -> Any:
    """Integers: a negative exponent yields 0, or 1 or -1 for a base of 1 or -1."""
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    positive = np.power(a, np.maximum(b, 0))
    unit = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
    return np.where(b < 0, unit, positive).astype(a.dtype)


def _of_parts(np: Any, a: Any, b: Any) -> Any:
    """By assignment, because ``a + 1j * b`` turns an infinite part into NaN."""
    z = np.empty(np.broadcast(a, b).shape, np.result_type(a, np.complex64))
    z.real, z.imag = a, b
    return z


def _sign(np: Any, a: Any) -> Any:
    return (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype)


def _shift(np: Any, a: Any, b: Any, *, left: bool) -> Any:
    width = a.dtype.itemsize * 8
    wide = (b < 0) | (b >= width)
    if left:
        return np.where(wide, 0, a << np.where(wide, 0, b)).astype(a.dtype)
    return (a >> np.where(wide, width - 1, b)).astype(a.dtype)


def _half_tie(smaller: Expr, larger: Expr) -> Expr:
    """1 if ``larger`` is greater or either is NaN, one half at a tie."""
    return select(larger < smaller, 0.0, select(smaller == larger, 0.5, 1.0))


def _power_slopes(a: Expr, b: Expr, y: Expr) -> tuple[Expr, Expr]:
    by_base = select(b == 0, 0.0, b * make("pow", a, b - 1))
    vanishes = (a == 0) & (make("real", b) >= 0)
    by_exponent = select(vanishes, 0.0, y * make("log", a))
    return by_base, by_exponent


def _angle_slopes(a: Expr, b: Expr, y: Expr) -> tuple[Expr, Expr]:
    """Zero at the origin, which has no slope."""
    squared = a * a + b * b
    is_origin = squared == 0
    return select(is_origin, 0.0, b / squared), select(is_origin, 0.0, -a / squared)


def _arc_slope(x: Expr) -> Expr:
    """``1 / sqrt(1 - x**2)``: exact near 1, with a slope that is exact near 0."""
    value = make("rsqrt", (1 - x) * (1 + x))
    return with_partials(value, [x], lambda x, y: x * y * y * y)


def _atanh_slope(x: Expr) -> Expr:
    """``1 / (1 - x**2)``, likewise."""
    value = 1 / ((1 - x) * (1 + x))
    return with_partials(value, [x], lambda x, y: 2 * x * y * y)


def _acosh_slope(x: Expr) -> Expr:
    """``1 / sqrt(x**2 - 1)``; of a real number also below -1, as in PyTorch."""
    if is_complex(x.dtype):
        return make("rsqrt", x - 1) * make("rsqrt", x + 1)
    return make("rsqrt", (x - 1) * (x + 1))


def _tetragamma(x: Expr) -> Expr:
    """The slope of trigamma: reflection, ten steps of recurrence, asymptotic series."""
    pi = 3.141592653589793
    reflected = x < 0.5
    z = select(reflected, 1 - x, x)
    total: Expr = select(reflected, 0.0, x * 0.0)
    for k in range(10):
        total = total - 2 / ((z + k) * (z + k) * (z + k))
    z = z + 10
    w = 1 / (z * z)
    series = w * (0.5 - w * (1 / 6 - w * (1 / 6 - w * (0.3 - w * (5 / 6)))))
    total = total - w * (1 + 1 / z + series)
    angle = (x - make("round", x)) * pi  # exactly 0 at the poles, of the same cotangent
    sine = make("sin", angle)
    cotangent = make("cos", angle) / (sine * sine * sine)
    return select(reflected, total - 2 * pi * pi * pi * cotangent, total)


# Rows are wrapped: one argument per line would add 400 lines.
# fmt: off

# ------------------------------------------------------------------ arithmetic

_declare("add", 2, "same", _numpy("add"), lambda a, b, y: (1.0, 1.0), "+",
    cost=1, python=operator.add, folds="all",
    integers="wrapping(uint64_t(a) + uint64_t(b))", numbers="a + b",
    with_number=("add.Scalar", "add.Scalar"))
_declare("sub", 2, "number", _numpy("subtract"), lambda a, b, y: (1.0, -1.0), "-",
    cost=1, python=operator.sub, folds="all",
    integers="wrapping(uint64_t(a) - uint64_t(b))", numbers="a - b",
    with_number=("sub.Scalar",))
_declare("mul", 2, "same", _numpy("multiply"), lambda a, b, y: (b, a), "*",
    cost=1, python=operator.mul, folds="all",
    integers="wrapping(uint64_t(a) * uint64_t(b))", numbers="a * b",
    with_number=("mul.Scalar", "mul.Scalar"))
_declare("div", 2, "float", _numpy("true_divide"), lambda a, b, y: (1 / b, -y / b), "/",
    cost=3, work="division", value=number_values.divide, folds="all",
    numbers="a / b", python=operator.truediv,
    with_number=("div.Scalar",))
_declare("floordiv", 2, "number", _float_floordiv, lambda a, b, y: (FLAT, FLAT), "//",
    cost=30, work="division", value=number_values.floor_divide, folds="integers",
    integers="floor_div(a, b)", numbers="std::floor(a / b)",
    python=operator.floordiv)
_declare("mod", 2, "number", _by_integer_zero("mod"), lambda a, b, y: (1.0,
    -make("floor", a / b)), "%", cost=30, work="division",
    value=number_values.remainder, folds="integers",
    integers="floor_mod(a, b)", numbers="floor_mod(a, b)",
    python=operator.mod)
_declare("fmod", 2, "number", _by_integer_zero("fmod"), lambda a, b, y: (1.0,
    -make("trunc", a / b)), cost=30, work="division")
_declare("pow", 2, "number", _power, _power_slopes, "**", python=operator.pow,
    cost=30, function="power", numbers="std::pow(a, b)",
    with_number=("pow.Tensor_Scalar",))
_declare("maximum", 2, "same", _numpy("maximum"), lambda a, b, y: (_half_tie(b, a),
    _half_tie(a, b)), cost=1, value=max, folds="integers",
    integers="std::max(a, b)", numbers="a != a || a > b ? a : b")
_declare("minimum", 2, "same", _numpy("minimum"), lambda a, b, y: (_half_tie(a, b),
    _half_tie(b, a)), cost=1, value=min, folds="integers",
    integers="std::min(a, b)", numbers="a != a || a < b ? a : b")
_declare("atan2", 2, "float", _numpy("arctan2"), _angle_slopes)
_declare("copysign", 2, "float", _numpy("copysign"), lambda a, b, y: (select(a == 0,
    0.0, y / a), FLAT), cost=1)
_declare("neg", 1, "number", _numpy("negative"), lambda x, y: (-1.0,), "-",
    cost=1, python=operator.neg, folds="all",
    integers="wrapping(-uint64_t(a))", numbers="-a")
_declare("abs", 1, "real", _numpy("abs"), lambda x, y: (make("sign", x),),
    cost=1, value=abs, folds="all",
    function="", integers="a < 0 ? wrapping(-uint64_t(a)) : a", numbers="std::fabs(a)")
_declare("conj", 1, "same", _numpy("conj"), cost=1, domain="complex",
    value=lambda z: z.conjugate(), folds="all")
_declare("real", 1, "real", _numpy("real"), cost=1, work=None, domain="complex",
    value=lambda z: z.real, folds="all")
_declare("imag", 1, "real", _numpy("imag"), cost=1, work=None, domain="complex",
    value=lambda z: z.imag, folds="all")
_declare("complex", 2, "complex", _of_parts, lambda a, b, y: (1.0, 1j), cost=1,
    work=None, domain="complex", value=complex, folds="all",
    function="complex_of")

# ------------------------------------------------------------------ steps

_declare("sign", 1, "number", _sign, cost=1, is_step=True,
    integers="(a > 0) - (a < 0)", numbers="(a > 0) - (a < 0)",
    emitted=lambda torch, x: torch.sgn(x))
_declare("floor", 1, "number", _numpy("floor"), cost=1, domain="floats",
    is_step=True, value=number_values.rounded(math.floor), folds="literals",
    lowering="unary floor", numbers="std::floor(a)")
_declare("ceil", 1, "number", _numpy("ceil"), cost=1, domain="floats",
    is_step=True, value=number_values.rounded(math.ceil), folds="literals",
    lowering="unary ceil", numbers="std::ceil(a)")
_declare("trunc", 1, "number", _numpy("trunc"), cost=1, domain="floats",
    is_step=True, value=number_values.rounded(math.trunc),
    lowering="unary trunc", numbers="std::trunc(a)")
_declare("round", 1, "number", _numpy("rint"), cost=1, domain="floats",
    is_step=True,
    lowering="unary roundeven", function="round_even", numbers="std::nearbyint(a)")

# ------------------------------------------------------------------ powers and logarith

_declare("sqrt", 1, "float", _numpy("sqrt"), lambda x, y: (0.5 / y,), cost=20,
    work="division",
    value=number_values.or_nan(math.sqrt), folds="literals",
    numbers="std::sqrt(a)")
_declare("rsqrt", 1, "float", lambda np, x: (1 / np.sqrt(x)).astype(x.dtype), lambda x,
    y: (-0.5 * y * y * y,), cost=20, work="division")
_declare("exp", 1, "float", _numpy("exp"), lambda x, y: (y,),
    value=number_values.or_nan(math.exp), folds="literals",
    numbers="std::exp(a)")
_declare("exp2", 1, "float", _numpy("exp2"), lambda x, y: (y * _LN_2,))
_declare("expm1", 1, "float", _numpy("expm1"), lambda x, y: (make("exp", x),))
_declare("log", 1, "float", _numpy("log"), lambda x, y: (1 / x,),
    value=number_values.or_nan(math.log), folds="literals",
    numbers="std::log(a)")
_declare("log2", 1, "float", _numpy("log2"), lambda x, y: (1 / (x * _LN_2),))
_declare("log10", 1, "float", _numpy("log10"), lambda x, y: (1 / (x * _LN_10),))
_declare("log1p", 1, "float", _numpy("log1p"), lambda x, y: (1 / (x + 1),))

# ------------------------------------------------------------------ circular, hyperboli

_declare("sin", 1, "float", _numpy("sin"), lambda x, y: (make("cos", x),), is_odd=True)
_declare("cos", 1, "float", _numpy("cos"), lambda x, y: (-make("sin", x),))
_declare("tan", 1, "float", _numpy("tan"), lambda x, y: (1 + y * y,), is_odd=True)
_declare("asin", 1, "float", _numpy("arcsin"), lambda x, y: (_arc_slope(x),),
    is_odd=True)
_declare("acos", 1, "float", _numpy("arccos"), lambda x, y: (-_arc_slope(x),))
_declare("atan", 1, "float", _numpy("arctan"), lambda x, y: (1 / (x * x + 1),),
    is_odd=True)
_declare("sinh", 1, "float", _numpy("sinh"), lambda x, y: (make("cosh", x),),
    is_odd=True)
_declare("cosh", 1, "float", _numpy("cosh"), lambda x, y: (make("sinh", x),))
_declare("tanh", 1, "float", _numpy("tanh"), lambda x, y: (1 - y * y,), is_odd=True)
_declare("asinh", 1, "float", _numpy("arcsinh"), lambda x, y: (make("rsqrt", x * x +
    1),), is_odd=True)
_declare("acosh", 1, "float", _numpy("arccosh"), lambda x, y: (_acosh_slope(x),))
_declare("atanh", 1, "float", _numpy("arctanh"), lambda x, y: (_atanh_slope(x),),
    is_odd=True)

# ------------------------------------------------------------------ error function, gam

_declare("erf", 1, "float", special.elementwise(math.erf), lambda x, y:
    (_TWO_OVER_SQRT_PI * make("exp", -x * x),), is_odd=True)
_declare("erfc", 1, "float", special.elementwise(math.erfc), lambda x, y:
    (-_TWO_OVER_SQRT_PI * make("exp", -x * x),), cost=30)
_declare("erfinv", 1, "float", special.elementwise(special.erfinv), lambda x, y:
    (make("exp", y * y) / _TWO_OVER_SQRT_PI,), cost=30, is_odd=True)
_declare("lgamma", 1, "float", special.elementwise(special.lgamma), lambda x, y:
    (make("digamma", x),))
_declare("digamma", 1, "float", special.elementwise(special.digamma), lambda x, y:
    (make("trigamma", x),))
_declare("trigamma", 1, "float", special.elementwise(special.trigamma), lambda x, y:
    (_tetragamma(x),), emitted=lambda torch, x: torch.polygamma(1, x))

# ------------------------------------------------------------------ comparison and logi

_declare("lt", 2, "compare", _numpy("less"), symbol="<", python=operator.lt,
    folds="all",
    lowering="compare lt", integers="a < b", numbers="a < b",
    with_number=("lt.Scalar", "gt.Scalar"))
_declare("le", 2, "compare", _numpy("less_equal"), symbol="<=", python=operator.le,
    folds="all",
    lowering="compare le", integers="a <= b", numbers="a <= b",
    with_number=("le.Scalar", "ge.Scalar"))
_declare("eq", 2, "compare", _numpy("equal"), symbol="==", python=operator.eq,
    folds="all",
    lowering="compare eq", integers="a == b", numbers="a == b",
    with_number=("eq.Scalar", "eq.Scalar"))
_declare("ne", 2, "compare", _numpy("not_equal"), symbol="!=", python=operator.ne,
    folds="all",
    lowering="compare ne", integers="a != b", numbers="a != b",
    with_number=("ne.Scalar", "ne.Scalar"))
_declare("and", 2, "logic", _numpy("logical_and"), symbol="&", value=number_values.both,
    folds="all",
    lowering="bitand", function="logical_and", integers="a && b",
    python=operator.and_, emitted=lambda torch, a, b: torch.logical_and(a, b))
_declare("or", 2, "logic", _numpy("logical_or"), symbol="|", value=number_values.either,
    folds="all",
    lowering="bitor", function="logical_or", integers="a || b",
    python=operator.or_, emitted=lambda torch, a, b: torch.logical_or(a, b))
_declare("not", 1, "logic", _numpy("logical_not"), symbol="~", value=operator.not_,
    folds="all",
    function="logical_not", integers="!a",
    emitted=lambda torch, x: torch.logical_not(x))
_declare("isnan", 1, "compare", _numpy("isnan"), domain="floats", value=lambda x: x !=
    x,
    numbers="std::isnan(a)")
_declare("isinf", 1, "compare", _numpy("isinf"), domain="floats", value=math.isinf,
    numbers="std::isinf(a)")

# ------------------------------------------------------------------ bits

_declare("bitand", 2, "same", _numpy("bitwise_and"), cost=1,
    domain="integers",
    integers="a & b")
_declare("bitor", 2, "same", _numpy("bitwise_or"), cost=1, domain="integers",
    integers="a | b")
_declare("bitxor", 2, "same", _numpy("bitwise_xor"), cost=1,
    domain="integers",
    integers="a ^ b")
_declare("shl", 2, "number", lambda np, a, b: _shift(np, a, b, left=True),
    cost=1, domain="integers",
    function="shift_left", integers="shift_left(a, b)")
_declare("shr", 2, "number", lambda np, a, b: _shift(np, a, b, left=False),
    cost=1, domain="integers",
    function="shift_right", integers="shift_right(a, b)")

# fmt: on

COSTLY_OPS: Final = frozenset(n for n, op in SCALAR_OPS.items() if op.cost > _FEW)
"""Those that take more than a few additions."""


def slopes_of(e: Expr) -> tuple[Any, ...]:
    """The slope of a scalar op for each operand; complex ops are holomorphic."""
    rule = SCALAR_OPS[e.op].slopes
    if rule is None:
        raise NotImplementedError(
            f"the scalar op {e.op} has no derivative rule.\n"
            "Give the op that uses it a hand rule: @op.partials or @op.vjp."
        )
    return tuple(rule(*e.args, e))


def has_no_slope(e: Expr) -> bool:
    """Whether ``e`` is constant as far as derivatives go: an integer, a bool, a
    step.
    """
    return not is_float(e.dtype) or (e.op in SCALAR_OPS and SCALAR_OPS[e.op].is_step)
