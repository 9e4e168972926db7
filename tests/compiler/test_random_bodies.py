"""Random bodies in random forms and layouts: machine code against the interpreter."""

import numpy as np
import pytest

from pellucid_compiler.codegen.kernel import Kernel, Map, Nest, Reduce, Store
from pellucid_compiler.codegen.targets.x86 import TARGETS
from pellucid_compiler.ir.evaluate import evaluate
from pellucid_compiler.ir.expr import axis, cast, const, load, make, padded_load, select
from pellucid_compiler.pack.generate import kernel_text
from pellucid_compiler.pack.jit import compile_object
from pellucid_compiler.pack.link import link
from tests.compiler.support import RUNNABLE, run_map, run_nest, run_reduce
from tests.compiler.test_map import evaluate_map, narrowed, random_array, widened

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64"]
DTYPES += ["float16", "bfloat16", "float32", "float64"]
FLOAT_UNARY = ["neg", "abs", "sign", "floor", "ceil", "trunc", "round", "sqrt"]
NUMBER_BINARY = ["add", "sub", "mul", "maximum", "minimum", "floordiv", "mod", "fmod"]
INTEGER_BINARY = ["bitand", "bitor", "bitxor", "shl", "shr"]
COMPARE = ["lt", "le", "eq", "ne"]


class Bodies:
    """A source of random typed expressions over loads ``leaf(k)``."""

    def __init__(self, seed, leaf, dtypes):
        self.random = np.random.default_rng(seed)
        self.leaf, self.dtypes = leaf, dtypes

    def pick(self, items):
        return items[self.random.integers(len(items))]

    def number(self, depth):
        """An expression of an arithmetic dtype."""
        if depth == 0 or self.random.random() < 0.15:
            k = int(self.random.integers(len(self.dtypes)))
            return self.wide(self.leaf(k, self.dtypes[k]))
        kind = self.random.random()
        if kind < 0.15:
            return select(
                self.truth(depth - 1), self.number(depth - 1), self.number(depth - 1)
            )
        if kind < 0.3:
            return self.wide(cast(self.number(depth - 1), self.pick(DTYPES[1:])))
        if kind < 0.4:
            return self.number(depth - 1) + const(self.pick([0, 1, -3, 7]), "int16")
        a = self.number(depth - 1)
        if a.dtype.startswith("float") and kind < 0.6:
            return make(self.pick(FLOAT_UNARY), a)
        b = self.number(depth - 1)
        if "int" in a.dtype and "int" in b.dtype and kind < 0.6:
            return make(self.pick(INTEGER_BINARY), a, b)
        return self.wide(make(self.pick(NUMBER_BINARY), a, b))

    def wide(self, e):
        """Halves and bools are computed in float32 and int32."""
        if e.dtype in ("float16", "bfloat16"):
            return cast(e, "float32")
        return cast(e, "int32") if e.dtype == "bool" else e

    def truth(self, depth):
        if depth > 0 and self.random.random() < 0.3:
            return make(
                self.pick(["and", "or"]), self.truth(depth - 1), self.truth(depth - 1)
            )
        return make(self.pick(COMPARE), self.number(depth), self.number(depth))


