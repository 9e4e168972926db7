"""Kernels for one thread of a grid: printed as PTX, or run by fibers of the CPU.

Read README.md and builder.py.
"""
