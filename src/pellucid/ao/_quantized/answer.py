"""The dispatcher's entry point for ops with quantized arguments: ``answer``."""

from __future__ import annotations

from pellucid.ao._quantized import arithmetic, copies  # noqa: F401 - register rules
from pellucid.ao._quantized.rules import RULES

answer = RULES.answer
