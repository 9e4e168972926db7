"""Kernels as a user writes them: they are compiled from this file."""

from pellucid.devices import gpu


@gpu.kernel
def scale(x, out, n, factor):
    i = gpu.block() * gpu.threads() + gpu.thread()
    if i < n:
        out[i] = x[i] * factor
