"""Map kernels: every dtype, every layout, every length; bits equal to the
interpreter's.
"""

import numpy as np
import pytest

from pellucid_compiler.abi.status import REQUIREMENT_FAILED, ZERO_DIVISION, status
from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.codegen.lowerings import FORMS, LOWERINGS
from pellucid_compiler.ir.evaluate import evaluate
from pellucid_compiler.ir.expr import SCALAR_OPS, cast, checked, load, make, select, sym
from tests.compiler.support import RUNNABLE, run_map

REAL = ["bool", "uint8", "int8", "int16", "int32", "int64"]
REAL += ["float16", "bfloat16", "float32", "float64"]


def random_array(dtype, shape, seed=0):
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype == "bfloat16":
        bits = random.normal(size=shape).astype("float32").view("uint32") >> 16
        return bits.astype("uint16")
    if dtype.startswith("float"):
        return (random.normal(size=shape) * 4).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype, endpoint=True)


def widened(array, dtype):
    """An operand as the interpreter holds it."""
    if dtype == "bfloat16":
        return (array.astype("uint32") << 16).view("float32")
    return array


def narrowed(value, dtype):
    """A value of the interpreter as a kernel stores it."""
    if dtype == "bfloat16":
        bits = np.asarray(value, "float32").view("uint32")
        return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype("uint16")
    return np.asarray(value).astype(dtype)


def test_the_compiler_lowers_exactly_the_scalar_ops_of_the_ir():
    assert set(LOWERINGS) == set(SCALAR_OPS)
    assert {op.lowering.split()[0] for op in SCALAR_OPS.values()} == set(FORMS)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("op", ["add", "mul", "maximum", "lt", "eq"])
def test_arithmetic_in_every_dtype_at_every_length(op, dtype, target):
    value = make(op, load(0, (), dtype), load(1, (), dtype))
    result = "bool" if op in ("lt", "eq") else dtype
    kernel = Kernel(Map((value,)), (dtype, dtype), (result,))
    for length in (0, 1, 3, 15, 16, 17, 63, 64, 65, 200, 300):
        a, b = (random_array(dtype, (1, length), seed) for seed in (1, 2))
        (got,) = run_map(kernel, a, b, target=target)
        operands = [widened(a, dtype), widened(b, dtype)]
        expected = evaluate_map(value, operands)
        assert np.array_equal(got, narrowed(expected, result))


def evaluate_map(value, operands, **env):
    """The interpreter's value of a map body over arrays."""
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    flat = [np.broadcast_to(x, shape).ravel() for x in operands]
    at = np.arange(int(np.prod(shape)))
    indexed = replace_loads(value)
    result = np.asarray(evaluate(indexed, env, [at], flat))
    return np.broadcast_to(result, at.shape).reshape(shape)


def replace_loads(value):
    """``load(k, ())`` as a load at the flat position."""
    from pellucid_compiler.ir.expr import axis
    from pellucid_compiler.ir.traversal import rewrite

    def leaf(e, _):
        return load(e.attr, (axis(0),), e.dtype) if e.op == "load" else None

    return rewrite(value, leaf)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_any_strides(dtype, target):
    value = load(0, (), dtype) * load(1, (), dtype) - load(0, (), dtype)
    kernel = Kernel(Map((value,)), (dtype, dtype), (dtype,))
    big = random_array(dtype, (40, 90), 1)
    layouts = {
        "dense": big[:20, :40],
        "column": big[:40, :20].T,
        "steps": big[::2, ::2][:, :40],
        "backwards": big[:20, 40:0:-1],
        "row": np.broadcast_to(big[0, :40], (20, 40)),
        "numbers": np.broadcast_to(big[:20, :1], (20, 40)),
    }
    for first in layouts.values():
        for second in layouts.values():
            (got,) = run_map(kernel, first, second, target=target)
            expected = evaluate_map(value, [first, second])
            assert np.array_equal(got, narrowed(expected, dtype))


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_split_and_reassembled(dtype, target):
    z, w = load(0, (), dtype), load(1, (), dtype)
    whole = make("complex", make("imag", z), make("real", w) - make("imag", z))
    values = (whole, make("real", w), select(make("real", z) < 0, z, w))
    results = (dtype, values[1].dtype, dtype)
    kernel = Kernel(Map(values), (dtype, dtype), results)
    numbers = np.random.default_rng(0).normal(size=(2, 40, 90, 2))
    a, b = numbers.astype(values[1].dtype).view(dtype)[..., 0]
    layouts = [(a[:1, :k], b[:1, :k]) for k in (0, 1, 3, 4, 5, 8, 9, 33)]
    layouts += [(a[::2, 1:50:2], b[:20, 25:0:-1]), (a.T, b.T), (a, b[:, :1])]
    for first, second in layouts:
        first, second = np.broadcast_arrays(first, second)
        for value, got in zip(
            values, run_map(kernel, first, second, target=target), strict=True
        ):
            expected = evaluate_map(value, [first, second])
            assert np.array_equal(got, narrowed(expected, got.dtype))


