"""Functions over ops of their names that say what no schema does: operands or dims in
several forms, choices by name.

The ops are ``pellucid_compiler/composites``'s.
"""

from __future__ import annotations

from functools import cache

from pellucid._C import _op_named
from pellucid._ops import ops
from pellucid._package.calls import offered
from pellucid._package.calls.argument_checks import require_tensors
from pellucid._package.calls.captured import captured_as
from pellucid._package.calls.deprecation import deprecated
from pellucid._package.calls.out_argument import write_out
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

_op = cache(_op_named)


@offered.function
def einsum(*args: Any) -> Tensor:
    """Einstein's sum: ``einsum("ij,jk->ik", a, b)``; also ``einsum(a, [0, 1], ...)``.

    Operands are joined from left to right; ``...`` names dims that broadcast.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum takes an equation and tensors, or tensors and lists of numbers: "
            'einsum("ij,jk->ik", a, b)'
        )
    equation, operands = args[0], args[1:]
    if not isinstance(equation, str):
        operands = args[0:-1:2] if len(args) % 2 else args[0::2]
        equation = ",".join(map(_letters, args[1::2]))
        if len(args) % 2:
            equation += "->" + _letters(args[-1])
    operands = _unpacked(equation, *operands)[1:]
    require_tensors("einsum", *operands)
    return _summed(equation, operands)


def _unpacked(*args: Any) -> tuple[Any, ...]:
    """The arguments with operands that came as one list; modes see them so, too."""
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        return args[0], *args[1]
    return args


einsum._seen_as = _unpacked  # type: ignore[attr-defined]


def _summed_by_op(equation: str, operands: Any) -> Tensor:
    result: Tensor = ops.aten.einsum.default(equation, list(operands))
    return result


@captured_as(_summed_by_op)
def _summed(equation: str, operands: Any) -> Tensor:
    """By the body of the composite: a call of the op would box equation and list."""
    result: Tensor = (_einsum or _find_einsum())(equation, operands, path=None)
    return result


_einsum: Any = None


def _find_einsum() -> Any:
    from pellucid._C._runtime import composites

    global _einsum
    module = "pellucid_compiler.composites.contractions"
    _einsum = composites.find(module, "einsum")
    return _einsum


def _letters(dims: Any) -> str:
    """The names of dims that numbers from 0 to 51 tell; ``...`` as it is."""
    return "".join("..." if n is Ellipsis else _letter(n) for n in dims)


def _letter(number: int) -> str:
    if not 0 <= number < 52:
        raise ValueError(f"einsum: the dim {number}; numbers are from 0 to 51")
    return chr(ord("A") + number if number < 26 else ord("a") + number - 26)


@offered.function
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """The sum of products over pairs of dims; a number: the last and first ones."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot over {dims} dims of tensors of {a.dim()} and {b.dim()}"
            )
        dims = list(range(a.dim() - dims, a.dim())), list(range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if out is not None:
        written: Tensor = _op("tensordot.out")(a, b, first, second, out=out)
        return written
    result: Tensor = _op("tensordot")(a, b, first, second)
    return result


_CDIST_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


@offered.function
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = _CDIST_MODES[0],
) -> Tensor:
    """The ``p`` distances of all rows of ``x1`` (..., P, M) and all rows of ``x2``
    (..., R, M): (..., P, R).

    Of order 2 and with more than 25 rows on a side, the distances come by default from
    a matrix product, which rounds distances of close rows to one;
    ``"donot_use_mm_for_euclid_dist"`` sums the differences.
    """
    if compute_mode not in _CDIST_MODES:
        raise ValueError(
            f"cdist: there is no compute_mode {compute_mode!r}; give one of "
            f"{', '.join(_CDIST_MODES)}"
        )
    how = _CDIST_MODES.index(compute_mode) or None  # None: chosen by the sizes
    result: Tensor = _op("cdist")(x1, x2, p, how)
    return result


@offered.function
@offered.method
def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None
) -> tuple[Tensor, ...]:
    """``linalg.lu_factor``, with its info too if ``get_infos``."""
    from pellucid import linalg

    deprecated("torch.lu", "torch.linalg.lu_factor or lu_factor_ex")
    factors, pivots, info = linalg.lu_factor_ex(A, pivot=pivot)
    found = (factors, pivots, info) if get_infos else (factors, pivots)
    return write_out(found, out)