def same(got, expected):
    """Equal, with any NaN equal to any other."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.dtype == np.uint16:
        got, expected = (v.astype("uint32") << 16 for v in (got, expected))
        got, expected = got.view("float32"), expected.view("float32")
    return np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")


@pytest.mark.parametrize("seed", range(40))
def test_maps(seed):
    random = np.random.default_rng(seed)
    dtypes = tuple(random.choice(DTYPES, random.integers(1, 4)))
    dtypes = tuple(str(d) for d in dtypes)
    bodies = Bodies(seed, lambda k, d: load(k, (), d), dtypes)
    out = str(random.choice(DTYPES))
    value = cast(bodies.number(4), out)
    kernel = Kernel(Map((value,)), dtypes, (out,))
    rows, columns = int(random.integers(1, 20)), int(random.integers(1, 90))
    arrays = []
    for k, dtype in enumerate(dtypes):
        big = random_array(dtype, (2 * rows, 2 * columns), seed + k)
        layouts = [
            big[:rows, :columns],
            big[::2, ::2],
            big[:rows, :1],
            big[:1, :columns],
        ]
        turned = random_array(dtype, (columns, rows), seed + k).T
        view = [*layouts, turned][random.integers(5)]
        arrays.append(np.broadcast_to(view, (rows, columns)))
    with np.errstate(all="ignore"):
        wide = [widened(a, d) for a, d in zip(arrays, dtypes, strict=True)]
        expected = narrowed(evaluate_map(value, wide), out)
    for target in RUNNABLE:
        (got,) = run_map(kernel, *arrays, target=target)
        assert same(got, expected), kernel.text


@pytest.mark.parametrize("seed", range(15))
def test_reductions_of_integers(seed):
    random = np.random.default_rng(100 + seed)
    dtypes = tuple(str(d) for d in random.choice(DTYPES[:6], 2))
    bodies = Bodies(seed, lambda k, d: load(k, (), d), dtypes)
    accumulator = str(random.choice(["int32", "int64", "uint8"]))
    value = cast(bodies.number(3), accumulator)
    combine = str(random.choice(["sum", "prod", "max", "min"]))
    kernel = Kernel(Reduce(value, combine, accumulator), dtypes, (accumulator,))
    rows, columns = int(random.integers(1, 40)), int(random.integers(1, 90))
    arrays = []
    for k, dtype in enumerate(dtypes):
        x = random_array(dtype, (rows, columns), seed + k)
        arrays.append([x, np.asfortranarray(x), x[:, :1], x[:1]][random.integers(4)])
    arrays = [np.broadcast_to(a, (rows, columns)) for a in arrays]
    with np.errstate(all="ignore"):
        values = evaluate_map(value, arrays).astype(accumulator)
        reduce = {"sum": np.add, "prod": np.multiply, "max": np.maximum}
        expected = reduce.get(combine, np.minimum).reduce(
            values, axis=1, dtype=accumulator
        )
    for target in RUNNABLE:
        (got,) = run_reduce(kernel, *arrays, target=target)
        assert np.array_equal(got, expected), kernel.text


@pytest.mark.parametrize("seed", range(25))
def test_nests_of_padded_and_guarded_loads(seed):
    random = np.random.default_rng(200 + seed)
    dtypes = tuple(
        str(d) for d in random.choice(["int32", "float32", "float64", "int8"], 2)
    )
    shape = tuple(int(n) for n in random.integers(1, 40, 2))

    def leaf(k, dtype):
        index = [axis(d) + int(random.integers(-2, 3)) for d in range(2)]
        if random.random() < 0.2:
            index = index[::-1]
        if random.random() < 0.5:
            return padded_load(k, index, 3, dtype)
        inside = const(True)
        for i, n in zip(index, shape, strict=True):
            inside = inside & (const(0) <= i) & (i < n)
        return select(inside, load(k, index, dtype), 5)

    bodies = Bodies(seed, leaf, dtypes)
    out = str(random.choice(["float32", "int64"]))
    value = cast(bodies.number(3), out)
    form = Nest(2, (2, 2, 2), (Store((axis(0), axis(1)), value),))
    kernel = Kernel(form, dtypes, (out,))
    arrays = [random_array(d, shape, seed + k) for k, d in enumerate(dtypes)]
    if random.random() < 0.5:
        arrays = [np.asfortranarray(a) for a in arrays]
    grids = [np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]]
    with np.errstate(all="ignore"):
        expected = np.asarray(evaluate(value, {}, grids, arrays)).astype(out)
        expected = np.broadcast_to(expected, shape)
    for target in RUNNABLE:
        got = np.zeros(shape, out)
        assert run_nest(kernel, got, *arrays, extents=shape, target=target) == 0
        assert same(got, expected), kernel.text


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_conversion_or_arithmetic_becomes_a_library_call(dtype, target):
    """``link`` refuses undefined symbols; this covers every pair of dtypes."""

    def linked(values, outputs):
        text = kernel_text(Kernel(Map(values), (dtype,), outputs), target)
        return link(compile_object(text, target))

    wide = {"float16": "float32", "bfloat16": "float32", "bool": "int32"}
    x = load(0, (), dtype)
    values = tuple(cast(x, other) for other in DTYPES)
    assert linked(values, tuple(DTYPES))
    y = cast(x, wide.get(dtype, dtype))
    names = ["floordiv", "mod", "fmod", "pow", "maximum"]
    values = tuple(make(name, y, y + 1) for name in names)
    assert linked(values, tuple(v.dtype for v in values))
