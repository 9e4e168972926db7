"""The dispatcher's entry point for ops with sparse arguments: ``answer``."""

from __future__ import annotations

from pellucid.sparse._ops import (  # noqa: F401 - each registers rules
    copies,
    optimizers,
    products,
    reductions,
    shapes,
    systems,
)
from pellucid.sparse._ops.rules import RULES

answer = RULES.answer
