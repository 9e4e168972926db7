"""Calls that continue the call before: of a sequence that grows, and with results that
grow with it. They compute again what the call before did.

`values.py` asks for each expression; `rules/uncached_generation.py` reads the answer.
"""

from __future__ import annotations

from typing import Any

_COPIED = 1 << 18  # elements of a call that are kept until the next one
_NEAR = 1e-3, 1e-5  # relative and absolute, of results at other sizes


class Continued:
    """Compares each call of an expression with the one before."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[list[Any], list[Any]]] = {}

    def part(self, number: int, given: Any, result: Any) -> float:
        """Of the expression ``number``: the part of a call's work that the call before
        did, 0.0 if it continues nothing.
        """
        inputs, made = _arrays(given), _arrays(_items(result))
        before = self._before.pop(number, None)
        if not inputs or not made:
            return 0.0
        self._before[number] = inputs, made
        if before is None or _part_before(before[1][:1], made[:1], False) is None:
            return 0.0
        return _part_before(before[0], inputs, True) or 0.0


def _items(result: Any) -> Any:
    return result if isinstance(result, tuple | list) else (result,)


def _arrays(values: Any) -> list[Any]:
    """Copies of the tensors and the lists of numbers among values; none if they are
    large.
    """
    import numpy as np

    import pellucid as torch

    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    lists = [v for v in values if type(v) is list and all(map(_is_number, v))]
    is_plain = all(
        t.layout == torch.strided and t.dtype != torch.bfloat16 for t in tensors
    )
    size = sum(t.numel() for t in tensors) + sum(map(len, lists))
    if not is_plain or size > _COPIED:
        return []
    arrays = [t.detach().numpy(force=True).copy() for t in tensors]
    return arrays + [np.array(v, np.float64) for v in lists]


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _part_before(before: list[Any], after: list[Any], exact: bool) -> float | None:
    """The part of arrays that earlier ones are, if one of them is longer along one dim
    and begins with the earlier one, and the others are equal; else None.
    """
    import numpy as np

    part, grown = 1.0, 0
    for old, new in zip(before, after, strict=False):
        if old.ndim != new.ndim or old.dtype != new.dtype:
            return None
        dims = [d for d in range(new.ndim) if old.shape[d] != new.shape[d]]
        if len(dims) > 1 or any(old.shape[d] > new.shape[d] for d in dims):
            return None
        head = new[tuple(slice(length) for length in old.shape)]
        if not (np.array_equal(old, head) if exact else np.allclose(old, head, *_NEAR)):
            return None
        if dims:
            grown, part = grown + 1, old.shape[dims[0]] / new.shape[dims[0]]
    return part if grown == 1 and len(before) == len(after) else None
