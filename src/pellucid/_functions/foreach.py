"""``_foreach_add``, ``_foreach_sqrt_`` and their like: an op applied to every element
of lists of tensors.

PyTorch's optimizers, and those of other libraries, are written in them. Each is
derived from its op at first use: lists go together element by element, anything else
goes to every call. Gradients, overriding and errors are those of the single calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._package.calls import offered

_PREFIX = "_foreach_"


def _columns(name: str, given: Sequence[Any]) -> list[Iterable[Any]]:
    """What each place of the calls gets: an element of the list, or always the same."""
    lengths = [len(value) for value in given if isinstance(value, (list, tuple))]
    if not lengths:
        types = ", ".join(type(value).__name__ for value in given)
        raise TypeError(
            f"{name} takes lists of tensors, but got ({types})\n"
            f"For one tensor call {name.removeprefix(_PREFIX)}."
        )
    if len(set(lengths)) > 1:
        raise RuntimeError(f"{name}: lists of one length are expected, got {lengths}")
    if lengths[0] == 0:
        raise RuntimeError(f"{name}: lists of at least one tensor are expected, got []")
    return [v if isinstance(v, (list, tuple)) else repeat(v) for v in given]


def _rows(name: str, given: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    return zip(*_columns(name, given), strict=False)  # a cyclic list has no end


def _options_of(op: str) -> frozenset[str]:
    """The names of the arguments that the op takes by keyword alone."""
    overloads = _C._overloads(f"aten::{op}")
    schemas = [overload._schema_parts for overload in overloads.values()]
    return frozenset(a[0] for parts in schemas for a in parts[3] if a[6])


def _in_place(op: str) -> Callable[..., Tensor]:
    """The method that writes its tensor; of ``maximum`` there is none."""
    method: Callable[..., Tensor] | None = getattr(Tensor, f"{op}_", None)
    if method is not None:
        return method
    function = getattr(pellucid, op)
    return lambda x, *others: x.copy_(function(x, *others))


def _derived(name: str) -> Callable[..., Any]:
    """The function of this name, such as ``_foreach_mul_``."""
    op = name.removeprefix(_PREFIX)
    in_place = op.endswith("_")
    single = _in_place(op[:-1]) if in_place else getattr(pellucid, op)
    options_of_op = _options_of(op)

    def foreach(*given: Any, **named: Any) -> Any:
        # By PyTorch a list has a name of its own, as 'scalars' of add's 'other'.
        lists = [value for key, value in named.items() if key not in options_of_op]
        options = {key: named[key] for key in named if key in options_of_op}
        results = [single(*row, **options) for row in _rows(name, (*given, *lists))]
        return given[0] if in_place else tuple(results)

    foreach.__name__ = foreach.__qualname__ = name
    foreach.__doc__ = f"``{op}`` of every element of the lists."
    return foreach


def _with_factors(name: str) -> Callable[..., Any]:
    """``_foreach_addcmul`` or ``_foreach_addcdiv``: the factor has a place, and may be
    a list or a 1-d tensor of one number for each element.
    """
    op = name.removeprefix(_PREFIX)
    in_place = op.endswith("_")
    single = getattr(Tensor if in_place else pellucid, op)

    def foreach(
        self: Sequence[Tensor],
        tensor1: Sequence[Tensor],
        tensor2: Sequence[Tensor],
        value: Any = 1,
        *,
        scalars: Any = None,
    ) -> Any:
        factors = value if scalars is None else scalars
        if isinstance(factors, Tensor):
            factors = factors.tolist()
        rows = _rows(name, (self, tensor1, tensor2, factors))
        results = [single(x, a, b, value=factor) for x, a, b, factor in rows]
        return self if in_place else tuple(results)

    foreach.__name__ = foreach.__qualname__ = name
    foreach.__doc__ = f"``{op}`` of every element, with a factor for all or for each."
    return foreach


@offered.value
def _foreach_norm(
    self: Sequence[Tensor], ord: float = 2, dtype: pellucid.dtype | None = None
) -> tuple[Tensor, ...]:
    """``linalg.vector_norm`` of every tensor."""
    norm = pellucid.linalg.vector_norm
    rows = _rows("_foreach_norm", (self, ord))
    return tuple(norm(x, order, dtype=dtype) for x, order in rows)


@offered.value
def _foreach_powsum(
    self: Sequence[Tensor], ord: float = 2, dtype: pellucid.dtype | None = None
) -> tuple[Tensor, ...]:
    """The sum of ``abs(x) ** ord`` of every tensor."""
    rows = _rows("_foreach_powsum", (self, ord))
    return tuple(x.abs().pow(order).sum(dtype=dtype) for x, order in rows)


# PyTorch's, which no rule gives.
offered.values(
    "_foreach_abs",
    "_foreach_abs_",
    "_foreach_acos",
    "_foreach_acos_",
    "_foreach_add",
    "_foreach_add_",
    "_foreach_addcdiv",
    "_foreach_addcdiv_",
    "_foreach_addcmul",
    "_foreach_addcmul_",
    "_foreach_asin",
    "_foreach_asin_",
    "_foreach_atan",
    "_foreach_atan_",
    "_foreach_ceil",
    "_foreach_ceil_",
    "_foreach_clamp_max",
    "_foreach_clamp_max_",
    "_foreach_clamp_min",
    "_foreach_clamp_min_",
    "_foreach_clone",
    "_foreach_copy_",
    "_foreach_cos",
    "_foreach_cos_",
    "_foreach_cosh",
    "_foreach_cosh_",
    "_foreach_div",
    "_foreach_div_",
    "_foreach_erf",
    "_foreach_erf_",
    "_foreach_erfc",
    "_foreach_erfc_",
    "_foreach_exp",
    "_foreach_exp_",
    "_foreach_expm1",
    "_foreach_expm1_",
    "_foreach_floor",
    "_foreach_floor_",
    "_foreach_frac",
    "_foreach_frac_",
    "_foreach_lerp",
    "_foreach_lerp_",
    "_foreach_lgamma",
    "_foreach_lgamma_",
    "_foreach_log",
    "_foreach_log10",
    "_foreach_log10_",
    "_foreach_log1p",
    "_foreach_log1p_",
    "_foreach_log2",
    "_foreach_log2_",
    "_foreach_log_",
    "_foreach_max",
    "_foreach_maximum",
    "_foreach_maximum_",
    "_foreach_minimum",
    "_foreach_minimum_",
    "_foreach_mm",
    "_foreach_mul",
    "_foreach_mul_",
    "_foreach_neg",
    "_foreach_neg_",
    "_foreach_pow",
    "_foreach_pow_",
    "_foreach_reciprocal",
    "_foreach_reciprocal_",
    "_foreach_round",
    "_foreach_round_",
    "_foreach_rsqrt",
    "_foreach_rsqrt_",
    "_foreach_sigmoid",
    "_foreach_sigmoid_",
    "_foreach_sign",
    "_foreach_sign_",
    "_foreach_sin",
    "_foreach_sin_",
    "_foreach_sinh",
    "_foreach_sinh_",
    "_foreach_sqrt",
    "_foreach_sqrt_",
    "_foreach_sub",
    "_foreach_sub_",
    "_foreach_tan",
    "_foreach_tan_",
    "_foreach_tanh",
    "_foreach_tanh_",
    "_foreach_trunc",
    "_foreach_trunc_",
    "_foreach_zero_",
)


def __getattr__(name: str) -> Callable[..., Any]:
    if not name.startswith(_PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    op = name.removeprefix(_PREFIX).rstrip("_")
    function = (_with_factors if op in ("addcmul", "addcdiv") else _derived)(name)
    globals()[name] = function
    return function
