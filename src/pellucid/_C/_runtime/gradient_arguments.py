"""What the arguments of gradient ops are in the forward op's call, by their names.

A gradient op is called with values from the forward call (where modes watch:
``_decomp/gradient_ops.py``), and its body makes a forward call of its arguments
(``gradients.py``). Both read this table; an argument that has no row is the forward
argument of its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pellucid import Tensor


class Reading(NamedTuple):
    """One argument of gradient ops.

    ``argument`` is the forward argument that it is, or whose size it tells: then
    ``sizes`` gives the size by the gradient and the value. ``result`` is the number of
    the forward result that it is. ``shown`` gives the value by the derivative's call
    (``_decomp/call.py``) where the argument is neither.
    """

    argument: str | None = None
    result: int | None = None
    sizes: Callable[[Tensor, Any], Sequence[int]] | None = None
    shown: Callable[[Any], Any] | None = None


def _size_of_input() -> Reading:
    return Reading(
        "self",
        sizes=lambda grad, sizes: sizes,
        shown=lambda call: list(call.size_of("self")),
    )


def _bias_sizes(call: Any) -> list[int] | None:
    return list(call.size_of("bias")) if "bias" in call.wanted else None


def _end(call: Any) -> Any:
    end = call.value("end")
    return sys.maxsize if end is None else end


READINGS = {
    # Sizes of tensors that the derivative does not read
    "input_sizes": _size_of_input(),
    "input_size": _size_of_input(),
    "bias_sizes": Reading(
        "bias",
        sizes=lambda grad, sizes: sizes or [grad.shape[1]],
        shown=_bias_sizes,
    ),
    "num_weights": Reading(
        "weight",
        sizes=lambda grad, rows: (rows, grad.shape[-1]),
        shown=lambda call: call.size_of("weight")[0],
    ),
    # Other names
    "self_or_result": Reading("self"),
    "dim": Reading("dimension"),
    # Results
    **dict.fromkeys(("output", "result", "out", "cdist"), Reading(result=0)),
    **dict.fromkeys(("indices", "total_weight", "logsumexp"), Reading(result=1)),
    "buffer": Reading(result=1, shown=lambda call: call.grad.new_empty(0)),
    # What the forward call does not say
    "is_result": Reading(shown=lambda call: False),
    "self_is_result": Reading(shown=lambda call: False),
    "input_dtype": Reading(shown=lambda call: call.grad.dtype),
    "start": Reading(shown=lambda call: call.value("start") or 0),
    "end": Reading(shown=_end),
}


def reading_of(name: str, declared: frozenset[str]) -> Reading:
    """How an argument is read, for a forward op with the arguments ``declared``.

    A forward argument of the same name is meant, unless the row has a form of it.
    """
    row = READINGS.get(name, Reading(name))
    if row.shown is None and name in declared:
        return Reading(name)
    return row
