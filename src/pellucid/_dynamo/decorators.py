"""``torch._dynamo.decorators``: the annotations of ``_compile/decorators.py``."""

from __future__ import annotations

from typing import Any

from pellucid._compile.decorators import allow_in_graph as allow_in_graph
from pellucid._compile.decorators import (
    assume_constant_result as assume_constant_result,
)
from pellucid._compile.decorators import disable as disable
from pellucid._compile.decorators import graph_break as graph_break
from pellucid._compile.decorators import mark_dynamic as mark_dynamic
from pellucid._compile.decorators import mark_static as mark_static
from pellucid._compile.decorators import mark_static_address as mark_static_address
from pellucid._compile.decorators import maybe_mark_dynamic as maybe_mark_dynamic
from pellucid._compile.decorators import set_stance as set_stance


def mark_unbacked(
    t: Any,
    index: int | list[int] | tuple[int, ...],
    hint_override: int | None = None,
    strict: bool = False,
    specialize_on: Any = None,
) -> None:
    """``mark_dynamic``: graphs are never made for single sizes of these dimensions.

    A size stays a number of the example while a program is traced, also 0 or 1, so
    ``strict`` and ``specialize_on`` have no effect.
    """
    mark_dynamic(t, index, hint_override=hint_override)
