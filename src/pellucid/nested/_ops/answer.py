"""The dispatcher's entry point for ops with nested arguments: ``answer``."""

from __future__ import annotations

from pellucid.nested._ops import copies, products, shapes  # noqa: F401 - register
from pellucid.nested._ops.rules import RULES

answer = RULES.answer
