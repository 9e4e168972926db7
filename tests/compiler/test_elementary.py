"""Every elementary function is within the bound stated here and has C's special values.

The bounds are units in the last place (float32, float64), a little above the largest
error that ``tools/measure_elementary.py`` found over many more points than these.
"""

import mpmath
import numpy as np
import pytest

from pellucid_compiler.codegen.elementary import FUNCTIONS
from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.ir.expr import SCALAR_OPS, cast, load, make
from tests.compiler.accuracy import computed, samples, worst
from tests.compiler.support import RUNNABLE, run_map

INF, NAN = np.inf, np.nan


def _logarithm(function):
    def reference(x):
        if x <= 0:
            return mpmath.nan if x < 0 else -mpmath.inf
        return function(x)

    return reference


# name: (reference, domain, bound in float32, in float64)
UNARY = {
    "exp": (mpmath.exp, (-800, 800), 1.0, 0.8),
    "exp2": (lambda x: mpmath.power(2, x), (-1200, 1200), 0.9, 1.0),
    "expm1": (mpmath.expm1, (-100, 800), 1.6, 1.6),
    "tanh": (mpmath.tanh, (-30, 30), 1.5, 1.8),
    "sinh": (mpmath.sinh, (-720, 720), 0.6, 1.5),
    "cosh": (mpmath.cosh, (-720, 720), 0.6, 1.4),
    "log": (_logarithm(mpmath.log), (0, INF), 0.7, 0.7),
    "log2": (_logarithm(lambda x: mpmath.log(x, 2)), (0, INF), 0.7, 0.7),
    "log10": (_logarithm(mpmath.log10), (0, INF), 0.7, 0.7),
    "log1p": (mpmath.log1p, (-0.99999, INF), 0.8, 0.8),
    "asinh": (mpmath.asinh, (-INF, INF), 0.6, 1.5),
    "acosh": (mpmath.acosh, (1, INF), 0.6, 1.5),
    "atanh": (mpmath.atanh, (-0.99999, 0.99999), 0.6, 1.8),
    "sin": (mpmath.sin, (-INF, INF), 1.0, 1.0),
    "cos": (mpmath.cos, (-INF, INF), 1.0, 1.0),
    "tan": (mpmath.tan, (-INF, INF), 1.5, 1.5),
    "asin": (mpmath.asin, (-1, 1), 0.6, 0.8),
    "acos": (mpmath.acos, (-1, 1), 0.6, 0.8),
    "atan": (mpmath.atan, (-INF, INF), 1.8, 0.7),
    "erf": (mpmath.erf, (-7, 7), 1.4, 1.2),
    "erfc": (mpmath.erfc, (-7, 28), 1.6, 1.8),
    "erfinv": (mpmath.erfinv, (-0.99999, 0.99999), 1.8, 2.0),
    "lgamma": (mpmath.loggamma, (1e-300, 1e305), 0.6, 2.0),
    "digamma": (mpmath.digamma, (1e-300, 1e305), 0.6, 2.0),
    "trigamma": (lambda x: mpmath.psi(1, x), (1e-150, 1e305), 0.6, 2.0),
    "sqrt": (mpmath.sqrt, (0, INF), 0.5, 0.5),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), (1e-44, INF), 1.5, 1.5),
}
SLOW = {"erfinv": 60, "lgamma": 150, "digamma": 150, "trigamma": 150}
PERIODIC = ("sin", "cos", "tan")


