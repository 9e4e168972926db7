"""The debug mode of nondeterministic algorithms: the switches of queries.py by number
and by name.

Imported lazily.
"""

from __future__ import annotations

import pellucid
from pellucid._package.calls import offered

_MODES = ("default", "warn", "error")


@offered.function
def get_deterministic_debug_mode() -> int:
    """Nondeterministic algorithms: 0 are allowed, 1 warn, 2 raise."""
    if not pellucid.are_deterministic_algorithms_enabled():
        return 0
    return 1 if pellucid.is_deterministic_algorithms_warn_only_enabled() else 2


@offered.function
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` by number, or by "default", "warn", "error"."""
    if debug_mode in _MODES:
        debug_mode = _MODES.index(str(debug_mode))
    if not isinstance(debug_mode, int):
        kind = RuntimeError if isinstance(debug_mode, str) else TypeError
        raise kind(f"debug_mode is one of {_MODES} or 0 to 2, not {debug_mode!r}")
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"debug_mode is 0, 1 or 2, not {debug_mode}")
    pellucid.use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)
