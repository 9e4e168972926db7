"""Kernels to LLVM text; see README.md. Importing the package imports none of its
modules.
"""
