"""Draws by numbers or tensors, and sets of values: normal, unique.

Used by ``pellucid/__init__.py`` through ``__all__``; those in ``_METHODS`` are
methods of Tensor too.
"""

from __future__ import annotations

import pellucid
from pellucid import _C
from pellucid import normal as _normal_of_numbers
from pellucid._calls.argument_checks import any_true
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "normal",
    "unique",
]
_METHODS = ("unique",)


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Normal numbers; mean and deviation are numbers or tensors of one number each.

    Two numbers need a ``size``. Draws have no history.

    >>> torch.normal(torch.tensor([1.0, 2.0]), 0.0)
    tensor([1., 2.])
    """
    given = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not given:
        options = options if out is None else {**options, "out": out}
        return _normal_of_numbers(mean, std, size, generator=generator, **options)
    if any_true(std < 0) if isinstance(std, Tensor) else std < 0:
        raise RuntimeError("normal: std is negative, or one of its elements is")
    with pellucid.no_grad():
        shape = pellucid.broadcast_shapes(*(t.shape for t in given))
        drawn = pellucid.randn(shape, generator=generator, dtype=given[0].dtype)
        found = drawn.mul_(std).add_(mean)
        return found if out is None else out.resize_(shape).copy_(found)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements in order; which of them each is, and how often it stands.

    Along ``dim`` whole slices are compared.
    """
    if dim is None:
        found = pellucid._unique2(input, sorted, return_inverse, return_counts)
    else:
        op = _C._op_named("unique_dim")
        found = op(input, dim, sorted, return_inverse, return_counts)
    parts = [found[0]]
    parts += [found[1]] if return_inverse else []
    parts += [found[2]] if return_counts else []
    return parts[0] if len(parts) == 1 else tuple(parts)


for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