def near_quarter_turns(dtype):
    """Arguments whose sine or cosine is small, below and above the limit."""
    random = np.random.default_rng(0)
    with mpmath.workprec(300):
        turns = [int(2.0**power) for power in random.uniform(0, 60, 300)]
        near = [float(turn * mpmath.pi / 2) for turn in turns]
    special = [39441.125, 6381956970095103 * 2.0**797]
    with np.errstate(over="ignore"):
        return np.array([*near, *special]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_error_stays_below_the_stated_bound(name, dtype):
    reference, domain, single, double = UNARY[name]
    x = samples(dtype, *domain, count=SLOW.get(name, 400), seed=len(name))
    if name in PERIODIC:
        x = np.concatenate([x, near_quarter_turns(dtype)])
    with mpmath.workprec(1300 if name in PERIODIC else 140):
        error, place = worst(name, reference, x)
    bound = single if dtype == "float32" else double
    assert error <= bound, f"{name} errs by {error:.2f} ulp at {place}"


def test_every_function_has_a_stated_bound():
    assert {*UNARY, "atan2"} == set(FUNCTIONS)


SPECIAL = {
    "exp": [1, 1, INF, 0, NAN],
    "exp2": [1, 1, INF, 0, NAN],
    "expm1": [0.0, -0.0, INF, -1, NAN],
    "tanh": [0.0, -0.0, 1, -1, NAN],
    "sinh": [0.0, -0.0, INF, -INF, NAN],
    "cosh": [1, 1, INF, INF, NAN],
    "log": [-INF, -INF, INF, NAN, NAN],
    "log2": [-INF, -INF, INF, NAN, NAN],
    "log10": [-INF, -INF, INF, NAN, NAN],
    "log1p": [0.0, -0.0, INF, NAN, NAN],
    "asinh": [0.0, -0.0, INF, -INF, NAN],
    "acosh": [NAN, NAN, INF, NAN, NAN],
    "atanh": [0.0, -0.0, NAN, NAN, NAN],
    "sin": [0.0, -0.0, NAN, NAN, NAN],
    "cos": [1, 1, NAN, NAN, NAN],
    "tan": [0.0, -0.0, NAN, NAN, NAN],
    "asin": [0.0, -0.0, NAN, NAN, NAN],
    "acos": [np.pi / 2, np.pi / 2, NAN, NAN, NAN],
    "atan": [0.0, -0.0, np.pi / 2, -np.pi / 2, NAN],
    "erf": [0.0, -0.0, 1, -1, NAN],
    "erfc": [1, 1, 0, 2, NAN],
    "erfinv": [0.0, -0.0, NAN, NAN, NAN],
    "lgamma": [INF, INF, INF, INF, NAN],
    "digamma": [-INF, INF, INF, NAN, NAN],
    "trigamma": [INF, INF, 0, INF, NAN],
    "sqrt": [0.0, -0.0, INF, NAN, NAN],
    "rsqrt": [INF, -INF, 0, NAN, NAN],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_zeros_infinities_and_nan(name, dtype):
    got = computed(name, np.array([0.0, -0.0, INF, -INF, NAN], dtype))
    expected = np.array(SPECIAL[name], dtype)
    np.testing.assert_array_equal(got, expected)
    known = ~np.isnan(expected)
    assert np.array_equal(np.signbit(got)[known], np.signbit(expected)[known])


@pytest.mark.parametrize(
    "name", ["exp", "sin", "log", "log10", "tanh", "erf", "erfc", "erfinv", "lgamma"]
)
def test_every_isa_level_computes_the_same_bits(name):
    x = samples("float32", -INF, INF, 400)
    results = [computed(name, x, target=target) for target in RUNNABLE]
    for result in results:
        assert np.array_equal(result, results[0], equal_nan=True)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("name", ["log", "tanh", "erf", "erfc", "erfinv"])
def test_vectors_of_every_width_have_the_same_bits(name, target):
    """Next to wider numbers, vectors of float32 have half or a quarter of the lanes."""
    x = samples("float32", -INF, INF, 400)
    wide = np.linspace(1, 2, x.size)
    beside = make("exp", load(1, (), "float64")) * 0.0
    body = cast(make(name, load(0, (), "float32")), "float64") + beside
    kernel = Kernel(Map((body,)), ("float32", "float64"), ("float64",))
    got = run_map(kernel, x, wide, target=target)[0][0]
    assert np.array_equal(got, computed(name, x).astype("float64"), equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pow_and_atan2_stay_below_one_ulp(dtype):
    random = np.random.default_rng(1)
    x = np.exp(random.uniform(-60, 60, 300)).astype(dtype)
    y = (random.normal(size=300) * 10).astype(dtype)
    x[:100] = random.uniform(0.5, 2, 100)
    y[:100] = random.uniform(-900, 900, 100) / (1 if dtype == "float64" else 9)
    with mpmath.workprec(200):
        assert worst("pow", mpmath.power, x, y)[0] < 1
        assert worst("atan2", mpmath.atan2, y, x)[0] < 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", ["subnormal", "largest"])
def test_atan2_stays_below_one_ulp_at_the_ends_of_the_range(dtype, size):
    """Where sums would overflow, and the error of a division would underflow."""
    random, info = np.random.default_rng(2), np.finfo(dtype)
    unit = info.smallest_subnormal * 20 if size == "subnormal" else info.max / 2
    x, y = (random.uniform(-2, 2, 300) * unit for _ in range(2))
    x, y = x.astype(dtype), y.astype(dtype)
    counts = (x != 0) & (y != 0)  # mpmath has no signed zeros
    with mpmath.workprec(200):
        assert worst("atan2", mpmath.atan2, y[counts], x[counts])[0] < 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["pow", "fmod", "atan2"])
def test_special_values_of_two_arguments_follow_c(name, dtype):
    values = np.array(
        [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, INF, -INF, NAN], dtype
    )
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    reference = {"pow": np.power, "fmod": np.fmod, "atan2": np.arctan2}[name]
    with np.errstate(all="ignore"):
        expected = reference(a, b)
    got = computed(name, a, b)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=0)
    known = ~np.isnan(expected)
    assert np.array_equal(np.signbit(got)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_are_exact_over_the_whole_range(dtype):
    a = samples(dtype, -INF, INF, 500)
    b = samples(dtype, -INF, INF, 500, seed=3)
    a, b = a[: len(b)], b[: len(a)]
    a, b = a[b != 0], b[b != 0]
    assert np.array_equal(computed("fmod", a, b), np.fmod(a, b))
    assert np.array_equal(computed("mod", a, b), np.mod(a, b))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [op.name for op in SCALAR_OPS.values() if op.is_odd])
def test_odd_functions_have_mirrored_bits(name, dtype):
    words = dtype.replace("float", "uint")
    random = np.random.default_rng(3)
    most = np.iinfo(words).max
    drawn = random.integers(0, most, 2000, dtype=words, endpoint=True).view(dtype)
    moderate = np.array([*random.standard_normal(2000), 0, 1, np.inf]).astype(dtype)
    x = np.concatenate([drawn[~np.isnan(drawn)], moderate])
    kernel = Kernel(Map((make(name, load(0, (), dtype)),)), (dtype,), (dtype,))
    ((y,),), ((mirrored,),) = run_map(kernel, x), run_map(kernel, -x)
    is_nan = np.isnan(y)
    assert np.array_equal(is_nan, np.isnan(mirrored))
    same = (-y).view(words) == mirrored.view(words)
    assert np.all(same | is_nan)
