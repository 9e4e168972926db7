"""Functions of complex tensors that are attributes or methods of Tensor.

Conjugates are computed at once: no tensor has a conjugation pending. Used by
``pellucid/__init__.py`` through ``__all__``; the arithmetic is that of all ops, see
``ir/complex_functions.py``.
"""

from __future__ import annotations

from pellucid._tensor import Tensor

__all__ = [
    "adjoint",
    "conj",
    "imag",
    "is_conj",
    "is_neg",
    "real",
    "resolve_conj",
    "resolve_neg",
]


def real(input: Tensor) -> Tensor:
    """A view of the real parts; a real tensor itself."""
    result: Tensor = input.real
    return result


def imag(input: Tensor) -> Tensor:
    """A view of the imaginary parts of a complex tensor."""
    result: Tensor = input.imag
    return result


def conj(input: Tensor) -> Tensor:
    """The complex conjugates; a real tensor itself."""
    return input.conj()


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, the elements conjugated."""
    return input.adjoint()


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugation is never pending."""
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negation is never pending."""
    return input


def is_conj(input: Tensor) -> bool:
    """False: conjugation is never pending."""
    return False


def is_neg(input: Tensor) -> bool:
    """False: negation is never pending."""
    return False
