"""The decorators that declare ops: one per kind.

The schema is PyTorch's. The schema of an op that PyTorch does not have begins with
``pellucid::``, its namespace in ``torch.ops``: none of its forms is a method, and
functions are in ``_C._pellucid`` unless ``namespace`` says otherwise.

A kind determines how an op runs and is checked against its loops; it never changes the
op's semantics. Every decorator takes the options of ``options.py`` as keywords.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid_compiler.declare.op import REGISTRY, Op
from pellucid_compiler.declare.options import Options

Decorator = Callable[[Callable[..., Any]], Op]


def _kind(kind: str, **defaults: Any) -> Callable[..., Decorator]:
    def with_schema(schema: str, **options: Any) -> Decorator:
        def decorate(function: Callable[..., Any]) -> Op:
            op = Op(function, schema, kind, Options(**{**defaults, **options}))
            if op.full_name in REGISTRY:
                raise ValueError(f"the op {op.full_name} is declared twice")
            REGISTRY[op.full_name] = op
            return op

        return decorate

    return with_schema


pointwise = _kind("pointwise")
reduction_op = _kind("reduction", inplace=False)
fused = _kind("fused", inplace=False)
contraction = _kind("contraction", inplace=False, casts_out=False)
loop = _kind("loop", inplace=False, casts_out=False)
scan_op = _kind("scan", inplace=False)
view = _kind("view", inplace=False, out=False)
factory = _kind("factory", inplace=False, method=False)
data_dependent = _kind("data_dependent", inplace=False)
random = _kind("random", inplace=False)
foreach = _kind("foreach", inplace=False, out=False, method=False)
join = _kind("join", inplace=False, method=False)
library_op = _kind("library", inplace=False)
