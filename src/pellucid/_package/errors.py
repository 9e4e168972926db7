"""Types of errors that programs catch by name. Everything else raises Python's own."""

from __future__ import annotations


class AcceleratorError(RuntimeError):
    """What a device reports; no device does here."""


class OutOfMemoryError(RuntimeError):
    """A device's memory is exhausted.

    As in PyTorch, the CPU's allocator raises a plain RuntimeError.
    """
