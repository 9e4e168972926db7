"""Options that modules pass on to tensor factories."""

from __future__ import annotations

from typing import Any

_OPTIONS = frozenset({"device", "dtype", "memory_format"})


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The options in ``kwargs``, in the form that functions such as ``empty`` take.

    ``kwargs`` may hold device, dtype and memory_format, and a dict of further
    options under "factory_kwargs". Raises TypeError for any other name and for a
    name that is given twice. Example::

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
