"""Types of errors that programs catch by name. Everything else raises Python's own."""

from __future__ import annotations


class AcceleratorError(RuntimeError):
    """An error reported by a device; never raised here."""


class OutOfMemoryError(RuntimeError):
    """A device's memory is exhausted.

    As in PyTorch, the CPU's allocator raises a plain RuntimeError.
    """
