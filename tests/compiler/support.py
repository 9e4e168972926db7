"""Calling compiled kernels on NumPy arrays."""

import ctypes
import functools

import numpy as np

from pellucid_compiler.codegen.targets.x86 import TARGETS, host_target
from pellucid_compiler.pack.generate import compile_kernel
from pellucid_compiler.pack.jit import Executable

RUNNABLE = [t for t in TARGETS.values() if t.vector_bits <= host_target().vector_bits]


@functools.cache
def _function(kernel, target):
    pointers = [ctypes.c_void_p] * 4
    return Executable(compile_kernel(kernel, target)).function(
        ctypes.c_int64, *pointers
    )


def compiled(kernel, target=None):
    """The ctypes function of a kernel, compiled once."""
    return _function(kernel, target or host_target())


def bits(value):
    """The 64-bit encoding of a parameter."""
    if isinstance(value, (bool, int, np.integer)):
        return np.int64(value).view("uint64")
    return np.float64(value).view("uint64")


def call(kernel, outputs, inputs, sizes, strides, params=(), target=None):
    """Run a kernel; ``strides`` are its list for outputs, then inputs, in bytes."""
    arrays = [*outputs, *inputs]
    data = np.array([a.ctypes.data for a in arrays], "uint64")
    sizes = np.array(sizes, "int64")
    strides = np.array(strides, "int64")
    slots = np.array([bits(p) for p in params] or [0], "uint64")
    places = [a.ctypes.data for a in (data, sizes, strides, slots)]
    return compiled(kernel, target)(*places)


def numpy_dtype(dtype):
    """The NumPy dtype an operand of ``dtype`` is stored as in these tests."""
    return "uint16" if dtype == "bfloat16" else dtype


def run_map(kernel, *inputs, params=(), target=None, returns=0):
    """A map over equal-shaped arrays of at most two dimensions, of any strides.

    ``returns`` is the status that the kernel must give.
    """
    inputs = [np.atleast_2d(x) for x in inputs]
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    inputs = [np.broadcast_to(x, shape) for x in inputs]
    outputs = [np.zeros(shape, numpy_dtype(d)) for d in kernel.outputs]
    strides = []
    for a in [*outputs, *inputs]:
        strides += [a.strides[1], a.strides[0]]
    sizes = [shape[1], shape[0]]
    assert call(kernel, outputs, inputs, sizes, strides, params, target) == returns
    return outputs


def run_reduce(kernel, *inputs, params=(), target=None, returns=0):
    """Reduce the last axis of equal-shaped arrays of two dimensions, of any strides."""
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    inputs = [np.broadcast_to(x, shape) for x in inputs]
    outputs = [np.zeros(shape[0], numpy_dtype(d)) for d in kernel.outputs]
    strides = []
    for a in outputs:
        strides += [a.strides[0], 0]
    for a in inputs:
        strides += [a.strides[0], a.strides[1]]
    assert call(kernel, outputs, inputs, shape, strides, params, target) == returns
    return outputs


def run_nest(
    kernel, output, *inputs, extents, begin=0, params=(), target=None, best=None
):
    """Run a nest into ``output``, and ``best`` if it gives two, in place; returns the
    status.
    """
    outputs = [output] if best is None else [output, best]
    arrays = [*outputs, *inputs]
    sizes = [begin, extents[0], *extents[1:]] if extents else [0, 0]
    strides = []
    for a in arrays:
        sizes += a.shape
        strides += a.strides
    return call(kernel, outputs, inputs, sizes, strides, params, target)
