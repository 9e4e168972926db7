"""States of optimizers as one dict of values by names such as
``"state.layer.weight.exp_avg"`` and ``"param_groups.layer.weight.lr"``, which do not
depend on how parameters are grouped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pellucid as torch


def flat(state: dict[str, Any]) -> dict[str, Any]:
    """The flat form of a state."""
    found: dict[str, Any] = {}
    _flatten("state", state["state"], found)
    for group in state["param_groups"]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    found[f"param_groups.{name}.{key}"] = value
    return found


def _flatten(prefix: str, values: dict[Any, Any], found: dict[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict):
            _flatten(f"{prefix}.{key}", value, found)
        elif isinstance(value, torch.Tensor | int | float):
            found[f"{prefix}.{key}"] = value
        else:
            raise NotImplementedError(
                "Flattening optimizer state_dict only supports tensor, int, float, "
                f"dict states now. Type is {type(value)}."
            )


def nested(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The state of flat values, of the parameters of these names, each of which is a
    group.
    """
    state: dict[str, Any] = {}
    groups = []
    for name in names:
        own = _below(f"state.{name}.", values)
        if own:
            state[name] = own
        options = _below(f"param_groups.{name}.", values)
        if options:
            groups.append({**options, "params": [name]})
    return {"state": state, "param_groups": groups}


def _below(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    """The values whose names begin so, in dicts by the rest of their names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name.startswith(prefix):
            *path, last = name.removeprefix(prefix).split(".")
            inner = found
            for part in path:
                inner = inner.setdefault(part, {})
            inner[last] = value
    return found