def test_a_body_whose_every_value_is_used_twice_is_walked_once():
    value = load(0, (), "float32")
    for _ in range(60):
        value = make("sin", value) * value
    kernel = Kernel(Map((value,)), ("float32",), ("float32",))
    x = random_array("float32", (1, 8))
    np.testing.assert_allclose(
        run_map(kernel, x)[0], evaluate_map(value, [x]), rtol=1e-3, atol=1e-30
    )


@pytest.mark.parametrize("source", REAL)
@pytest.mark.parametrize("dtype", REAL)
def test_casts_are_total(source, dtype):
    kernel = Kernel(Map((cast(load(0, (), source), dtype),)), (source,), (dtype,))
    x = random_array(source, (1, 200))
    if source in ("float32", "float64"):
        x[0, :8] = [np.nan, np.inf, -np.inf, 2**31, -(2**31), 2**63, 1e30, -0.0]
    (got,) = run_map(kernel, x)
    with np.errstate(all="ignore"):
        expected = evaluate_map(kernel.form.values[0], [widened(x, source)])
    if dtype == "bfloat16":
        expected = np.where(
            np.isnan(expected), np.uint32(0x7FC00000).view("f4"), expected
        )
    expected = narrowed(expected, dtype)
    np.testing.assert_array_equal(got, expected)


INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["floordiv", "mod", "fmod", "pow", "shl", "shr"])
def test_integer_ops_are_total(op, dtype):
    value = make(op, load(0, (), dtype), load(1, (), dtype))
    kernel = Kernel(Map((value,)), (dtype, dtype), (dtype,))
    a, b = (random_array(dtype, (1, 500), seed) for seed in (1, 2))
    b[0, ::3] = np.arange(len(b[0, ::3])) % 9
    info = np.iinfo(dtype)
    a[0, :2], b[0, 1] = info.min, info.max
    if info.min < 0 and op in ("floordiv", "mod", "fmod"):
        b[0, 0] = -1
    divides = op in ("floordiv", "mod", "fmod")
    (got,) = run_map(kernel, a, b, returns=status(ZERO_DIVISION) if divides else 0)
    with np.errstate(all="ignore"):
        expected = evaluate_map(value, [a, b])
    assert np.array_equal(got, expected.astype(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("step", [1, 2], ids=["dense", "strided"])
def test_zero_divisors_are_reported_wherever_they_are(dtype, step):
    value = make("floordiv", load(0, (), dtype), load(1, (), dtype))
    kernel = Kernel(Map((value,)), (dtype, dtype), (dtype,))
    a = np.ones((3, 77 * step), dtype)[:, ::step]
    for place in (None, (0, 0), (1, 40), (2, 76)):
        b = np.ones((3, 77 * step), dtype)[:, ::step]
        if place is not None:
            b[place] = 0
        run_map(kernel, a, b, returns=0 if place is None else status(ZERO_DIVISION))


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("step", [1, 2], ids=["dense", "strided"])
def test_elements_that_are_not_as_checked_are_reported(dtype, step, target):
    x, y = load(0, (), dtype), load(1, (), dtype)
    value = checked(checked(x, make("le", x, y), 0), make("lt", y, 9), 1)
    kernel = Kernel(Map((value,)), (dtype, dtype), (dtype,))
    a = np.ones((3, 77 * step), dtype)[:, ::step]
    for place in (None, (0, 0), (1, 40), (2, 76)):
        for bad, number in ((0, 0), (9, 1)):
            b = np.ones((3, 77 * step), dtype)[:, ::step]
            failed = status(REQUIREMENT_FAILED, number)
            if place is not None:
                b[place] = bad
            run_map(kernel, a, b, target=target, returns=failed if place else 0)


def test_checks_under_a_select_are_of_the_elements_that_it_takes():
    x = load(0, (), "float32")
    value = select(x < 5, checked(x, x > 0, 0), checked(-x, x < 9, 1))
    kernel = Kernel(Map((value,)), ("float32",), ("float32",))
    good = np.arange(1, 9, dtype="float32")[None]
    (got,) = run_map(kernel, good)
    assert np.array_equal(got, np.where(good < 5, good, -good))
    for bad, number in ((-1, 0), (11, 1)):
        x = good.copy()
        x[0, 3] = bad
        run_map(kernel, x, returns=status(REQUIREMENT_FAILED, number))


def test_checks_are_part_of_a_kernels_name():
    x = load(0, (), "float32")
    plain, other = Map((x,)), Map((checked(x, make("le", x, 1.0), 0),))
    kernels = [Kernel(form, ("float32",), ("float32",)) for form in (plain, other)]
    assert kernels[0].kernel_id != kernels[1].kernel_id


def test_division_under_a_select_does_not_fail():
    x, y = load(0, (), "int64"), load(1, (), "int64")
    value = select(y < 1, x, x // y)
    kernel = Kernel(Map((value,)), ("int64", "int64"), ("int64",))
    a, b = np.arange(20), np.arange(20) % 3
    (got,) = run_map(kernel, a, b)
    assert np.array_equal(got[0], np.where(b < 1, a, a // np.maximum(b, 1)))


def test_parameters_selects_and_several_outputs():
    x, y = load(0, (), "float32"), load(1, (), "float32")
    scale, flag = sym("p0", "weakfloat"), sym("p1", "bool")
    first = select(flag, x * scale, x + y)
    second = select(x < y, y, x * 2.0)
    form = Map((first, second, make("isnan", x)))
    outputs = ("float32", "float32", "bool")
    kernel = Kernel(form, ("float32", "float32"), outputs, ("weakfloat", "bool"))
    a, b = random_array("float32", (7, 33), 1), random_array("float32", (7, 33), 2)
    a[0, 0] = np.nan
    for chosen in (True, False):
        got = run_map(kernel, a, b, params=(0.1, chosen))
        for result, value in zip(got, form.values, strict=True):
            expected = evaluate_map(value, [a, b], p0=0.1, p1=chosen)
            assert np.array_equal(result, expected, equal_nan=True)


def test_an_output_may_be_an_input():
    x, y = load(0, (), "float32"), load(1, (), "float32")
    kernel = Kernel(Map((x * y, x + y)), ("float32",) * 2, ("float32",) * 2)
    from tests.compiler.support import call

    a, b = random_array("float32", (1, 100), 1), random_array("float32", (1, 100), 2)
    first, second = a.copy(), b.copy()
    assert call(kernel, [first, second], [first, second], [100, 1], [4, 400] * 4) == 0
    assert np.array_equal(first, a * b) and np.array_equal(second, a + b)


def test_equal_kernels_have_equal_names():
    def build(name):
        x = load(0, (), "float32")
        return Kernel(Map((make(name, x) + 1.0,)), ("float32",), ("float32",))

    assert build("exp").kernel_id == build("exp").kernel_id
    assert build("exp").kernel_id != build("sin").kernel_id
    assert build("exp").text == (
        "map (f32) () -> (f32)\n%0 = load f32 0\n%1 = exp f32 %0\n"
        "%2 = const f32 0x1.0000000000000p+0\n%3 = add f32 %1 %2\nreturn %3\n"
    )


def _oscillator(steps, x, v):
    """A chain of dependent arithmetic, of elements or of arrays."""
    for _ in range(steps):
        x, v = x + v * 0.125, v - (x * x * x - x) * 0.25
    return x, v


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_long_arithmetic_at_every_length_and_layout(steps, target):
    values = _oscillator(steps, load(0, (), "float32"), load(1, (), "float32"))
    kernel = Kernel(Map(values), ("float32",) * 2, ("float32",) * 2)
    for length in (1, 7, 8, 15, 16, 17, 33, 100):
        for step in (1, 2, -1):
            inputs = [random_array("float32", (2, 2 * length), k) for k in range(2)]
            inputs = [a[:, ::step][:, :length] for a in inputs]
            found = run_map(kernel, *inputs, target=target)
            for a, b in zip(found, _oscillator(steps, *inputs), strict=True):
                assert a.tobytes() == b.tobytes()


def test_long_arithmetic_reports_failed_checks_of_both_vectors():
    values = _oscillator(4, load(0, (), "float32"), load(1, (), "float32"))
    guarded = checked(values[0], load(0, (), "float32") < 100.0, 5)
    kernel = Kernel(Map((guarded, values[1])), ("float32",) * 2, ("float32",) * 2)
    for place in (0, 9, 21, 39):
        x = random_array("float32", (1, 40))
        run_map(kernel, x, x)
        x[0, place] = 200.0
        run_map(kernel, x, x, returns=status(REQUIREMENT_FAILED, 5))
