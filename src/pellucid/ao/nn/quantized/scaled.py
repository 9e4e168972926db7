"""State dicts of layers whose results have one scale."""

from __future__ import annotations

from typing import Any

import pellucid

# Numbers that a state dict stores as tensors.
NUMBERS = {"scale": float, "zero_point": int}


class Scaled:
    """A mixin for layers with ``scale`` and ``zero_point`` as numbers, which state
    dicts store as 0-d tensors.
    """

    scale: float
    zero_point: int

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        for name in NUMBERS:
            destination[prefix + name] = pellucid.tensor(getattr(self, name))

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for name, number in NUMBERS.items():
            if prefix + name in state_dict:
                setattr(self, name, number(state_dict.pop(prefix + name)))
            elif strict:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(  # type: ignore[misc]
            *(state_dict, prefix, local_metadata, False, missing_keys),
            *(unexpected_keys, error_msgs),
        )
