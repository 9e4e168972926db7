"""Complex functions in terms of real ones against NumPy's."""

import numpy
import pytest

from pellucid_compiler.ir.complex_functions import FORMS, QUESTIONS
from pellucid_compiler.ir.complex_parts import ComplexParts
from pellucid_compiler.ir.expr import load, make
from pellucid_compiler.ir.interpret import run_elements

PARTS = (-2.5, -1.0, -0.3, 0.0, 0.2, 1.0, 3.0)
POINTS = numpy.array([complex(a, b) for a in PARTS for b in PARTS if (a, b) != (0, 0)])
OTHERS = numpy.roll(POINTS, 5)
POLES = {"log1p": [-1], "atanh": [-1, 1], "atan": [-1j, 1j]}
NAMES = {"neg": "negative", "sub": "subtract", "mul": "multiply", "div": "divide"}
NAMES |= {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh"}
NAMES |= {"acosh": "arccosh", "atanh": "arctanh", "eq": "equal", "ne": "not_equal"}
NAMES |= {"pow": "power"}
BINARY = ("add", "sub", "mul", "div", "pow", "eq", "ne")


def expected(name, *operands):
    if name == "rsqrt":
        return 1 / numpy.sqrt(*operands)
    return getattr(numpy, NAMES.get(name, name))(*operands)


def computed(name, *operands):
    loads = (load(k, (), str(x.dtype)) for k, x in enumerate(operands))
    body = ComplexParts().expand(make(name, *loads))
    return run_elements([body], operands)[0]


@pytest.mark.parametrize("name", sorted(FORMS | QUESTIONS))
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_agrees_with_numpy(name, dtype):
    points = POINTS[~numpy.isin(POINTS, POLES.get(name, []))].astype(dtype)
    operands = [points, OTHERS[: points.size].astype(dtype)]
    operands = operands[: 2 if name in BINARY else 1]
    wanted = expected(name, *(x.astype("complex128") for x in operands))
    tolerance = 1e-6 if dtype == "complex64" else 1e-14
    actual = computed(name, *operands)
    numpy.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=1e-15)


def test_large_numbers_do_not_overflow_on_the_way():
    big = numpy.array([1e300 + 1e300j, 3e-200 + 4e-200j])
    numpy.testing.assert_allclose(computed("abs", big), numpy.abs(big))
    numpy.testing.assert_allclose(computed("div", big, big), [1, 1])
    numpy.testing.assert_allclose(computed("sqrt", big), numpy.sqrt(big))


LIMITS = (0.0, -0.0, 0.5, -2.0, numpy.inf, -numpy.inf, numpy.nan)
CORNERS = numpy.array([complex(a, b) for a in LIMITS for b in LIMITS])
C99 = "exp log sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"


@pytest.mark.parametrize("name", [*C99.split(), "exp2", "log2", "log10", "abs"])
def test_infinite_and_nan_parts_follow_annex_g(name):
    with numpy.errstate(all="ignore"):
        actual, wanted = computed(name, CORNERS), expected(name, CORNERS)
    is_number = ~numpy.isnan(CORNERS)
    for found, right in ((actual.real, wanted.real), (actual.imag, wanted.imag)):
        numpy.testing.assert_allclose(found, right, rtol=1e-13)
        is_sign = is_number & ~numpy.isnan(right)  # C99 leaves others open
        numpy.testing.assert_array_equal(
            numpy.signbit(found[is_sign]), numpy.signbit(right[is_sign])
        )


def test_an_order_is_refused():
    with pytest.raises(NotImplementedError, match="not defined for complex"):
        computed("lt", POINTS, OTHERS)


def test_what_is_moved_stays_whole():
    z = load(0, (), "complex64")
    assert ComplexParts().expand(z) is z
    parts = make("complex", make("real", z), make("imag", z))
    assert parts is z
