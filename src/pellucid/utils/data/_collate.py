"""Collates a list of samples into a batch.

NumPy values are recognised by their module's name, so that NumPy is only imported if
there are any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy
from typing import Any

import pellucid
from pellucid import Tensor

_Map = dict[Any, Callable[..., Any]]
# Found in the ``dtype.str`` of NumPy arrays of strings and objects.
np_str_obj_array_pattern = re.compile(r"[SaUO]")


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    result: Tensor = pellucid.stack(list(batch))
    return result


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    result: Tensor = pellucid.tensor(batch, dtype=pellucid.float64)
    return result


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    result: Tensor = pellucid.tensor(batch)
    return result


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: _Map = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """Stacks tensors, arrays and numbers, and batches inside tuples and mappings.

    Strings are unchanged; a tuple of samples becomes a list of batches.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: _Map | None = None) -> Any:
    """Like :func:`default_collate`, with a function per type of sample."""
    first = batch[0]
    functions = collate_fn_map or {}
    function = functions.get(type(first))
    if function is None:
        matching = (f for kind, f in functions.items() if isinstance(first, kind))
        function = next(matching, None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if type(first).__module__ == "numpy":
        return _collate_numpy(batch, collate_fn_map)
    if isinstance(first, Mapping):
        values = {
            key: collate([s[key] for s in batch], collate_fn_map=collate_fn_map)
            for key in first
        }
        return _like_mapping(first, values)
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            lengths = sorted({len(sample) for sample in batch})
            raise RuntimeError(f"the samples of a batch differ in length: {lengths}")
        columns = zip(*batch, strict=True)
        batches = [collate(column, collate_fn_map=collate_fn_map) for column in columns]
        return _like_sequence(first, batches)
    raise _refused(type(first))


def _refused(what: object) -> TypeError:
    return TypeError(
        "default_collate batches tensors, numpy arrays, numbers, strings, and dicts "
        f"and sequences of them, not {what}; give the DataLoader a collate_fn"
    )


def _collate_numpy(batch: Sequence[Any], collate_fn_map: _Map | None) -> Any:
    first = batch[0]
    if not getattr(first, "ndim", 0):
        return pellucid.as_tensor(batch)
    if np_str_obj_array_pattern.search(first.dtype.str):
        raise _refused(f"arrays of {first.dtype}")
    arrays = [pellucid.as_tensor(array) for array in batch]
    return collate(arrays, collate_fn_map=collate_fn_map)


def _like_mapping(template: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """``values`` in a mapping of the template's type, or in a dict."""
    try:
        if isinstance(template, MutableMapping):
            result = copy(template)
            result.update(values)
            return result
        return type(template)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _like_sequence(template: Sequence[Any], values: list[Any]) -> Any:
    """``values`` in a sequence of the template's type, or in a list."""
    if isinstance(template, tuple):
        return type(template)(*values) if hasattr(template, "_fields") else values
    try:
        if isinstance(template, MutableSequence):
            result = copy(template)
            for index, value in enumerate(values):
                result[index] = value
            return result
        return type(template)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """Converts the NumPy values in one sample to tensors."""
    kind = type(data)
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if kind.__module__ == "numpy":
        dtype = getattr(data, "dtype", None)
        text = dtype is not None and np_str_obj_array_pattern.search(dtype.str)
        return data if text else pellucid.as_tensor(data)
    if isinstance(data, Mapping):
        values = {key: default_convert(value) for key, value in data.items()}
        return _like_mapping(data, values)
    if isinstance(data, Sequence):
        return _like_sequence(data, [default_convert(value) for value in data])
    return data
