"""What holds for all compiled callables: stance, backends without functions."""

from __future__ import annotations

from typing import Final

# Backends that are given graphs only to run them as they are.
RUN_AS_WRITTEN: Final = ("eager", "eager_noexcept", "eager_debug", "aot_eager")
STANCES: Final = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)
_stance: Final[list[str]] = ["default"]


def stance() -> str:
    return _stance[0]


def set_stance(name: str) -> None:
    _stance[0] = name
