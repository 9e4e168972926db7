"""Errors of elementary functions in units in the last place, against mpmath."""

import mpmath
import numpy as np

from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.ir.expr import load, make
from tests.compiler.support import run_map

MANTISSA = {"float32": 23, "float64": 52}
LEAST_EXPONENT = {"float32": -149, "float64": -1074}


def kernel_of(name, dtype, arity=1):
    operands = [load(k, (), dtype) for k in range(arity)]
    return Kernel(Map((make(name, *operands),)), (dtype,) * arity, (dtype,))


def computed(name, *arrays, target=None):
    dtype = arrays[0].dtype.name
    kernel = kernel_of(name, dtype, len(arrays))
    return run_map(kernel, *arrays, target=target)[0][0]


def ulps(dtype, got, exact):
    """The distance of ``got`` from the mpmath number ``exact``; infinite if wrong."""
    got = float(got)
    if mpmath.isnan(exact) or np.isnan(got):
        return 0.0 if mpmath.isnan(exact) and np.isnan(got) else np.inf
    if np.isinf(got):
        limit = mpmath.mpf(float(np.finfo(dtype).max))
        beyond = abs(exact) > limit and (exact > 0) == (got > 0)
        return 0.0 if beyond else np.inf
    if mpmath.isinf(exact):
        return np.inf
    if exact == 0:
        return 0.0 if got == 0 else np.inf
    exponent = mpmath.frexp(exact)[1] - 1 - MANTISSA[dtype]
    unit = mpmath.ldexp(1, max(exponent, LEAST_EXPONENT[dtype]))
    return float(abs(mpmath.mpf(got) - exact) / unit)


def worst(name, reference, *arrays, target=None):
    """The largest error in ulp over the arrays, and the arguments where it is."""
    got = computed(name, *arrays, target=target)
    dtype = arrays[0].dtype.name
    actual = (0.0, None)
    for k, result in enumerate(got):
        place = tuple(float(a[k]) for a in arrays)
        error = ulps(dtype, result, reference(*map(mpmath.mpf, place)))
        actual = max(actual, (error, (*place, float(result))), key=lambda pair: pair[0])
    return actual


def samples(dtype, low, high, count=1500, seed=0):
    """Numbers in [low, high]: uniform, uniform in exponent, and normal."""
    random = np.random.default_rng(seed)
    info = np.finfo(dtype)
    low, high = max(low, float(info.min)), min(high, float(info.max))
    even = random.uniform(low / 2, high / 2, count // 2) * 2
    least = np.log2(float(info.smallest_subnormal))
    sizes = 2.0 ** random.uniform(least, np.log2(float(info.max)), 4 * count)
    signs = random.choice([-1.0, 1.0], sizes.shape)
    spread = (sizes * signs)[(sizes * signs >= low) & (sizes * signs <= high)]
    near = random.normal(size=count // 4) * 2
    near = near[(near >= low) & (near <= high)]
    return np.concatenate([even, spread[: count // 2], near]).astype(dtype)
