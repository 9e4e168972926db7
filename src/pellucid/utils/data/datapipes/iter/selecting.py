"""The pipe that filters samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pellucid
from pellucid.utils.data.datapipes._decorator import functional_datapipe
from pellucid.utils.data.datapipes.datapipe import IterDataPipe
from pellucid.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which ``filter_fn(sample)`` is True; of columns ``input_col``."""

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        filter_fn: Callable[..., Any],
        input_col: Any = None,
    ) -> None:
        _check_unpickable_fn(filter_fn)
        self.datapipe, self.filter_fn = datapipe, filter_fn
        self.input_col = input_col

    def _apply_filter_fn(self, data: Any) -> Any:
        if self.input_col is None:
            return self.filter_fn(data)
        if isinstance(self.input_col, (list, tuple)):
            return self.filter_fn(*(data[column] for column in self.input_col))
        return self.filter_fn(data[self.input_col])

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            condition = self._apply_filter_fn(data)
            if isinstance(condition, pellucid.Tensor) and condition.dim() == 0:
                condition = condition.item()
            if not isinstance(condition, bool):
                raise ValueError(
                    "Boolean output is required for `filter_fn` of "
                    f"{type(self).__name__}, got {type(condition)}"
                )
            if condition:
                yield data
