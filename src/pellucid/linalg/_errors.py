"""What library routines report as numbers, raised as errors."""

from __future__ import annotations

from pellucid import Tensor
from pellucid._calls.argument_checks import any_true, unwrapped


class LinAlgError(RuntimeError):
    """A matrix that the function does not take: singular, or not positive definite."""


def check(name: str, info: Tensor, meaning: str) -> None:
    """Raises if a routine reported a failure; ``meaning`` says what the number tells,
    with ``{}`` for it. Under ``vmap`` one matrix that fails is enough.
    """
    if not any_true(info):
        return
    info = unwrapped(info)
    if info.dim():
        place = int(info.reshape(-1).ne(0).nonzero()[0])
        which = f"matrix {place} of the batch"
        number = int(info.reshape(-1)[place])
    else:
        which, number = "the matrix", int(info)
    raise LinAlgError(f"linalg.{name}: {which} {meaning.format(number)}")


SINGULAR = "is singular: diagonal element {} of its factor U is zero"
INDEFINITE = (
    "is not positive definite: its leading minor of order {} is not; give a symmetric "
    "matrix with positive eigenvalues"
)
