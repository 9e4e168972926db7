"""Pipes that apply a function to every sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pellucid.utils.data._collate import default_collate
from pellucid.utils.data.datapipes._decorator import functional_datapipe
from pellucid.utils.data.datapipes.datapipe import IterDataPipe
from pellucid.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """``fn(sample)`` of every sample.

    With ``input_col``, ``fn`` takes one or several columns of samples that are tuples,
    lists or dicts. ``output_col`` is the column that the result replaces; -1 appends a
    column. By default it is the (first) input column, and other input columns are
    removed.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        _check_unpickable_fn(fn)
        self.datapipe, self.fn = datapipe, fn
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.input_col, self.output_col = input_col, output_col

    def _apply_fn(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, (list, tuple))
        columns = list(self.input_col) if several else [self.input_col]
        result = self.fn(*(data[column] for column in columns))
        if isinstance(data, dict):
            changed: Any = dict(data)
        else:
            changed = list(data)
        if self.output_col is None:
            changed[columns[0]] = result
            for column in sorted(columns[1:], reverse=True):
                del changed[column]
        elif self.output_col == -1 and isinstance(changed, list):
            changed.append(result)
        else:
            changed[self.output_col] = result
        return tuple(changed) if isinstance(data, tuple) else changed

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Collates every sample by ``default_collate`` or ``collate_fn``."""

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        conversion: Callable[..., Any] = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(datapipe, collate_fn or conversion)
