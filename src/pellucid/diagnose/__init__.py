"""Where time and memory went, and what would fix it."""

from __future__ import annotations

from pellucid.diagnose.machine import Machine, machine

__all__ = ["Machine", "machine"]
