"""Options of factories that modules hand on."""

from __future__ import annotations

from typing import Any

_OPTIONS = frozenset({"device", "dtype", "memory_format"})


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The options among ``kwargs`` as functions such as ``empty`` take them.

    ``kwargs`` has options of the names device, dtype and memory_format, and further
    ones in a dict under "factory_kwargs". Raises TypeError for another name or one
    that is given twice. Example::

        >>> import pellucid as torch
        >>> torch.nn.factory_kwargs({"dtype": torch.float64})
        {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    given = dict(kwargs)
    further = dict(given.pop("factory_kwargs", {}))
    unknown = (given.keys() | further.keys()) - _OPTIONS
    if unknown:
        raise TypeError(f"unexpected options {sorted(unknown)}")
    twice = given.keys() & further.keys()
    if twice:
        raise TypeError(f"options that are given twice: {sorted(twice)}")
    return given | further
